"""What both clusters for tests have: options, methods, and how they fail.

Every method is one of `kedge.controller.control.Control`, called in this process or in another one.
"""

from __future__ import annotations

import abc
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import attrs

from ..controller.control import TIMEOUT_S, are_down, until
from ..controller.wire.request_log import Requests
from .certificate import Certificate, make_certificate

RACKS: Final = ("a", "b", "c")
_REPLICAS: Final = 3


@attrs.frozen
class Fault:
    """An order for requests that fail."""

    _count: Callable[[], int]

    @property
    def left(self) -> int:
        """How many more requests will fail by it. Assert that it is 0, or the test may have tested nothing."""
        return self._count()


class ForTests(abc.ABC):
    """`brokers`: how many, with ids from 1. `racks`: given to the brokers in turn; empty for none.

    `users`: passwords by name; clients then log in with PLAIN or SCRAM. `acls`: the rights of clients, rows as in the
    files of `kedge serve --acls`; None: every client may do everything. `tls`: clients connect by TLS, and trust `ca`;
    ImportError with the `pip install` that is missing.

    Methods return when clients can see what was done. TimeoutError if that takes more than 30 s, ValueError for an
    unknown broker.
    """

    bootstrap_servers: str
    """HOST:PORT, for clients."""

    def __init__(
        self,
        brokers: int = 3,
        racks: Sequence[str] = RACKS,
        *,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Mapping[str, Any]] | None = None,
        tls: bool = False,
    ) -> None:
        if type(brokers) is not int or brokers < 1:
            raise ValueError(f"brokers: expected a whole number of at least 1, got {brokers!r:.80}")
        self.racks: dict[int, str | None] = {
            number + 1: racks[number % len(racks)] if racks else None for number in range(brokers)
        }
        """The rack of each broker, by id."""
        self._users, self._acls, self._tls = users, acls, tls
        self._certificate: Certificate | None = None
        self._stack = ExitStack()
        self._began = self._runs = False

    def __enter__(self) -> Self:
        if self._began:
            raise RuntimeError(f"a {type(self).__name__} is used once: make another one")
        self._began = True
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kedge-testing-")))
            self._certificate = make_certificate(folder) if self._tls else None
            self.bootstrap_servers = self._begin(stack, folder)
            self._stack, self._runs = stack.pop_all(), True
        return self

    def __exit__(self, *_: object) -> None:
        self._runs = False
        self._stack.close()

    @abc.abstractmethod
    def _begin(self, stack: ExitStack, folder: Path) -> str:
        """Starts; `stack` ends it. Returns the address for clients. `folder`: for its files."""

    def _do(self, what: str, *arguments: Any, **named: Any) -> Any:
        self._require_running()
        return self._call(what, arguments, named)

    def _require_running(self) -> None:
        if not self._runs:
            raise RuntimeError(f"the {type(self).__name__} does not run: use it within its `with` block")

    @abc.abstractmethod
    def _call(self, what: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call this method of the control."""

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of all brokers, also of those that are down."""
        return tuple(self.racks)

    @property
    def ca(self) -> str:
        """The file with the certificate that clients trust, as PEM. ValueError without `tls`."""
        if self._certificate is None:
            raise ValueError("there is a certificate only with tls=True, within the block")
        return str(self._certificate.ca)

    # --- topics

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        *,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic whose partitions all have a leader. `replication_factor` None: 3, or as many as brokers."""
        factor = replication_factor or min(_REPLICAS, len(self.racks))
        self._do("create_topic", name, partitions, factor, dict(configs or {}))

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The leader of the partition; None if it has none."""
        found: int | None = self._do("leader", topic, partition)
        return found

    def replicas(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """The brokers that hold the partition; until the end of a move those before it."""
        found: tuple[int, ...] = self._do("replicas", topic, partition)
        return found

    def isr(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """The replicas that are in sync, the leader among them."""
        found: tuple[int, ...] = self._do("isr", topic, partition)
        return found

    def move(self, topic: str, partition: int, replicas: Sequence[int], *, waits: bool = True) -> None:
        """Move the partition to these brokers. Returns when the move is complete, without `waits` when it has begun. A
        move that could not be completed, because a broker is down, is not begun with `waits`: RuntimeError names it."""
        self._do("move", topic, partition, list(replicas), waits=waits)

    def wait_until(self, condition: Callable[[], object], what: str, timeout_s: float = TIMEOUT_S) -> None:
        """Return once `condition()` is true. `what`: what it waits for, in the message of its TimeoutError, which also
        names the brokers that are down."""
        self._require_running()
        try:
            until(condition, what, timeout_s)
        except TimeoutError as error:
            down = are_down(self._do("down"))
            raise TimeoutError(f"{error}; {down}" if down else str(error)) from None

    # --- brokers

    def address(self, broker: int) -> str:
        """HOST:PORT of this broker, which stays the same while it is down."""
        found: str = self._do("address", broker)
        return found

    def kill_broker(self, broker: int) -> None:
        """End the broker without a word: its connections are cut off, and its address refuses new ones. When this
        returns, its partitions have other leaders, or none."""
        self._do("kill_broker", broker)

    def start_broker(self, broker: int) -> None:
        """Start a killed broker, with the records that it had, at the address that it had; a paused one is started
        again. Nothing happens if it runs."""
        self._do("start_broker", broker)

    def pause_broker(self, broker: int) -> None:
        """Stop the broker's process, as SIGSTOP does: clients still connect to it, and it is silent. Others lead its
        partitions when its session is over, after 18 s."""
        self._do("pause_broker", broker)

    def resume_broker(self, broker: int) -> None:
        """A paused broker goes on, and answers what clients sent meanwhile."""
        self._do("resume_broker", broker)

    # --- requests

    def fail_next(
        self,
        api: str,
        error: str | int | None = None,
        count: int = 1,
        broker: int | None = None,
        *,
        disconnect: bool = False,
    ) -> Fault:
        """The next `count` requests of this API (`Produce`) are answered with this error, by Kafka's name or number,
        and do nothing. `disconnect`: the connection is dropped in place of the answer; without an error the request was
        served. `broker`: only those that are sent to this broker. ValueError for an API or an error that is none."""
        order = self._do("fail_next", api, error, count, broker, disconnect=disconnect)
        return Fault(partial(self._do, "left", order))

    def slow(self, broker: int, milliseconds: float) -> None:
        """Send every answer of this broker so much later; 0: no longer."""
        self._do("slow", broker, milliseconds)

    def requests(self, api: str) -> Requests:
        """The requests of this API (`Produce`) that clients have sent: how many, by client id and by broker, and the
        latest ones. ValueError for an API that is not served."""
        found: Requests = self._do("requests", api)
        return found
