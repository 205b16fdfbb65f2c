"""Tables in files: `<root>/<table>/cluster=<id>/snapshot=<id>/<part>.parquet`.

Rules
* A file is replaced atomically. So a stage may be repeated, and a crash leaves no half-written file.
* The same table gives the same bytes: a file has no date and no host, but the versions of its writer.
* `part` is "part", except for tables of plans, of which a snapshot may have many: there it is the plan's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import BadInput, NotFound
from .arrow import Arrow, conform
from .location import Location, location
from .schema import Table

Root: TypeAlias = Location | Path | str

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")  # the name of one folder, without a path
PART: Final = "part"
_PLAN: Final = "plan"
_SUFFIX: Final = ".parquet"
GROUP_ROWS: Final = 65_536
"""The rows of a group in a Parquet file: Spark gives at least one group to a core, so a group of a million rows would
be work for one core alone."""
_LISTED_MAX: Final = 20


def check_name(name: str, what: str) -> str:
    """`name` if it can be the name of a folder below a root. Raises BadInput otherwise."""
    if not name:
        raise BadInput(f"{what}: expected a name, got an empty string")
    if _NAME.fullmatch(name) is None:
        raise BadInput(f"{what}: expected letters, digits, '.', '_', '-', a letter or digit first; got {name!r:.120}")
    return name


@attrs.frozen
class Place:
    """The tables of one snapshot of one cluster below `root`."""

    root: Location = attrs.field(converter=location)
    cluster: str
    snapshot: str

    def __attrs_post_init__(self) -> None:
        check_name(self.cluster, "cluster")
        check_name(self.snapshot, "snapshot")

    @property
    def named(self) -> dict[str, str]:
        """Its names, as in results."""
        return {"cluster": self.cluster, "snapshot": self.snapshot}

    def path(self, table: Table, part: str = PART) -> Path:
        """The path of the table's file below a local root."""
        return self.root.folder / self._file(table, part)

    def _file(self, table: Table, part: str) -> str:
        return f"{self._folder(table)}/{check_name(part, 'part')}{_SUFFIX}"

    def _folder(self, table: Table) -> str:
        return f"{table.name}/cluster={self.cluster}/snapshot={self.snapshot}"

    def has(self, table: Table, part: str = PART) -> bool:
        """Whether the file of this table is there."""
        return self.root.is_there(self._file(table, part), file=True)

    def write(self, table: Table, rows: Arrow, part: str = PART) -> None:
        """The table's file holds `rows`, and no others. Raises BadInput if they do not fit the table, OSError naming
        the file if it cannot be written."""
        sink = pa.BufferOutputStream()
        found = conform(table, rows, table.name)
        pq.write_table(found, sink, compression="zstd", compression_level=1, row_group_size=GROUP_ROWS)
        self.root.write(self._file(table, part), sink.getvalue())

    def read(self, table: Table, part: str = PART) -> Arrow:
        """The rows of the table's file. Raises NotFound if there is none, BadInput if it holds another table."""
        try:
            found = self.root.read(self._file(table, part))
        except FileNotFoundError:
            raise self.missing(table, part) from None
        return conform(table, found, self.root.where(self._file(table, part)))

    def batches(self, table: Table) -> Iterator[Arrow]:
        """The rows of all files of the table, a part of them at a time, always in the same order; none if there is no
        file. Raises BadInput if a file cannot be read, or holds another table."""
        if self.root.in_spark:  # then its rows are in memory already
            yield from [self.read(table)] if self.has(table) else []
            return
        for part in self.parts(table):
            file = self._file(table, part)
            for rows in self.root.batches(file, table.names):
                yield conform(table, rows, self.root.where(file))

    def missing(self, table: Table, part: str = PART) -> NotFound:
        """The error for a missing file; for a missing plan with the names of those that exist."""
        if table.name != _PLAN:
            return NotFound(f"{self.root.where(self._file(table, part))}: the snapshot has no table {table.name}")
        there = self.parts(table)
        more = f", and {len(there) - _LISTED_MAX} more" if len(there) > _LISTED_MAX else ""
        listed = f"there are {', '.join(there[:_LISTED_MAX])}{more}" if there else "no plan was made of it"
        return NotFound(f"no plan {part} of cluster {self.cluster}, snapshot {self.snapshot}: {listed}")

    def remove(self, table: Table, part: str = PART) -> None:
        """Remove its file, which need not be there."""
        self.root.remove(self._file(table, part))

    def last_with(self, table: Table) -> Place | None:
        """The last snapshot of the cluster, by name, that has the table."""
        names = _values(self.root, f"{table.name}/cluster={self.cluster}", "snapshot")
        found = (Place(self.root, self.cluster, name) for name in reversed(names))
        return next((one for one in found if one.has(table)), None)

    def parts(self, table: Table) -> list[str]:
        """The names of the table's files, sorted."""
        names = self.root.names(self._folder(table))
        return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name[0] != ".")


