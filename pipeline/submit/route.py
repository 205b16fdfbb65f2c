"""The protocol of ways to a controller: how the cluster is read, and how a wave is submitted.

A way sends a request once. If its outcome is unknown (`Unsure`), the caller reads the cluster. If a look takes several
requests, or the server learns of changes late, a move that has just ended may look like one that another tool changed:
a way says how long that may last (`looks_again_s`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Final, Protocol, TypeVar

import attrs

from .cluster import Look, Name, Replica
from .exported import Move, Rate, Wave

OTHERS_MOVE: Final = "throttles stay until reassignments of other tools have ended"
T = TypeVar("T")


class Unsure(Exception):
    """The outcome of a request is unknown, or it came at the wrong moment: read the cluster, and repeat it if
    needed."""


@attrs.frozen
class Sent:
    """`moves`: how many begin. `refused`: the others, with the reason. `has_rates`: each broker already has its own
    rate, and keeps it until the moves end."""

    moves: int
    refused: dict[Name, str]
    has_rates: bool = False


class Time:
    """How a submitter waits; a simulation replaces it."""

    def now_s(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def utc_now(self) -> datetime:
        """The date and time of day, for maintenance windows."""
        return datetime.now(UTC)

    def epoch_s(self) -> float:
        """Seconds since 1970 by the host's clock, which a restart does not reset."""
        return self.utc_now().timestamp()

    def pause(self, seconds: float) -> None:
        """Wait so long."""
        time.sleep(seconds)

    def checkpoint(self) -> None:
        """Called before each request. Raises KeyboardInterrupt if there shall be no further one."""

    def result(self, future: Future[T], timeout_s: float) -> T:
        """The result of the future. Raises its error, or TimeoutError at the end of the time."""
        return future.result(timeout_s)


class Route(Protocol):
    """How a controller is reached. A call that raises Unsure may be repeated."""

    @property
    def looks_again_s(self) -> Sequence[float]:
        """Pauses before further looks, while the state looks like the work of another tool."""

    @property
    def removal_s(self) -> float:
        """How long the controller may take to remove throttles by itself."""

    def look(self, names: Iterable[Name]) -> Look:
        """The present state of these partitions. Raises Unsure, and a store's errors."""
        ...

    def alive(self) -> tuple[frozenset[int], bool]:
        """The live brokers, and whether a controller leads. Raises Unsure, and a store's errors."""
        ...

    def moving(self) -> frozenset[Name]:
        """All partitions of the cluster that are being reassigned. Raises Unsure, and a store's errors."""
        ...

    def under_replicated(self) -> Mapping[Name, frozenset[int]]:
        """All partitions of the cluster with replicas that are not in sync, and those replicas; without the partitions
        that are being reassigned. Raises Unsure, and a store's errors."""
        ...

    def sizes(self, wanted: Mapping[int, Collection[Name]]) -> Iterator[Mapping[Replica, int]]:
        """The bytes of these replicas, by broker: one answer after the other, each with those that are known. A broker
        that does not answer gives none."""
        ...

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:
        """The moves that `send` would refuse, with the reason, as far as that can be checked. Raises Unsure."""
        ...

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        """Begin these moves of a wave, or the first of them. Raises Unsure."""
        ...

    def set_rates(self, wave: Wave) -> None:
        """Set the rate of each broker while the wave runs. Raises Unsure."""
        ...

    def is_marked(self, wave: Wave | None) -> bool:
        """Whether throttles are still to be removed: those of the wave, or (None) any known to be left by this plan.
        Raises a store's errors."""
        ...

    def give_back(self) -> str:
        """Remove all marked rates; return why that has to wait. Raises Unsure."""
        ...

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """Cancel these moves; return those that could not be cancelled, with the reason. Raises Unsure."""
        ...


def sides(wave: Wave) -> Iterator[int]:
    """Every given rate."""
    for rate in wave.rates.values():
        yield from (side for side in (rate.leader, rate.follower) if side is not None)


def rates_of(wave: Wave) -> dict[int, Rate]:
    """The rates of all brokers that a wave with rates needs: a broker that holds a replica and has no rate may become
    the leader, and gets the highest."""
    highest = max(sides(wave))
    holding = {broker for move in wave.moves for broker in (*move.before, *move.after)}
    return {**wave.rates, **{broker: Rate(highest, highest) for broker in sorted(holding - wave.rates.keys())}}
