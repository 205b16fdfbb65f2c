"""What every way to a controller is: how the cluster is seen by it, and how a wave gets there.

A way asks once. What is not known to have come of it (`Unsure`) is read from the cluster by who asked. Where what is
seen comes of several questions, or of a server that hears late, a move that just ended may look like one that somebody
else changed: a way says how long that may last (`looks_again_s`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Final, Protocol, TypeVar

import attrs

from pipeline.submit.cluster import Look, Name
from pipeline.submit.exported import Move, Rate, Wave

OTHERS_MOVE: Final = "throttles stay until what others move has ended"
T = TypeVar("T")


class Unsure(Exception):
    """What came of a request is not known, or it came at a wrong moment: look, and ask again if need be."""


@attrs.frozen
class Sent:
    """`moves`: how many begin. `refused`: those that do not, with the reason. `has_rates`: each broker has its own rate
    already, and keeps it until they end."""

    moves: int
    refused: dict[Name, str]
    has_rates: bool = False


class Time:
    """How a submitter waits; a simulation gives one of its own."""

    def now_s(self) -> float:
        """Seconds, which only rise."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """So long goes by."""
        time.sleep(seconds)

    def result(self, future: Future[T], timeout_s: float) -> T:
        """What the future gives. Raises what it raises, TimeoutError at the end of the time."""
        return future.result(timeout_s)


class Way(Protocol):
    """How a controller is reached. Where a method may raise Unsure, the same question may be asked again."""

    @property
    def takes_throttles(self) -> bool:
        """Whether rates can be handed over; if so, moves can be cancelled, too."""

    @property
    def looks_again_s(self) -> Sequence[float]:
        """Pauses, each before another look, as long as what is seen looks like the work of somebody else."""

    @property
    def removal_s(self) -> float:
        """How long the controller has to take throttles back by itself."""

    def look(self, names: Iterable[Name]) -> Look:
        """These partitions as they are now. Raises Unsure, and what a store raises."""
        ...

    def alive(self) -> tuple[frozenset[int], bool]:
        """The brokers that live, and whether somebody leads. Raises Unsure, and what a store raises."""
        ...

    def moving(self) -> frozenset[Name]:
        """All that moves in the cluster. Raises Unsure, and what a store raises."""
        ...

    def check(self, wave: Wave, moves: Sequence[Move]) -> dict[Name, str]:
        """What `send` would refuse, with the reason, as far as that can be asked. Raises Unsure."""
        ...

    def send(self, wave: Wave, moves: Sequence[Move]) -> Sent:
        """These moves of a wave begin, or the first of them. Raises Unsure."""
        ...

    def set_rates(self, wave: Wave) -> None:
        """Each broker has its rate while the wave runs. Raises Unsure."""
        ...

    def is_marked(self, wave: Wave | None) -> bool:
        """Whether throttles are still to be taken back: those of the wave, or (None) any that this plan is known to
        have left. Raises what a store raises."""
        ...

    def give_back(self) -> str:
        """No rates are marked any more; or why that has to wait. Raises Unsure."""
        ...

    def cancel(self, moves: Sequence[Move]) -> dict[Name, str]:
        """These moves do not run any more. Those that could not be cancelled, with the reason. Raises Unsure."""
        ...


def sides(wave: Wave) -> Iterator[int]:
    """Every rate that is given."""
    for rate in wave.rates.values():
        yield from (side for side in (rate.leader, rate.follower) if side is not None)


def rates_of(wave: Wave) -> dict[int, Rate]:
    """The rates of all brokers that a wave with rates needs: who holds a replica and has none may come to lead, and
    gets the highest."""
    highest = max(sides(wave))
    holding = {broker for move in wave.moves for broker in (*move.before, *move.after)}
    return {**wave.rates, **{broker: Rate(highest, highest) for broker in sorted(holding - wave.rates.keys())}}
