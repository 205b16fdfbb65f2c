"""Looking at the cluster on behalf of a wave: what stands, how long it takes, and what is told meanwhile.

A store or a broker that does not answer is asked again for a minute. Who looks does not look oftener than those bear:
a pause is some times as long as a look took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import attrs

from pipeline.errors import Stopped
from pipeline.submit.cluster import Look
from pipeline.submit.exported import Move, Wave
from pipeline.submit.standing import Standing, causes, stand
from pipeline.submit.way import Time, Unsure, Way
from stores import OutcomeUnknown, SessionExpired, Unavailable

POLL_S: Final = 1.0
NAMED_MAX: Final = 10
_SILENCE_S: Final = 60.0
_LOOK_SHARE: Final = 4
T = TypeVar("T")


@attrs.frozen
class Event:
    """What happened: `kind` "sent" (moves were handed over), "following", "waiting" (`text` says for what), "wave" (all
    its moves are complete), "told". `bytes`: None where they are not known; `bytes_done` is an
    estimate: a replica counts once it is in sync."""

    kind: str
    wave: int
    waves: int
    moves: int = 0
    moves_done: int = 0
    bytes: int | None = 0
    bytes_done: int = 0
    seconds: float = 0.0
    eta_s: float | None = None
    text: str = ""


Tell = Callable[[Event], None]


@attrs.frozen
class Job:
    """A wave as it is to be made. `is_begun`: it may have been before; `undoes`: it is the rollback of one."""

    wave: Wave
    waves: int
    is_begun: bool
    undoes: bool = False

    @property
    def words(self) -> str:
        return f"{'rollback of ' if self.undoes else ''}wave {self.wave.number}"


@attrs.define
class Looking:
    """`timeout_s`: of a wave, None: as long as it takes."""

    way: Way
    time: Time
    tell: Tell
    timeout_s: float | None = None
    poll_s: float = POLL_S
    _began_s: float = 0.0
    _looked_s: float = 0.0

    def begin(self) -> None:
        """The time of a wave counts from now."""
        self._began_s = self.time.now_s()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return self.time.now_s() - self._began_s

    def look(self, moves: Iterable[Move]) -> Look:
        """Their partitions, and the legacy key."""
        names = [move.name for move in moves]
        began_s = self.time.now_s()
        found = self.asked(lambda: self.way.look(names))
        self._looked_s = self.time.now_s() - began_s
        return found

    def looked(
        self, job: Job, moves: Iterable[Move], is_at_odds: Callable[[list[Standing]], bool]
    ) -> tuple[Look, list[Standing]]:
        """How these moves stand. Where that is at odds with what is expected, it was so at several looks: one may show
        what never was there at one instant."""
        moves = list(moves)
        seen = self.look(moves)
        for pause_s in self.way.looks_again_s:
            if not is_at_odds(self.standings(job, seen)):
                break
            if pause_s:
                self.time.pause(pause_s)
            seen = self.look(moves)
        return seen, self.standings(job, seen)

    def standings(self, job: Job, seen: Look) -> list[Standing]:
        """Where the moves of the wave stand that were looked at."""
        moves = (move for move in job.wave.moves if move.name in seen.partitions)
        return [stand(m, seen.partitions[m.name], is_begun=job.is_begun, undoes=job.undoes) for m in moves]

    def asked(self, read: Callable[[], T]) -> T:
        """What the cluster says. Stopped where it did not answer for a minute."""
        since_s = self.time.now_s()
        while True:
            try:
                return read()
            except (Unavailable, OutcomeUnknown, SessionExpired, Unsure) as error:
                if self.time.now_s() - since_s >= _SILENCE_S:
                    who = "the cluster" if isinstance(error, Unsure) else "the store"
                    raise Stopped(f"{who} did not answer for {_SILENCE_S:.0f} s: {error}") from None
                self.time.pause(self.poll_s)

    def pause(self, job: Job, standings: Sequence[Standing], seconds: float, waits_for: str = "") -> None:
        """Some time goes by. Stopped, with what is stuck, where that of the wave is over."""
        if self.timeout_s is not None and self.seconds >= self.timeout_s:
            why = waits_for or self._stuck(standings)
            raise Stopped(f"{job.words}: not complete within {self.timeout_s:g} s: {why}")
        if waits_for:
            self.told("waiting", job, waits_for)
        self.time.pause(max(seconds, _LOOK_SHARE * self._looked_s))

    def told(self, kind: str, job: Job, text: str) -> None:
        """Words for who listens."""
        self.tell(Event(kind, job.wave.number, job.waves, text=text))

    def _stuck(self, standings: Sequence[Standing]) -> str:
        there, has_controller = self.asked(self.way.alive)
        stuck = [s for s in standings if s.kind != "done"]
        return named(stuck, lambda s: f"({causes(s, there, has_controller=has_controller)})")


def named(standings: Sequence[Standing], words: Callable[[Standing], str]) -> str:
    """The first of them, each with its words, and how many more there are."""
    return listed([f"{s.move} {words(s)}" for s in standings])


def listed(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f"; and {len(texts) - NAMED_MAX} more" if len(texts) > NAMED_MAX else ""
    return "; ".join(texts[:NAMED_MAX]) + more
