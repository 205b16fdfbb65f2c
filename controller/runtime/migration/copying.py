"""The copy of one store in another: scanned, compared by value, written by many commits under the marker of this run.

Rules
* What stands in the new store is known from what this run read and wrote there; after anything that went wrong it is
  read again. Each op holds its key to stand where it was seen, each commit holds the marker of this run.
* What is new of a scan is asked for obstacles before it is copied: all of the first one, then what changed. So what
  stands in the new store can always be led.
* What somebody else writes to the new store meanwhile is looked for once more before it is given free, and named.
* What is put goes first, in any order, several commits in flight; then what goes, deepest first and one commit at a
  time, since a store may refuse to delete what has something below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import attrs

from controller.codec import keys
from controller.codec.migration import encode_marker
from controller.migration import GIVEN_WITH, Change, Item, MigrationRefused, differences, news, obstacles, scan
from controller.runtime.clock import Chance
from controller.runtime.migration.reading import CALL_TIMEOUT_S, Sides, entries_of
from controller.runtime.migration.rescan import Rescan
from stores.base import Check, Conflict, Delete, Entry, MetadataStore, Op, Put, StoreError, Version
from stores.transfer import BrokenOff, write_all

LITTLE_KEYS: Final = 100  # that changed between two scans
LITTLE_SHARE: Final = 0.001
ROUNDS_MAX: Final = 10
NAMED_MAX: Final = 5


class Copying:
    """What one run does to the new store. `told` hears how many of how many keys of a scan are copied."""

    def __init__(  # noqa: PLR0917 - what the run was given, handed on
        self,
        source: MetadataStore,
        target: MetadataStore,
        chance: Chance,
        in_flight: int,
        say: Callable[[str], None],
        told: Callable[[int, int], None],
    ) -> None:
        self._source = source
        self._target = target
        self._chance = chance
        self._in_flight = in_flight
        self._say = say
        self._told = told
        self._rescan, self._there = Rescan(source), Rescan(target)
        self._scans = 0
        self._first: Sequence[Entry] | None = None  # what was read and asked for obstacles, still to be copied
        self._stands: dict[str, Item] | None = None  # in the new store, as far as this run knows
        self._guard: tuple[Check, ...] = ()  # the marker of the new store is still that of this run
        self.commits = 0  # that were applied

    def forget(self) -> None:
        """Something went wrong: what stands is read again, and the marker taken anew."""
        self._first, self._stands, self._guard = None, None, ()
        self._rescan.forget()
        self._there.forget()

    def own(self, sides: Sides) -> None:
        """From now on it is this run that copies: what an older one does, or has on its way, or this one before
        something went wrong, arrives no more."""
        assert sides.target is not None
        if any(check.expect == sides.target_at for check in self._guard):
            return
        marker = attrs.evolve(sides.target, run=self._chance.nonce())
        put = Put(keys.MIGRATION, encode_marker(marker), sides.target_at)
        version = self._target.commit([put], timeout_s=CALL_TIMEOUT_S).versions[0]
        assert version is not None  # a Put always has one
        self._guard, self._stands = (Check(keys.MIGRATION, version),), None

    def looked_at(self, entries: Sequence[Entry]) -> None:
        """These were just read of the old store, and nothing stands against them: the first scan need not read."""
        self._first = entries

    def until_little(self) -> None:
        """Copy, until little changed between two scans."""
        for _ in range(ROUNDS_MAX):
            first, self._first = self._first, None
            source = self._rescan.taken(entries_of(self._source) if first is None else first)
            changed = self.make(source, is_asked=first is not None)
            self._scans += 1
            self._say(f"scan {self._scans}: {len(source)} keys, {changed} copied")
            if changed <= max(LITTLE_KEYS, len(source) * LITTLE_SHARE):
                return
        self._say(f"{ROUNDS_MAX} scans, and much changes all the same: the last scan will take longer")

    def confirm(self) -> None:
        """It is still this run that copies. Raises MigrationRefused."""
        self._guarded(lambda: self._target.commit(self._guard, timeout_s=CALL_TIMEOUT_S))

    def last(self) -> dict[str, Item]:
        """What the old store holds, once nobody leads there; it is copied. Raises Touched. Both are read at once."""
        with ThreadPoolExecutor(1, thread_name_prefix="kedge-transfer") as threads:
            touched = threads.submit(self.demand_untouched)
            source = scan(self._rescan.entries())
            touched.result()
        self._say(f"last scan: {len(source)} keys, {self.make(source)} copied")
        return source

    def demand_untouched(self) -> None:
        """The new store holds what this run put there, and nothing else. Raises Touched. What was not read or written
        by this run is not asked for: it is read, and made what it must be, before it counts."""
        self.demand_free()
        if self._stands is not None:
            self._there.remember(self._stands)
            there = scan(self._there.entries())
            self._demand_none([c.key for c in differences(there, self._stands)], "run it again, which overwrites that")

    def demand_free(self) -> None:
        """What the new store gets with the commit that gives it free is not there yet. Raises Touched."""
        found = self._target.get_many(GIVEN_WITH, timeout_s=CALL_TIMEOUT_S)
        self._demand_none([e.key for e in found if e is not None], "nobody but the move may put that there: remove it")

    def _demand_none(self, found: Sequence[str], again: str) -> None:
        if found:
            self.confirm()  # else it is another run that wrote there, or took back what was there
            raise Touched(found, again)

    def make(self, source: dict[str, Item], *, is_asked: bool = False) -> int:
        """The new store holds what `source` says; how much of that it did not. Raises Obstacles, unless that was asked
        already."""
        if self._stands is None:
            self._stands = scan(entries_of(self._target))
        changes = list(differences(source, self._stands))
        if not is_asked and (found := obstacles(news(source, changes), self._target.capabilities)):
            raise Obstacles("; ".join(found))
        self.put(changes)
        return len(changes)

    def put(self, changes: Sequence[Change]) -> None:
        """These are made. Raises what the store raises, the first of it; what was applied is known all the same."""
        puts = [change.op() for change in changes if change.value is not None]
        goes = [change.op() for change in changes if change.value is None]
        self._guarded(lambda: self._write(puts, self._in_flight, lambda done: self._told(done, len(changes))))
        self._guarded(lambda: self._write(goes, 1, lambda done: self._told(len(puts) + done, len(changes))))

    def _guarded(self, writing: Callable[[], object]) -> None:
        try:
            writing()
        except Conflict as conflict:
            if conflict.key == keys.MIGRATION:
                raise MigrationRefused(
                    "another run of this move has begun meanwhile, or aborted it: this one ends"
                ) from None
            raise

    def _write(self, ops: Iterable[Op], in_flight: int, told: Callable[[int], None]) -> None:
        try:
            write_all(
                self._target,
                ops,
                timeout_s=CALL_TIMEOUT_S,
                in_flight=in_flight,
                patience_s=0.0,
                guard=self._guard,
                told=told,
                landed=self._note,
            )
        except BrokenOff as broken:
            first = broken.__cause__
            raise (first if isinstance(first, StoreError) else broken) from None

    def _note(self, ops: Sequence[Op], versions: Sequence[Version | None]) -> None:
        self.commits += 1
        if self._stands is None:
            return
        for op, version in zip(ops, versions, strict=True):
            if op.key.startswith(keys.ADMITTED):
                continue  # no scan sees those
            if isinstance(op, Put) and version is not None:
                known = self._stands.get(op.key)
                self._stands[op.key] = Item(op.value, version, 0 if known is None else known.created)
            elif isinstance(op, Delete):
                self._stands.pop(op.key, None)


class Touched(MigrationRefused):
    """Somebody else writes to the new store: it is in use, or not what it was thought to be."""

    def __init__(self, found: Sequence[str], again: str) -> None:
        named, more = sorted(found)[:NAMED_MAX], len(found) - NAMED_MAX
        also = f" and {more} more" if more > 0 else ""
        super().__init__(f"in conflict with what others wrote to TO meanwhile: {', '.join(named)}{also}; {again}")


class Obstacles(MigrationRefused):
    """There is something in the old store that cannot be moved."""
