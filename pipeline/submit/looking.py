"""Looks at the cluster for a wave: states of moves, time limits, and events.

A store or a broker that does not answer is retried for a minute. A pause is some times as long as a look took, to limit
the load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import attrs

from ...controller.model.copying import UNKNOWN, Copy
from ...stores import OutcomeUnknown, SessionExpired, Unavailable
from ..errors import Stopped
from .cluster import Look, Name
from .exported import Move, Wave
from .route import Route, Time, Unsure
from .standing import Standing, causes, stand

POLL_S: Final = 1.0
NAMED_MAX: Final = 10
_SILENCE_S: Final = 60.0
_LOOK_SHARE: Final = 4
T = TypeVar("T")


@attrs.frozen
class Event:
    """What happened: `kind` "sent" (moves were submitted), "following", "waiting" (`text` says for what), "wave" (all
    its moves are complete), "note" (`text`). `bytes`: to copy, by the plan, None if unknown. `seconds`: since the wave
    began, also if an earlier call began it. `copy`: how far the copies are, by the sizes that brokers reported last;
    `remaining_s`: until the last of them is complete, None if unknown; `slowest`: its partition."""

    kind: str
    wave: int
    waves: int
    moves: int = 0
    moves_done: int = 0
    bytes: int | None = 0
    seconds: float = 0.0
    copy: Copy = UNKNOWN
    remaining_s: float | None = None
    slowest: str = ""
    text: str = ""


Tell = Callable[[Event], None]


@attrs.frozen
class Job:
    """A wave to complete. `is_begun`: it may have been begun before; `undoes`: it is the rollback of one; `began_s`:
    when it began, in seconds since 1970."""

    wave: Wave
    waves: int
    is_begun: bool
    undoes: bool = False
    began_s: float | None = None

    @property
    def words(self) -> str:
        return f"{'rollback of ' if self.undoes else ''}wave {self.wave.number}"


@attrs.define
class Looking:
    """`timeout_s`: the limit of a wave, None: no limit. `rate`: the operator's, in bytes per second, which replaces the
    rates of the plan while it is not None. `leaving`: by partition, the brokers that the plan takes it off."""

    way: Route
    time: Time
    tell: Tell
    timeout_s: float | None = None
    poll_s: float = POLL_S
    rate: Callable[[], int | None] = lambda: None
    leaving: Mapping[Name, frozenset[int]] = attrs.field(factory=dict)
    ignores_under_replicated: bool = False
    _began_s: float = 0.0
    _looked_s: float = 0.0

    def begin(self) -> None:
        """Start the time of a wave."""
        self._began_s = self.time.now_s()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return self.time.now_s() - self._began_s

    def since(self, job: Job) -> float:
        """Seconds since the wave began; since this call began it, if the host's clock was set back."""
        return max(self.seconds, 0.0 if job.began_s is None else self.time.epoch_s() - job.began_s)

    def throttled(self, wave: Wave) -> Wave:
        """The wave with the operator's rate, if there is one."""
        rate = self.rate()
        return wave if rate is None else wave.throttled(rate)

    def look(self, moves: Iterable[Move]) -> Look:
        """Their partitions."""
        names = [move.name for move in moves]
        began_s = self.time.now_s()
        found = self.asked(lambda: self.way.look(names))
        self._looked_s = self.time.now_s() - began_s
        return found

    def looked(self, job: Job, moves: Iterable[Move], is_at_odds: Callable[[list[Standing]], bool]) -> list[Standing]:
        """The states of these moves. An unexpected state is confirmed by several looks, since one may show a state that
        never existed at one instant."""
        moves = list(moves)
        seen = self.look(moves)
        for pause_s in self.way.looks_again_s:
            if not is_at_odds(self.standings(job, seen)):
                break
            if pause_s:
                self.time.pause(pause_s)
            seen = self.look(moves)
        return self.standings(job, seen)

    def standings(self, job: Job, seen: Look) -> list[Standing]:
        """The states of the moves of the wave that were looked at."""
        moves = (move for move in job.wave.moves if move.name in seen)
        return [stand(m, seen[m.name], is_begun=job.is_begun, undoes=job.undoes) for m in moves]

    def asked(self, read: Callable[[], T]) -> T:
        """The answer of the cluster. Raises Stopped if there is none for a minute."""
        since_s = self.time.now_s()
        while True:
            self.time.checkpoint()
            try:
                return read()
            except (Unavailable, OutcomeUnknown, SessionExpired, Unsure) as error:
                if self.time.now_s() - since_s >= _SILENCE_S:
                    who = "the cluster" if isinstance(error, Unsure) else "the store"
                    raise Stopped(f"{who} did not answer for {_SILENCE_S:.0f} s: {error}") from None
                self.time.pause(self.poll_s)

    def pause(self, job: Job, standings: Sequence[Standing], seconds: float, waits_for: str = "") -> None:
        """Wait. Raises Stopped, with what is stuck, if the time of the wave is over."""
        if self.timeout_s is not None and self.seconds >= self.timeout_s:
            why = waits_for or self._stuck(standings)
            raise Stopped(f"{job.words}: not complete within {self.timeout_s:g} s: {why}")
        if waits_for:
            self.told("waiting", job, waits_for)
        self.time.pause(max(seconds, _LOOK_SHARE * self._looked_s))

    def told(self, kind: str, job: Job, text: str) -> None:
        """Report an event with a text."""
        self.tell(Event(kind, job.wave.number, job.waves, text=text))

    def _stuck(self, standings: Sequence[Standing]) -> str:
        there, has_controller = self.asked(self.way.alive)
        stuck = [s for s in standings if s.kind != "done"]
        return named(stuck, lambda s: f"({causes(s, there, has_controller=has_controller)})")


def named(standings: Sequence[Standing], words: Callable[[Standing], str]) -> str:
    """The first of them, each with its words, and the number of others."""
    return listed([f"{s.move} {words(s)}" for s in standings])


def listed(texts: Sequence[str]) -> str:
    """The first of them, and the number of others."""
    more = f"; and {len(texts) - NAMED_MAX} more" if len(texts) > NAMED_MAX else ""
    return "; ".join(texts[:NAMED_MAX]) + more
