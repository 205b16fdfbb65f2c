"""Tables in files: `<root>/<table>/cluster=<id>/snapshot=<id>/<part>.parquet`.

Rules
* A file is replaced atomically. So a stage may be repeated, and a crash leaves no half-written file.
* The same table gives the same bytes: a file has no date and no host, but the versions of its writer.
* `part` is "part", except for tables of plans, of which a snapshot may have many: there it is the plan's name.
* Other programs may write the tables that are collected: every `*.parquet` of a folder is read, whatever its name, and
  the names of folders may be escaped as Hive and Spark do. Such a table is never written.
* The time of a snapshot is in the name of a file, `snapshot_time/cluster=<id>/<time>~<snapshot>.parquet`: the newest is
  found by two listings, however many there are. Snapshots without that file are older than those with it, and are
  ordered by their names, numbers in them by their value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import BadInput, NotFound
from .arrow import Arrow, conform
from .declared import PARTITION, PLAN, SNAPSHOT_TIME, VALID
from .location import Location, location
from .schema import Table

Root: TypeAlias = Location | Path | str

_NAME: Final = re.compile(r"[^\x00-\x1f\x7f/\\.][^\x00-\x1f\x7f/\\]{0,199}")  # the name of one folder, without a path
_ESCAPED: Final = re.compile(r"[\"#%'*/:=?\\{}\[\]^\x00-\x1f\x7f]")  # in names of folders, by Hive and Spark
_SCHEMA_VERSION: Final = {b"kedge.schema": b"1"}
PART: Final = "part"
EVERY: Final = ""  # of rows that Spark gives to a worker, those of every plan
_PLAN: Final = "plan"
_TILDE: Final = "~"
_NUMBERS: Final = re.compile(r"([0-9]+)")
_SUFFIX: Final = ".parquet"
GROUP_ROWS: Final = 65_536
"""The rows of a group in a Parquet file: Spark gives at least one group to a core, so a group of a million rows would
be work for one core alone."""
_LISTED_MAX: Final = 20
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def check_name(name: str, what: str) -> str:
    """`name` if it can be the name of a folder below a root. Raises BadInput otherwise."""
    if name == "":
        raise BadInput(f"{what}: expected a name, got an empty string")
    if not isinstance(name, str) or not _is_name(name):
        expected = "a name of up to 200 characters, without slashes and control characters, not beginning with a dot"
        raise BadInput(f"{what}: expected {expected}; got {name!r:.120}")
    return name


def escaped(name: str) -> str:
    """The name as Hive and Spark write it into the name of a folder."""
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", name)


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
        return f"{self._folder(table)}/{part if table is SNAPSHOT_TIME else check_name(part, 'part')}{_SUFFIX}"

    def _folder(self, table: Table) -> str:
        of_cluster = _folder_of(self.root, table.name, "cluster", self.cluster)
        return of_cluster if table is SNAPSHOT_TIME else _folder_of(self.root, of_cluster, "snapshot", self.snapshot)

    def _files(self, table: Table, part: str = PART) -> list[str]:
        """The paths of the table's files: of a plan's table the one of this plan."""
        if _PLAN in table.names:
            file = self._file(table, part)
            return [file] if self.root.is_there(file, file=True) else []
        folder = self._folder(table)
        return [f"{folder}/{name}{_SUFFIX}" for name in self.parts(table)]

    def has(self, table: Table, part: str = PART) -> bool:
        """Whether the table is there."""
        return bool(self._files(table, part))

    def check_replaceable(self, table: Table, part: str = PART) -> None:
        """Raises BadInput if another program wrote the table, unless it is that of times, which are replaced."""
        if table is SNAPSHOT_TIME:
            return
        others = [one for one in self._files(table, part) if one != self._file(table, part)]
        if others:
            what = f"table {table.name} of cluster {self.cluster}, snapshot {self.snapshot}"
            raise BadInput(f"{self.root.where(others[0])}: another program wrote {what}, so it is not replaced")

    def write(self, table: Table, rows: Arrow, part: str = PART) -> None:
        """The table's file holds `rows`, and no others. Raises BadInput if they do not fit the table or another program
        wrote the table, OSError naming the file if it cannot be written."""
        found = conform(table, rows, table.name)
        self.check_replaceable(table, part)
        if table is SNAPSHOT_TIME:
            self.remove(SNAPSHOT_TIME)
            part = stamped(found.column("taken_at")[0].as_py(), self.snapshot)
        file = self._file(table, part)
        sink = pa.BufferOutputStream()
        found = found.replace_schema_metadata(_SCHEMA_VERSION)
        pq.write_table(found, sink, compression="zstd", compression_level=1, row_group_size=GROUP_ROWS)
        self.root.write(file, sink.getvalue())

    def read(self, table: Table, part: str = PART) -> Arrow:
        """The rows of the table. Raises NotFound if it is not there, BadInput if it holds another table."""
        files = self._files(table, part)
        if not files:
            raise self.missing(table, part)
        try:
            found = [_checked(table, self.root.read(file), self.root.where(file)) for file in files]
        except FileNotFoundError:
            raise self.missing(table, part) from None
        return found[0] if len(found) == 1 else pa.concat_tables(found)

    def batches(self, table: Table) -> Iterator[Arrow]:
        """The rows of all files of the table, a part of them at a time, always in the same order; none if there is no
        file. Raises BadInput if a file cannot be read, or holds another table."""
        for file in self._files(table):
            for rows in self.root.batches(file, table.names):
                yield _checked(table, rows, self.root.where(file))

    def missing(self, table: Table, part: str = PART) -> NotFound:
        """The error for a missing table; for a missing plan with the names of those that exist."""
        if table.name != _PLAN:
            file = self.root.where(self._file(table, part))
            hint = ": `kedge plan compute-load` computes it" if table.name.endswith("_load") else ""
            return NotFound(f"{file}: the snapshot has no table {table.name}{hint}")
        there = self.parts(table)
        more = f", and {len(there) - _LISTED_MAX} more" if len(there) > _LISTED_MAX else ""
        listed = f"there are {', '.join(there[:_LISTED_MAX])}{more}" if there else "no plan was made of it"
        return NotFound(f"no plan {part} of cluster {self.cluster}, snapshot {self.snapshot}: {listed}")

    def remove(self, table: Table, part: str = PART) -> None:
        """Remove what this program wrote of the table, which need not be there."""
        files = self._files(table) if table is SNAPSHOT_TIME else [self._file(table, part)]
        for file in files:
            self.root.remove(file)

    def last_with(self, table: Table) -> Place | None:
        """The newest snapshot of the cluster that has the table."""
        names = _snapshots(self.root, table, self.cluster)
        found = (Place(self.root, self.cluster, name) for name in reversed(names))
        return next((one for one in found if one.has(table)), None)

    def parts(self, table: Table) -> list[str]:
        """The names of the table's files, sorted."""
        names = (
            name for name in self.root.names(self._folder(table)) if name.endswith(_SUFFIX) and name[0] not in "._"
        )
        parts = sorted(name.removesuffix(_SUFFIX) for name in names)
        return [part for part in parts if _taken(part)[0] == self.snapshot] if table is SNAPSHOT_TIME else parts