@attrs.frozen
class Wanted:
    """A table that a stage reads: its part, and whether it may be missing. `last`: that of the cluster's last snapshot
    that has it."""

    table: Table
    part: str = PART
    optional: bool = False
    last: bool = False


def wanted(*tables: Table, part: str = PART, optional: bool = False) -> tuple[Wanted, ...]:
    return tuple(Wanted(table, part, optional) for table in tables)


def read_all(place: Place, asked: Iterable[Wanted]) -> dict[str, Arrow]:
    """The existing tables, by name. Raises NotFound if a required one is missing."""
    found = {}
    for one in asked:
        at = place.last_with(one.table) if one.last else place
        if at is not None and (not one.optional or at.has(one.table, one.part)):
            found[one.table.name] = at.read(one.table, one.part)
    return found


def find_places(root: Root, table: Table, snapshot: str | None) -> list[Place]:
    """As `find_place`, for every cluster below `root` that has the snapshot, by name. Raises NotFound if there is
    none."""
    found = []
    for cluster in _values(root, table.name, "cluster"):
        with suppress(NotFound):
            place = find_place(root, table, cluster, snapshot)
            found += [place] if place.parts(table) else []
    if not found:
        raise NotFound(f"{root}: no table {table.name}" + ("" if snapshot is None else f" of snapshot {snapshot}"))
    return found


def find_snapshots(root: Root, table: Table, cluster: str | None) -> list[Place]:
    """As `find_place`, for every snapshot of the cluster, by name. Raises NotFound if there is none."""
    named = find_place(root, table, cluster, None).cluster
    found = [Place(root, named, name) for name in _values(root, f"{table.name}/cluster={named}", "snapshot")]
    return [place for place in found if place.parts(table)]


def find_place(root: Root, table: Table, cluster: str | None, snapshot: str | None) -> Place:
    """The named place; without a name, the only cluster, or the last snapshot by name. Raises NotFound if there is
    none, BadInput if there are several clusters."""
    if not location(root).is_there():
        raise NotFound(f"{root}: the folder does not exist")
    if cluster is None:
        found = _values(root, table.name, "cluster")
        if len(found) > 1:
            raise BadInput(f"{root}: several clusters exist, name one of {', '.join(found[:20])}")
        if not found:
            raise NotFound(f"{root}: no table {table.name}")
        cluster = found[0]
    if snapshot is not None and Place(root, cluster, snapshot).parts(table):
        return Place(root, cluster, snapshot)
    found = _values(root, f"{table.name}/cluster={cluster}", "snapshot")
    found = [name for name in found if Place(root, cluster, name).parts(table)]
    if not found:
        raise NotFound(f"{root}: the folder has no snapshot of cluster {cluster}")
    if snapshot is not None:
        last = ", ".join(found[-_LISTED_MAX:])
        raise NotFound(f"{root}: the folder has no snapshot {snapshot} of cluster {cluster}; the last ones: {last}")
    return Place(root, cluster, found[-1])


def _values(root: Root, folder: str, key: str) -> list[str]:
    prefix = f"{key}="
    return [name.removeprefix(prefix) for name in location(root).names(folder) if name.startswith(prefix)]
