"""Copies one store to another: scans, compares values, and writes many commits under the marker of this run.

Rules
* The content of the new store is known from what this run read and wrote there; after any error it is read again. Each
  op expects its key as it was seen, each commit the marker of this run.
* New content of a scan is checked for obstacles before it is copied: the first scan as a whole, then the changes. So a
  controller could always lead over the new store.
* Before the new store is released, it is checked once more for writes of other programs, which are named.
* Puts go first, in any order, several commits in flight. Deletions follow, deepest first and one commit at a time,
  since a store may refuse to delete a key with keys below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import attrs

from ....stores.base import Check, Conflict, Delete, Entry, MetadataStore, Op, Put, StoreError, Version
from ....stores.transfer import BrokenOff, write_all
from ...codec import keys
from ...codec.migration import encode_marker
from ...migration import GIVEN_WITH, Change, Item, MigrationRefused, differences, news, obstacles, scan
from ..clock import Chance
from .reading import CALL_TIMEOUT_S, Sides, entries_of
from .rescan import Rescan

LITTLE_KEYS: Final = 100  # changed between two scans
LITTLE_SHARE: Final = 0.001
ROUNDS_MAX: Final = 10
NAMED_MAX: Final = 5


class Copying:
    """The writes of one run to the new store. `told` is called with the number of copied keys and of all keys of a
    scan."""

    def __init__(  # noqa: PLR0917 - the arguments of the run
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
        self._first: Sequence[Entry] | None = None  # read and checked for obstacles, still to be copied
        self._stands: dict[str, Item] | None = None  # the known content of the new store
        self._guard: tuple[Check, ...] = ()  # the new store still has the marker of this run
        self.commits = 0  # applied ones

    def forget(self) -> None:
        """After an error: read the content again, and write the marker again."""
        self._first, self._stands, self._guard = None, None, ()
        self._rescan.forget()
        self._there.forget()

    def own(self, sides: Sides) -> None:
        """Make this run the one that copies: commits of an older run, or of this one before an error, are refused from
        now on."""
        assert sides.target is not None
        if any(check.expect == sides.target_at for check in self._guard):
            return
        marker = attrs.evolve(sides.target, run=self._chance.nonce())
        put = Put(keys.MIGRATION, encode_marker(marker), sides.target_at)
        version = self._target.commit([put], timeout_s=CALL_TIMEOUT_S).versions[0]
        assert version is not None  # a Put always has one
        self._guard, self._stands = (Check(keys.MIGRATION, version),), None

    def looked_at(self, entries: Sequence[Entry]) -> None:
        """`entries` were just read from the old store and have no obstacles: the first scan need not read."""
        self._first = entries

    def until_little(self) -> None:
        """Copy until little changed between two scans."""
        for _ in range(ROUNDS_MAX):
            first, self._first = self._first, None
            source = self._rescan.taken(entries_of(self._source) if first is None else first)
            changed = self.make(source, is_asked=first is not None)
            self._scans += 1
            self._say(f"scan {self._scans}: {len(source)} keys, {changed} copied")
            if changed <= max(LITTLE_KEYS, len(source) * LITTLE_SHARE):
                return
        self._say(f"still many changes after {ROUNDS_MAX} scans: the last scan will take longer")

    def confirm(self) -> None:
        """Check that this run is still the one that copies. Raises MigrationRefused."""
        self._guarded(lambda: self._target.commit(self._guard, timeout_s=CALL_TIMEOUT_S))

    def last(self) -> dict[str, Item]:
        """Copy and return the content of the old store, which has no leader any more. Raises Touched. Reads both stores
        at once."""
        with ThreadPoolExecutor(1, thread_name_prefix="kedge-transfer") as threads:
            touched = threads.submit(self.demand_untouched)
            source = scan(self._rescan.entries())
            touched.result()
        self._say(f"last scan: {len(source)} keys, {self.make(source)} copied")
        return source

    def demand_untouched(self) -> None:
        """Check that the new store has only what this run put there. Raises Touched. Keys that this run neither read
        nor wrote are not checked: they are read and made right before they count."""
        self.demand_free()
        if self._stands is not None:
            self._there.remember(self._stands)
            there = scan(self._there.entries())
            self._demand_none([c.key for c in differences(there, self._stands)], "run it again, which overwrites that")

    def demand_free(self) -> None:
        """Check that the new store does not have the keys of its releasing commit yet. Raises Touched."""
        found = self._target.get_many(GIVEN_WITH, timeout_s=CALL_TIMEOUT_S)
        self._demand_none([e.key for e in found if e is not None], "only the migration may write that: remove it")

    def _demand_none(self, found: Sequence[str], again: str) -> None:
        if found:
            self.confirm()  # otherwise another run wrote or deleted there
            raise Touched(found, again)

    def make(self, source: dict[str, Item], *, is_asked: bool = False) -> int:
        """Make the new store hold `source`; return the number of changes. Raises Obstacles, unless `is_asked`: they
        were checked already."""
        if self._stands is None:
            self._stands = scan(entries_of(self._target))
        changes = list(differences(source, self._stands))
        if not is_asked and (found := obstacles(news(source, changes), self._target.capabilities)):
            raise Obstacles("; ".join(found))
        self.put(changes)
        return len(changes)

    def put(self, changes: Sequence[Change]) -> None:
        """Apply `changes`. Raises the store's first error; applied changes are recorded all the same."""
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
                    "another run of this migration has begun meanwhile, or aborted it: this one ends"
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
                continue  # scans leave these out
            if isinstance(op, Put) and version is not None:
                known = self._stands.get(op.key)
                self._stands[op.key] = Item(op.value, version, 0 if known is None else known.created)
            elif isinstance(op, Delete):
                self._stands.pop(op.key, None)


class Touched(MigrationRefused):
    """Another program writes to the new store: it is in use, or not the intended one."""

    def __init__(self, found: Sequence[str], again: str) -> None:
        named, more = sorted(found)[:NAMED_MAX], len(found) - NAMED_MAX
        also = f" and {more} more" if more > 0 else ""
        super().__init__(f"in conflict with what others wrote to TO meanwhile: {', '.join(named)}{also}; {again}")


class Obstacles(MigrationRefused):
    """The old store has content that cannot be migrated."""
