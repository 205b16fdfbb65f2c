"""A migration, step by step: each step begins with the markers of both sides, and ends with a marker.

Rules
* To continue after a crash, a lost reply or a conflict, run it again: the stage is read and its step begins again. No
  step needs to know what a former run did; each writes only what is missing.
* No controller may lead over the new store before it is complete: from the first write to the last, the migration holds
  its `/controller` permanently, which also keeps Kafka's controllers off. The commit that says "complete" releases it.
* A run knows which migration it began or took over. If that is aborted, the run ends and begins no other one.
* Until the fence, the old store is unchanged except for the marker. From the fence on it has no leader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import attrs

from ....stores.base import (
    ABSENT,
    Conflict,
    Delete,
    Expect,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    SessionExpired,
    Unavailable,
)
from ....stores.recipes import LEADER_KEY
from ...codec import keys
from ...codec.migration import (
    COPYING,
    FROM,
    MOVED,
    TO,
    Marker,
    decode_holder,
    encode_holder,
    encode_marker,
)
from ...migration import (
    NO_BROKERS,
    Change,
    Item,
    MigrationRefused,
    Plan,
    Stage,
    differences,
    foreign,
    make_plan,
    no_cluster,
    obstacles,
    scan,
    seal_of,
)
from ..clock import Chance, Clock
from ..collector import collector_off
from .copying import Copying, Obstacles, Touched
from .handing_over import (
    admissions,
    admitted_changes,
    claim,
    clear,
    fence,
    give,
    put_seal,
    read_seal,
    unfence,
    write,
)
from .reading import (
    Sides,
    entries_of,
    is_taken_over,
    read,
    registered,
    sides_of,
)

FAILURES_MAX: Final = 10  # in a row, without any commit in between
PAUSE_S: Final = 0.5
_AGAIN: Final = (Unavailable, OutcomeUnknown, SessionExpired, Conflict)

T = TypeVar("T")


class TimedOut(Exception):
    """Live brokers of the old store are not registered in the new one. Nothing was fenced: run it again, or abort."""


@attrs.frozen
class Verification:
    """`compared`: the number of compared keys, 0 once a controller leads over the new store. `differing`: each key with
    its difference. `foreign`: changes of other programs in the old store after its fence, by key."""

    stage: Stage
    compared: int
    differing: tuple[tuple[str, str], ...]
    foreign: tuple[tuple[str, str], ...]


class Migration:
    """The migration of the cluster in `source` to the store `target`. `names`: of the stores in markers, without
    secrets.
    `pause` waits for a number of seconds, `say` prints progress, `told` is called with the number of copied keys and of
    all keys of a scan. The caller closes the stores."""

    def __init__(
        self,
        source: MetadataStore,
        target: MetadataStore,
        names: tuple[str, str],
        *,
        clock: Clock,
        chance: Chance,
        pause: Callable[[float], None],
        say: Callable[[str], None],
        told: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005
        in_flight: int = 4,
    ) -> None:
        self._source = source
        self._target = target
        self._names = names
        self._clock = clock
        self._chance = chance
        self._pause = pause
        self._say = say
        self._copying = Copying(source, target, chance, in_flight, say, told)
        self._migration: str | None = None  # the one that this run began or took over
        self._without_brokers = self._took_back = False

    # --- operations

    def plan(self) -> Plan:
        """What a run would do. Writes nothing. Raises MigrationRefused and the stores' errors."""
        with collector_off():
            entries, target_entries = entries_of(self._source), entries_of(self._target)
            stage = sides_of(self._source, self._target, target_entries).stage
            return make_plan(stage, entries, target_entries, self._target.capabilities)

    def run(self, timeout_s: float, *, without_brokers: bool = False) -> tuple[tuple[str, str], ...]:
        """Migrate the cluster. Returns changes of other programs in the old store after its fence, by key. `timeout_s`:
        how long to wait for brokers. `without_brokers`: the old store may have no registered broker. Raises
        MigrationRefused, TimedOut and the stores' errors; run it again to continue."""
        until_s, self._without_brokers = self._clock.monotonic_s() + timeout_s, without_brokers
        with collector_off():  # nearly all objects live until the end
            while (stage := self._again(lambda: self._step(until_s))) not in (Stage.GIVEN, Stage.DONE):
                self._say(f"stage {stage.value} is done")
            self._say("TO is released: a controller there may now lead")
            return self._again(lambda: self._strangers(self._sides().source))

    def abort(self) -> bool:
        """Remove everything of the migration from both stores; return whether there was anything. Raises
        MigrationRefused once the old store is fenced."""
        self._again(self._abort)
        return self._took_back

    def verify(self) -> Verification:
        """Compare key by key, and the old store with its seal. Writes nothing."""
        sides = sides_of(self._source, self._target)
        if sides.source is None:
            raise MigrationRefused("no migration of FROM has begun: there is nothing to verify")
        with collector_off():
            source = scan(entries_of(self._source))
            strangers = self._strangers(sides.source, source)
            target = scan(entries_of(self._target))
            if is_taken_over(sides_of(self._source, self._target), self._target):  # perhaps while it was read
                return Verification(sides.stage, 0, (), strangers)
            written = {key for key, _ in strangers}
            differing = [(c.key, _in_words(c)) for c in differences(source, target) if c.key not in written]
            return Verification(sides.stage, len({*source, *target}), tuple(sorted(differing)), strangers)

    def _strangers(self, marker: Marker | None, source: dict[str, Item] | None = None) -> tuple[tuple[str, str], ...]:
        """Changes of other programs in the old store after its fence. `source`: its content, if it was just read."""
        if marker is None or marker.phase != MOVED:
            return ()
        found = scan(entries_of(self._source)) if source is None else source
        return tuple(foreign(found, read_seal(self._source, marker)))

    # --- one step

    def _again(self, step: Callable[[], T]) -> T:
        """Run `step`, and repeat it after temporary errors; only a few times, unless each attempt writes something."""
        failures, commits = 0, self._copying.commits
        while True:
            try:
                return step()
            except _AGAIN as error:
                self._copying.forget()
                failures = 1 if self._copying.commits > commits else failures + 1
                commits = self._copying.commits
                if failures >= FAILURES_MAX:
                    raise
                self._say(f"retrying after: {error}")
                self._pause(PAUSE_S)

    def _step(self, until_s: float) -> Stage:
        """Do the next step; return the stage that it led to."""
        sides = self._sides()
        if sides.stage is Stage.NEW:
            self._begin(sides)
        elif sides.stage is Stage.COPYING:
            self._copy(sides, until_s)
        elif sides.stage is Stage.FENCED:
            self._finish(sides)
        elif sides.stage is Stage.SEALED:
            give(self._source, self._target, sides)
        return self._sides().stage

    def _sides(self) -> Sides:
        """The markers of this run's migration. Raises MigrationRefused if it was aborted."""
        sides = sides_of(self._source, self._target, migration=self._migration)
        self._migration = None if sides.source is None else sides.source.migration
        return sides

    def _begin(self, sides: Sides) -> None:
        """Write the markers. That of the new store goes first, since alone it has no effect."""
        entries = entries_of(self._source)
        unknown = () if self._without_brokers or registered(self._source) else (NO_BROKERS,)
        self._demand((*no_cluster(entries), *unknown, *obstacles(entries, self._target.capabilities)))
        now_ms = self._clock.now_ms()
        target = sides.target or Marker(self._chance.nonce(), TO, COPYING, self._names[0], now_ms)
        if sides.target is None:
            holder = Put(LEADER_KEY, encode_holder(target.migration, now_ms), ABSENT)
            write(self._target, Put(keys.MIGRATION, encode_marker(target), ABSENT), holder)
        else:
            self._copying.own(sides)  # so that a concurrent abort, about to remove it, has a conflict
        source = Marker(target.migration, FROM, COPYING, self._names[1], now_ms)
        write(self._source, Put(keys.MIGRATION, encode_marker(source), ABSENT))
        self._migration = target.migration
        self._copying.looked_at(entries)

    def _demand(self, obstacles: Sequence[str]) -> None:
        if obstacles:
            raise MigrationRefused("; ".join(obstacles))

    # --- copying

    def _copy(self, sides: Sides, until_s: float) -> None:
        self._copying.own(sides)
        self._copying.until_little()
        if self._await_brokers(until_s):
            self._copying.demand_untouched()
            self._copying.until_little()
        while (brokers := admissions(self._source, self._target)) is None:
            self._await_brokers(until_s)
        if not brokers and not self._without_brokers:
            raise MigrationRefused(NO_BROKERS)
        self._copying.demand_free()
        self._copying.confirm()
        epoch = fence(self._source, sides, brokers, self._clock.now_ms())
        self._say(f"FROM is fenced under controller epoch {epoch}; from here on the migration can only be completed")

    def _await_brokers(self, until_s: float) -> bool:
        """Wait until every live broker of the old store is registered in the new one; return whether it had to wait.
        Raises TimedOut."""
        said: set[int] = set()
        while missing := set(registered(self._source)) - set(registered(self._target)):
            if self._clock.monotonic_s() >= until_s:
                raise TimedOut(f"brokers {sorted(missing)} are not registered in TO")
            if missing != said:
                self._say(f"waiting for brokers {sorted(missing)} to be registered in TO")
                said = missing
            self._pause(PAUSE_S)
            self._sides()  # another command may have aborted the migration
        return bool(said)

    def _finish(self, sides: Sides) -> None:
        """The last scan, the admitted brokers, and the seal. Content that cannot be migrated undoes the fence:
        otherwise the cluster would have no leader until an operator has repaired it."""
        marker = sides.source
        assert marker is not None
        self._copying.own(sides)
        claim(self._source, marker, self._chance.nonce())
        try:
            source = self._copying.last()
        except (Obstacles, Touched) as error:
            unfence(self._source, sides)
            mend = "" if isinstance(error, Touched) else ": repair it and run again"
            raise MigrationRefused(f"{error}; FROM is led again, as after a failover{mend}") from None
        self._copying.put(admitted_changes(self._source, self._target, marker))
        moved = attrs.evolve(marker, phase=MOVED, seals=put_seal(self._source, seal_of(source)))
        write(self._source, Put(keys.MIGRATION, encode_marker(moved), sides.source_at))

    # --- abort

    def _abort(self) -> None:
        sides = sides_of(self._source, self._target)
        if sides.stage not in (Stage.NEW, Stage.COPYING):
            raise MigrationRefused(
                "FROM is fenced, and its brokers may have got requests from TO: it can only be completed, run it again"
            )
        self._took_back |= sides.source is not None or sides.target is not None
        if sides.stage is Stage.COPYING:
            self._copying.own(sides)
            self._copying.make({})
            clear(self._target, keys.ADMITTED)
            clear(self._source, keys.MIGRATION)
            write(self._source, Delete(keys.MIGRATION, _there(sides.source_at)))
            sides = sides_of(self._source, self._target)
        if sides.target is not None:
            leader = read(self._target, LEADER_KEY)
            ops: list[Op] = [Delete(keys.MIGRATION, _there(sides.target_at))]
            if leader is not None and decode_holder(leader.value) == sides.target.migration:
                ops.append(Delete(LEADER_KEY, leader.version))
            write(self._target, *ops)


def _there(at: Expect) -> Expect:
    assert at is not ABSENT, "the stage implies that the marker exists"
    return at


def _in_words(change: Change) -> str:
    if change.value is None:
        return "in TO only"
    return "not in TO" if change.at is None else "another value in TO"