def _checked(table: Table, found: Arrow, where: str) -> Arrow:
    """The rows of a file. Raises BadInput if a later version wrote it, or it holds another table."""
    version = (found.schema.metadata or {}).get(b"kedge.schema", b"1")
    if version != _SCHEMA_VERSION[b"kedge.schema"]:
        raise BadInput(f"{where}: a later version of Kedge wrote it: kedge.schema is {version.decode()!r:.20}, not '1'")
    return conform(table, found.replace_schema_metadata(None), where)


def stamped(taken_at: datetime, snapshot: str) -> str:
    """The name of the file that says when the snapshot was taken."""
    return f"{taken_at:%Y%m%dT%H%M%S.%fZ}{_TILDE}{escaped(snapshot)}"


def _taken(part: str) -> tuple[str, str]:
    """The snapshot and its time, as text that sorts by it, from the name of a file."""
    time, _, name = part.partition(_TILDE)
    return unquote(name), time


def _folder_of(root: Location, parent: str, key: str, name: str) -> str:
    """The folder of that name, which another program may have left unescaped."""
    folder, plain = f"{parent}/{key}={escaped(name)}", f"{parent}/{key}={name}"
    return plain if plain != folder and not root.is_there(folder) and root.is_there(plain) else folder


@attrs.frozen
class Wanted:
    """A table that a stage reads: its part, and whether it may be missing. `last`: that of the cluster's last snapshot
    that has it. `raw`: as it was collected; otherwise its validated rows, if there are."""

    table: Table
    part: str = PART
    optional: bool = False
    last: bool = False
    raw: bool = False

    @property
    def tables(self) -> tuple[Table, ...]:
        """Those of which the first that is there is read."""
        return (self.table,) if self.raw else _homes(self.table)


def wanted(*tables: Table, part: str = PART, optional: bool = False, raw: bool = False) -> tuple[Wanted, ...]:
    return tuple(Wanted(table, part, optional, raw=raw) for table in tables)


