"""The keys of a memory server, and an index of the names below each key.

Rules
* A row is a plain tuple that is replaced, never changed. The garbage collector stops tracking exact tuples of bytes and
  numbers, so a million rows cost it nothing. Instances of a class, also of a named tuple, are visited at every full
  collection.
* `names` holds, for each key with keys below it, the names directly below. Most nodes have one child (a partition's
  `state`), kept as a bare string: a set for each would take 216 bytes per partition.
* The table has no lock and no sessions: the server calls it with its lock held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from ..base import ABSENT, PRESENT, Check, Commit, Conflict, Delete, Entry, Expect, Invalid, Op, Put, Version
from ..checks import below

Row: TypeAlias = tuple[bytes, int, int, int, int | None]
"""value, version, generation, created, owner: `Entry` without its key, in its order."""

NO_ROW: Final[tuple[None, int, int, int, None]] = (None, 0, 0, 0, None)


def entry(key: str, row: Row) -> Entry:
    return Entry(key, row[0], Version(row[1]), row[2], row[3], row[4])


@attrs.define(eq=False)
class Touched:
    """The effects of a commit, in the order of its ops. `keys`: created, written or deleted keys; `names`: keys and
    nodes that appeared or vanished below their parent."""

    keys: list[str] = attrs.Factory(list)
    names: list[str] = attrs.Factory(list)


@attrs.define(eq=False)
class Table:
    """Keys and their rows. `per_key`: versions count the writes since a key's creation, as in ZooKeeper; otherwise they
    are the revision of the last write. `revision` counts the commits that wrote something."""

    per_key: bool
    revision: int = 0
    rows: dict[str, Row] = attrs.Factory(dict)
    names: dict[str, str | set[str]] = attrs.Factory(dict)
    ephemerals: dict[int, set[str]] = attrs.Factory(dict)  # by owner

    # Reading

    def children(self, key: str) -> list[str]:
        """The names directly below `key`, sorted."""
        names = self.names.get(key, ())
        return [names] if isinstance(names, str) else sorted(names)

    def keys_below(self, prefix: str) -> list[str]:
        """All keys below `prefix`, sorted; the cost depends on them, not on the whole table."""
        return sorted(self.rows) if prefix == "/" else sorted(self._walk(prefix))

    def _walk(self, prefix: str) -> Iterator[str]:
        nodes = [prefix]
        while nodes:
            node = nodes.pop()
            head = below(node)
            for name in self.children(node):
                key = head + name
                if key in self.rows:
                    yield key
                if key in self.names:
                    nodes.append(key)

    # Writing

    def commit(self, ops: Sequence[Op], owner: int) -> tuple[Commit, Touched]:
        """Apply all ops for the session `owner`, or raise Conflict or Invalid and change nothing."""
        self._demand(ops, owner)
        touched = Touched()
        if not any(type(op) is not Check for op in ops):
            return Commit((None,) * len(ops)), touched
        self.revision += 1
        rows, written, per_key, revision = self.rows, touched.keys, self.per_key, Version(self.revision)
        versions: list[Version | None] = []
        for op in ops:
            if type(op) is not Put:
                versions.append(None)
                if type(op) is Delete:
                    self.delete(op.key, touched)
                continue
            key = op.key
            row = rows.get(key)
            if row is None:
                version = Version(1) if per_key else revision
                self.create(key, (op.value, version, 0, revision, owner if op.ephemeral else None), touched)
            else:
                generation = row[2] + 1
                version = Version(generation + 1) if per_key else revision
                rows[key] = (op.value, version, generation, row[3], row[4])
                written.append(key)
            versions.append(version)
        return Commit(tuple(versions)), touched

    def drop_owner(self, owner: int) -> Touched:
        """Delete the ephemeral keys of the session `owner`, as one commit."""
        touched = Touched()
        keys = sorted(self.ephemerals.get(owner, ()))
        self.revision += 1 if keys else 0
        for key in keys:
            self.delete(key, touched)
        return touched

    def create(self, key: str, row: Row, touched: Touched) -> None:
        """Add a key that does not exist, with the version, generation and owner of `row`."""
        self.rows[key] = row
        self._link(key, touched)
        touched.keys.append(key)
        if row[4] is not None:
            self.ephemerals.setdefault(row[4], set()).add(key)

    def delete(self, key: str, touched: Touched) -> None:
        owner = self.rows.pop(key)[4]
        if owner is not None:
            owned = self.ephemerals[owner]
            owned.discard(key)
            if not owned:
                del self.ephemerals[owner]
        self._unlink(key, touched)
        touched.keys.append(key)

    def _link(self, key: str, touched: Touched) -> None:
        """Add `key` to the names of its parent, and so on upwards to the first known ancestor."""
        names, rows = self.names, self.rows
        while True:
            above, _, name = key.rpartition("/")
            above = above or "/"
            known = names.get(above)
            if known is None:
                names[above] = name
            elif isinstance(known, set):
                known.add(name)
            elif known != name:
                names[above] = {known, name}
            touched.names.append(key)
            if known is not None or above in rows or above == "/":
                return
            key = above

    def _unlink(self, key: str, touched: Touched) -> None:
        """Remove `key` from the names, unless keys are below it, and all parents without keys below them."""
        while key != "/":
            touched.names.append(key)
            if key in self.names:
                return
            above, _, name = key.rpartition("/")
            above = above or "/"
            known = self.names[above]
            if isinstance(known, set):
                known.discard(name)
                if len(known) == 1:
                    self.names[above] = known.pop()
                return
            del self.names[above]
            if above in self.rows:
                return
            key = above

    # Conditions of a commit

    def _demand(self, ops: Sequence[Op], owner: int) -> None:
        """Raise Conflict for the first op whose expectation fails, then Invalid for one that changes the kind or the
        owner of a key."""
        rows = self.rows
        refused: str | None = None
        for index, op in enumerate(ops):
            row, expect = rows.get(op.key), op.expect
            if (expect is not ABSENT) if row is None else (expect is not PRESENT and row[1] != expect):
                raise Conflict(_conflict(op, row), key=op.key, index=index)
            if type(op) is Put and row is not None and row[4] != (owner if op.ephemeral else None):
                refused = refused or op.key
        if refused is not None:
            raise Invalid(f"{refused}: {_EPHEMERAL_RULES}", key=refused)


_EPHEMERAL_RULES: Final = "an ephemeral key stays ephemeral when it is rewritten, and is rewritten only by its session"


def _conflict(op: Op, row: Row | None) -> str:
    wanted: Expect | str = op.expect
    found = "absent" if row is None else f"at version {row[1]}"
    return f"{op.key}: expected {wanted!r}, found it {found}"
