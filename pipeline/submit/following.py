"""Submits one wave, and follows it until its last reassignment is complete and its throttles are removed.

The next step is read from the cluster each time, so it does not matter which process submitted the running moves, or
whether it still lives; moves at their target, or running, are not submitted again. A `Course` remembers only what the
cluster does not show: requests without effect, moves that ran before another tool cancelled them, and the rates that
were set. The operator's rate is read at each look, so it changes while a wave runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...controller.model.copying import slowest_s, together
from ..amounts import amount
from ..errors import Stopped
from .cluster import Name
from .exported import Move, Wave
from .looking import Event, Job, Looking, named
from .measuring import Measuring, slowest_partition
from .route import Unsure, sides
from .standing import Standing

_FIRST_POLL_S: Final = 0.05
_IN_VAIN_MAX: Final = 3
_REMOVAL_S: Final = 60.0


@attrs.define
class Course:
    """A wave while it is followed. `wave`: with the rates that were set last; `left`: the number of missing moves at
    the last request."""

    job: Job
    wave: Wave
    measured: Measuring
    found: dict[Name, Standing] = attrs.field(factory=dict)
    ran: set[Name] = attrs.field(factory=set)
    reasons: dict[Name, str] = attrs.field(factory=dict)
    left: int | None = None
    in_vain: int = 0
    sent: int = 0
    has_rates: bool = False

    @property
    def open_moves(self) -> list[Move]:
        """The moves that were not complete at the last look."""
        found = self.found
        return [m for m in self.job.wave.moves if m.name not in found or found[m.name].kind != "done"]

    def of(self, *kinds: str) -> list[Standing]:
        """The moves in one of these states."""
        return [s for s in self.found.values() if s.kind in kinds]

    def is_at_odds(self, standings: list[Standing]) -> bool:
        """Whether another tool changed the wave, by what was seen."""
        return any(s.kind == "foreign" or self._was_cancelled(s) for s in standings)

    def _was_cancelled(self, standing: Standing) -> bool:
        return standing.kind == "missing" and standing.move.name in self.ran

    def take(self, standings: list[Standing]) -> None:
        """Record what was seen. Raises Stopped if another tool changed the wave."""
        self.found |= {s.move.name: s for s in standings}
        words = self.job.words
        if foreign := self.of("foreign"):
            raise Stopped(f"{words}: {named(foreign, lambda s: s.words)}")
        if cancelled := [s for s in self.found.values() if self._was_cancelled(s)]:
            what = named(cancelled, lambda s: f"has the replicas {list(s.seen.replicas)}")
            raise Stopped(
                f"{words}: cancelled by another tool, or dropped with a reason in the controller's log: {what}"
            )
        self.ran |= {s.move.name for s in self.of("running")}

    def ask_again(self) -> None:
        """Count one more request for the missing moves. Raises Stopped after too many without effect."""
        missing = self.of("missing")
        self.in_vain = self.in_vain + 1 if self.left is not None and len(missing) >= self.left else 0
        self.left = len(missing)
        if self.in_vain >= _IN_VAIN_MAX:
            why = named(missing, lambda s: self.reasons.get(s.move.name, "without a reason; see the controller's log"))
            raise Stopped(f"{self.job.words}: submitted {_IN_VAIN_MAX} times without effect: {why}")

    def doubt(self) -> None:
        """The outcome of a request is unknown, so it does not count as without effect."""
        self.in_vain, self.left = 0, None


class Follower(Looking):
    """Follows one wave after the other."""

    def follow(self, job: Job) -> int:
        """Complete every move of the wave, and return the number of submitted moves. Raises Stopped if that is
        impossible."""
        self.begin()
        course = Course(job, self.throttled(job.wave), Measuring(self.way, self.time))
        pause_s = _FIRST_POLL_S
        while True:
            self._take(course, course.open_moves)
            if not course.open_moves and self._is_complete(course):
                return course.sent
            self._say(course)
            waits_for = ""
            try:
                self._act(course)
            except Unsure as error:
                course.doubt()
                waits_for = str(error)
            self.pause(job, list(course.found.values()), pause_s, waits_for)
            pause_s = min(self.poll_s, pause_s * 2)

    def _take(self, course: Course, moves: Sequence[Move]) -> None:
        """Look at these moves and record their states. Raises Stopped if another tool changed them."""
        course.take(self.looked(course.job, moves, course.is_at_odds))

    def _is_complete(self, course: Course) -> bool:
        """Whether all moves are complete in one look."""
        self._take(course, course.job.wave.moves)
        return not course.open_moves

    def _act(self, course: Course) -> None:
        """Take the next step. Raises Unsure."""
        self.time.checkpoint()
        missing, against = course.of("missing"), course.of("against")
        if against:
            self.way.cancel([s.move for s in against])
        elif course.of("running"):
            self._set_rates(course)
        elif missing:
            self._send(course, missing)

    def _set_rates(self, course: Course) -> None:
        """The rates are those of the plan, or the operator's, which may have changed since they were set."""
        wave = self.throttled(course.job.wave)
        is_changed = bool(wave.rates) and wave.rates != course.wave.rates
        if is_changed or not course.has_rates:
            self.way.set_rates(wave)
            course.wave, course.has_rates = wave, True
        if is_changed:
            what = f"the throttle is now {amount(max(sides(wave)))}/s at most for each broker"
            self.told("note", course.job, f"{course.job.words}: {what}")

    def _send(self, course: Course, missing: list[Standing]) -> None:
        course.ask_again()
        course.wave = self.throttled(course.job.wave)
        handed = self.way.send(course.wave, [s.move for s in missing])
        course.reasons, course.has_rates = handed.refused, handed.has_rates
        course.sent += handed.moves
        course.ran |= {s.move.name for s in missing} - handed.refused.keys()  # what was accepted is committed
        self.tell(Event("sent", course.job.wave.number, course.job.waves, handed.moves))

    def _say(self, course: Course) -> None:
        job = course.job
        course.measured.read(course.found.values())
        at = (job.wave.number, job.waves, len(job.wave.moves), len(course.of("done")))
        received = course.measured.received.values()
        how_far = (together(received), slowest_s(received), slowest_partition(course.measured.copies))
        self.tell(Event("following", *at, job.wave.bytes, self.since(job), *how_far))

    def settle(self, job: Job | None) -> str:
        """Remove the throttles of a complete wave, or (None) those that an earlier call left; return why if they
        remain."""
        words, wave = ("", None) if job is None else (f"{job.words}: ", self.throttled(job.wave))
        began_s, asked, why = self.time.now_s(), False, ""
        while self.asked(lambda: self.way.is_marked(wave)):
            waited_s = self.time.now_s() - began_s
            if waited_s > _REMOVAL_S:
                return f"{words}throttles are still marked for removal after {_REMOVAL_S:.0f} s{why}"
            if waited_s >= self.way.removal_s and not asked:  # they were set after the last move had ended
                self.time.checkpoint()
                try:
                    if waits_for := self.way.give_back():
                        return f"{words}{waits_for}"
                    asked = True
                except Unsure as error:
                    why = f": {error}"
            self.time.pause(min(self.poll_s, 0.2))
        return ""
