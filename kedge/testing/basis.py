"""What both clusters for tests have, and waiting."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, Self

from ..controller.wire.faults import Fault

TIMEOUT_S: Final = 30.0
RACKS: Final = ("a", "b", "c")
_REPLICAS: Final = 3
_LOOK_S: Final = 0.002


class ForTests(abc.ABC):
    """`brokers`: how many, with ids from 1. `racks`: given to the brokers in turn; empty for none.

    Methods return when clients can see what was done. TimeoutError if that takes more than `TIMEOUT_S`.
    """

    bootstrap_servers: str
    """HOST:PORT, for clients."""

    def __init__(self, brokers: int = 3, racks: Sequence[str] = RACKS) -> None:
        if brokers < 1:
            raise ValueError(f"brokers: expected at least 1, got {brokers}")
        self.racks: dict[int, str | None] = {
            number + 1: racks[number % len(racks)] if racks else None for number in range(brokers)
        }
        """The rack of each broker, by id."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.bootstrap_servers = self._begin(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @abc.abstractmethod
    def _begin(self, stack: ExitStack) -> str:
        """Starts; `stack` ends it. Returns the address for clients."""

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of all brokers, also of killed ones."""
        return tuple(self.racks)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        *,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic whose partitions all have a leader. `replication_factor` None: 3, or as many as brokers."""
        self._create(name, partitions, replication_factor or min(_REPLICAS, len(self.racks)), configs or {})

    @abc.abstractmethod
    def _create(self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> None: ...

    @abc.abstractmethod
    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The leader of the partition; None if it has none."""

    @abc.abstractmethod
    def replicas(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """The brokers that hold the partition; until the end of a move those before it."""

    @abc.abstractmethod
    def move(self, topic: str, partition: int, replicas: Sequence[int], *, waits: bool = True) -> None:
        """Move the partition to these brokers. Returns when the move is complete, without `waits` when it has begun. A
        move that could not be completed, because a broker is down, is not begun with `waits`: RuntimeError names it."""

    def kill_broker(self, broker: int) -> None:
        """End the broker without a word. When this returns, its partitions have other leaders, or none. Its address
        still accepts connections, and refuses requests for its partitions with NOT_LEADER_OR_FOLLOWER."""
        raise self._refusal("kill_broker", broker)

    def start_broker(self, broker: int) -> None:
        """Start a killed broker, with the records that it had. Nothing happens if it runs."""
        raise self._refusal("start_broker", broker)

    def fail_next(self, api: str, error: str | int, count: int = 1, broker: int | None = None) -> Fault:
        """The next `count` requests of this API (`Produce`) are answered with this error, by Kafka's name or number,
        and do nothing. `broker`: only those that are sent to this broker. `left` of the result is the number of
        requests that will still be answered so. ValueError for an API or an error that is none."""
        raise self._refusal("fail_next", api, error, count, broker)

    def slow(self, broker: int, milliseconds: float) -> None:
        """Send every answer of this broker so much later; 0: no longer."""
        raise self._refusal("slow", broker, milliseconds)

    def _refusal(self, what: str, *_: object) -> Exception:
        return NotImplementedError(
            f"{what}: {type(self).__name__} cannot do this in another process; use kedge.testing.Cluster, or the "
            "fixture kedge_cluster"
        )


def until(holds: Callable[[], object], what: str) -> None:
    """Return once `holds()` is true. TimeoutError after `TIMEOUT_S`."""
    end_s = time.monotonic() + TIMEOUT_S
    while not holds():
        if time.monotonic() >= end_s:
            raise TimeoutError(f"not within {TIMEOUT_S:g} s: {what}")
        time.sleep(_LOOK_S)