def read_all(place: Place, asked: Iterable[Wanted]) -> dict[str, Arrow]:
    """The existing tables, by name. Raises NotFound if a required one is missing."""
    found = {}
    for one in asked:
        at = place.last_with(one.table) if one.last else place
        table = None if at is None else next((t for t in one.tables if at.has(t, one.part)), None)
        if at is not None and (table is not None or not one.optional):
            found[one.table.name] = at.read(table or one.table, one.part)
    return found


def find_places(root: Root, table: Table, snapshot: str | None) -> list[Place]:
    """As `find_place`, for every cluster below `root` that has the snapshot, by name. Raises NotFound if there is
    none."""
    found = []
    for cluster in _clusters(root, table):
        with suppress(NotFound):
            found.append(find_place(root, table, cluster, snapshot))
    if not found:
        raise NotFound(f"{root}: no table {table.name}" + ("" if snapshot is None else f" of snapshot {snapshot}"))
    return found


def find_snapshots(root: Root, table: Table, cluster: str | None) -> list[Place]:
    """As `find_place`, for every snapshot of the cluster, the newest last. Raises NotFound if there is none."""
    named = find_place(root, table, cluster, None).cluster
    found = [Place(root, named, name) for name in _snapshots(root, table, named)]
    return [place for place in found if is_in(place, table)]


def find_planned(place: Place, name: str) -> Place | None:
    """The last snapshot, up to the one at `place`, that has the plan; None if there is none, or if other snapshots are
    out of reach, as the rows of a catalog are."""
    there = [] if place.root.in_spark else find_snapshots(place.root, PARTITION, place.cluster)
    names = [one.snapshot for one in there]
    earlier = there[: names.index(place.snapshot) + 1] if there else []
    return next((one for one in reversed(earlier) if one.has(PLAN, name)), None)


def find_place(root: Root, table: Table, cluster: str | None, snapshot: str | None) -> Place:
    """The named place; without a name, the only cluster, or the newest snapshot. Raises NotFound if there is none,
    BadInput if there are several clusters."""
    if not location(root).is_there():
        raise NotFound(f"{root}: the folder does not exist")
    if cluster is None:
        found = _clusters(root, table)
        if len(found) > 1:
            raise BadInput(
                f"{root}: several clusters exist; give --cluster with one of {', '.join(found[:20])}, or --all-clusters"
            )
        if not found:
            raise NotFound(f"{root}: no table {table.name}")
        cluster = found[0]
    if snapshot is not None and is_in(Place(root, cluster, snapshot), table):
        return Place(root, cluster, snapshot)
    found = _snapshots(root, table, cluster)
    if snapshot is not None and found:
        last = ", ".join(found[-_LISTED_MAX:])
        raise NotFound(f"{root}: the folder has no snapshot {snapshot} of cluster {cluster}; the last ones: {last}")
    places = (Place(root, cluster, name) for name in reversed(found))
    newest = next((place for place in places if is_in(place, table)), None)
    if newest is None:
        raise NotFound(f"{root}: the folder has no snapshot of cluster {cluster}")
    return newest


def skipped_folders(root: Root, table: Table) -> list[str]:
    """The folders `cluster=...` whose name cannot be that of a cluster."""
    return [f"{table.name}/cluster={name}" for name in _values(root, table.name, "cluster") if not _is_name(name)]


def _homes(table: Table) -> tuple[Table, ...]:
    """The table of its validated rows, which are alone where a job wrote loads to a new root; and the table."""
    return (*(one for one in VALID if one.key == table.name), table)


def is_in(place: Place, table: Table, part: str = PART) -> bool:
    """Whether the place has the table, or its validated rows."""
    return any(place.has(one, part) for one in _homes(table))


def _clusters(root: Root, table: Table) -> list[str]:
    found = {name for each in _homes(table) for name in _values(root, each.name, "cluster")}
    return sorted(filter(_is_name, found))


def _snapshots(root: Root, table: Table, cluster: str) -> list[str]:
    """The names of the cluster's snapshots, the newest last."""
    root = location(root)
    folders = [_folder_of(root, each.name, "cluster", cluster) for each in _homes(table)]
    names = {name for folder in folders for name in _values(root, folder, "snapshot")}
    files = root.names(_folder_of(root, SNAPSHOT_TIME.name, "cluster", cluster))
    times = dict(_taken(file.removesuffix(_SUFFIX)) for file in files)
    return sorted(filter(_is_name, names), key=lambda name: (times.get(name, ""), _natural(name)))


def _natural(name: str) -> list[tuple[int, str]]:
    """The sort key of a name: numbers in it by their value."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBERS.split(name) if part]


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name != _NULL


def _values(root: Root, folder: str, key: str) -> list[str]:
    prefix = f"{key}="
    names = (name.removeprefix(prefix) for name in location(root).names(folder) if name.startswith(prefix))
    return sorted({unquote(name) for name in names})
