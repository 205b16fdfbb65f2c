"""The search: breadth first, so that what is found first is shortest; a state that was met before is not gone on from.

Each state waits as bytes; every action that may happen in it happens to a copy of its own. Invariants are held against
every commit and callback of every edge. From every `heal_every`-th state, in the order in which they were met, another
copy is healed, and must converge.
"""

from __future__ import annotations

import gc
import logging
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import attrs

from tests.verify.exhaustion.choices import actions
from tests.verify.exhaustion.deeds import do
from tests.verify.exhaustion.small_world import SmallWorld
from tests.verify.exhaustion.snapshot import freeze, thaw

_COPIES_PER_COLLECTION: Final = 50
_PROGRESS_S: Final = 10.0


@attrs.frozen
class Limits:
    """Where a search is cut off; None: nowhere. `depth`: in actions. `heal_every` 0: no state is healed."""

    depth: int | None = None
    states_max: int | None = None
    seconds: float | None = None
    heal_every: int = 0


@attrs.frozen
class Broken:
    """What must hold did not: after these actions, or (`healing`) when all was healed after them."""

    path: tuple[str, ...]
    error: str
    healing: bool


@attrs.frozen
class Outcome:
    """`cut_off`: by which limit, None where every reachable state was met. `depth`: how many actions the last state
    that was met is away from the first. `edges` counts what could happen and changed something."""

    states: int
    edges: int
    depth: int
    healed: int
    seconds: float
    cut_off: str | None
    broken: Broken | None


@attrs.frozen
class _Waiting:
    place: int
    taken: bytes
    actions: Sequence[str]


class Search:
    """One search, from a world that is not used for anything else. `tell` hears of progress, now and then."""

    def __init__(self, start: SmallWorld, limits: Limits, tell: Callable[[str], None] = lambda _: None) -> None:
        start.rig.timeline.is_mute = True
        start.forget()
        self._limits = limits
        self._tell = tell
        self._places = {start.digest(): 0}
        self._came_by: list[tuple[int, str]] = [(-1, "")]
        self._edges = self._depth = self._healed = self._copies = 0
        self._started_s = self._told_s = time.monotonic()
        self._broken: Broken | None = None
        self._level = [self._waiting(0, start)]

    def run(self) -> Outcome:
        """To the end, a limit, or the first thing that is broken."""
        with _alone():
            cut_off = self._levels()
        return Outcome(
            len(self._places),
            self._edges,
            self._depth,
            self._healed,
            time.monotonic() - self._started_s,
            cut_off,
            self._broken,
        )

    @property
    def digests(self) -> frozenset[bytes]:
        """The states that were met."""
        return frozenset(self._places)

    def _levels(self) -> str | None:
        while self._level:
            if self._depth == self._limits.depth:
                return "depth"
            level, self._level = self._level, []
            for place, waiting in enumerate(level):
                level[place] = _DONE  # its bytes are not needed any more
                if (cut_off := self._cut_off()) is not None:
                    return cut_off
                if not self._go_on_from(waiting):
                    return None
            self._depth += bool(self._level)
        return None

    def _cut_off(self) -> str | None:
        now_s, limits = time.monotonic(), self._limits
        if now_s - self._told_s > _PROGRESS_S:
            self._told_s = now_s
            self._tell(
                f"depth {self._depth}, {len(self._places)} states, {self._edges} edges, {self.per_s:.0f} a second"
            )
        if limits.seconds is not None and now_s - self._started_s >= limits.seconds:
            return "seconds"
        if limits.states_max is not None and len(self._places) >= limits.states_max:
            return "states"
        return None

    @property
    def per_s(self) -> float:
        return len(self._places) / max(0.001, time.monotonic() - self._started_s)

    # --- one state

    def _go_on_from(self, waiting: _Waiting) -> bool:
        """Every action, each in a copy; whether all held."""
        taken = zlib.decompress(waiting.taken)
        every = self._limits.heal_every
        if every and waiting.place % every == 0 and not self._heals(waiting.place, self._copy(taken)):
            return False
        world = None
        for action in waiting.actions:
            world = self._copy(taken) if world is None else world
            try:
                is_same = do(world, action) and self._meet(world.digest(), waiting.place, action, world)
            except Exception as error:  # noqa: BLE001 - whatever escapes from a controller is a finding
                self._broken = Broken((*self.path(waiting.place), action), _words(error), healing=False)
                return False
            world = world if is_same else None
        return True

    def _meet(self, digest: bytes, before: int, action: str, world: SmallWorld) -> bool:
        """Whether the action changed nothing: then the next one may happen to the same copy."""
        place = self._places.get(digest)
        self._edges += place != before
        if place is None:
            place = self._places[digest] = len(self._came_by)
            self._came_by.append((before, action))
            self._level.append(self._waiting(place, world))
        return place == before

    def _heals(self, place: int, world: SmallWorld) -> bool:
        self._healed += 1
        try:
            world.heal()
        except Exception as error:  # noqa: BLE001 - as above
            self._broken = Broken(self.path(place), _words(error), healing=True)
        return self._broken is None

    def _waiting(self, place: int, world: SmallWorld) -> _Waiting:
        return _Waiting(place, zlib.compress(freeze(world), 1), actions(world))

    def _copy(self, taken: bytes) -> SmallWorld:
        self._copies += 1
        if self._copies % _COPIES_PER_COLLECTION == 0:
            gc.collect(0 if self._copies % (_COPIES_PER_COLLECTION * 100) else 1)
        world = thaw(taken)
        assert isinstance(world, SmallWorld)
        return world

    def path(self, place: int) -> tuple[str, ...]:
        """The actions by which a state was met first."""
        path: list[str] = []
        while place > 0:
            place, action = self._came_by[place]
            path.append(action)
        return tuple(reversed(path))


_DONE: Final = _Waiting(-1, b"", ())


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@contextmanager
def _alone() -> Iterator[None]:
    """Copies are circles of objects: they are collected young, by count, and what stays is not looked at each time. A
    controller's warnings about callbacks that were lost on purpose are not printed."""
    was_on, logged = gc.isenabled(), logging.root.manager.disable
    gc.disable()
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logged)
        if was_on:
            gc.enable()


def replay(start: SmallWorld, path: Sequence[str]) -> tuple[list[str], str | None]:
    """The timeline of a path, and of the healing after it, with its actions; and what broke, None if all held."""
    timeline = start.rig.timeline
    error: str | None = None
    with _alone():
        try:
            for action in path:
                timeline.say("happens", action)
                if not do(start, action):
                    raise ValueError(f"{action} cannot happen here; what can: {', '.join(actions(start))}")
            timeline.say("happens", "everything is healed")
            start.heal()
        except AssertionError as broken:
            error = _words(broken)
    return timeline.lines(), error
