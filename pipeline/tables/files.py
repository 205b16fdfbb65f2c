"""Tables on disk: `<root>/<table>/cluster=<id>/snapshot=<id>/<part>.parquet`.

Rules
* A file is the old one or the new one, never a part: it is written beside its place and renamed. So a stage may be run
  again, and one that dies leaves nothing half written.
* The same table gives the same bytes: no date and no host stand in a file, but the versions of the writer.
* `part` is "part" but for tables of plans, of which a snapshot may have many: there it is the plan's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import BadInput, NotFound
from pipeline.tables.arrow import Arrow, conform
from pipeline.tables.schema import Table
from pipeline.written import written_as

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")  # of a folder, and of no other folder
PART: Final = "part"
_PLAN: Final = "plan"
GROUP_ROWS: Final = 65_536
"""Of a group of rows in a file of Parquet: a group is the least that Spark gives to a core, and one of a million rows
is work for one core alone."""
_LISTED_MAX: Final = 20


def check_name(name: str, what: str) -> str:
    """`name` where it can be the name of a folder below a root; BadInput else."""
    if not name:
        raise BadInput(f"{what}: is empty, expected a name")
    if _NAME.fullmatch(name) is None:
        raise BadInput(f"{what}: expected letters, digits, '.', '_', '-', a letter or digit first; got {name!r:.120}")
    return name


@attrs.frozen
class Place:
    """The tables of one snapshot of one cluster below `root`."""

    root: Path
    cluster: str
    snapshot: str

    def __attrs_post_init__(self) -> None:
        check_name(self.cluster, "cluster")
        check_name(self.snapshot, "snapshot")

    def path(self, table: Table, part: str = PART) -> Path:
        name = check_name(part, "part")
        return self.root / table.name / f"cluster={self.cluster}" / f"snapshot={self.snapshot}" / f"{name}.parquet"

    def has(self, table: Table, part: str = PART) -> bool:
        return self.path(table, part).is_file()

    def write(self, table: Table, rows: Arrow, part: str = PART) -> Path:
        """The table's file holds `rows`, and nothing else. BadInput where they are not of the table, OSError naming the
        file where it cannot be written."""
        path = self.path(table, part)
        found = conform(table, rows, table.name)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        with written_as(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                pq.write_table(found, beside, compression="zstd", compression_level=1, row_group_size=GROUP_ROWS)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        return path

    def read(self, table: Table, part: str = PART) -> Arrow:
        """The rows of the table's file. NotFound where there is none, BadInput where it is no such table."""
        path = self.path(table, part)
        try:
            found = pq.read_table(path, partitioning=None)
        except FileNotFoundError:
            raise self.missing(table, part) from None
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())[:300]}") from None
        return conform(table, found, str(path))

    def missing(self, table: Table, part: str = PART) -> NotFound:
        """That the table's file is not there; a plan that is not, by its name, with those that are."""
        if table.name != _PLAN:
            return NotFound(f"{self.path(table, part)}: no table {table.name} of this snapshot")
        there = self.parts(table)
        more = f", and {len(there) - _LISTED_MAX} more" if len(there) > _LISTED_MAX else ""
        listed = f"made of it: {', '.join(there[:_LISTED_MAX])}{more}" if there else "none was made of it"
        return NotFound(f"no plan {part} of cluster {self.cluster}, snapshot {self.snapshot}: {listed}")

    def remove(self, table: Table, part: str = PART) -> None:
        self.path(table, part).unlink(missing_ok=True)

    def parts(self, table: Table) -> list[str]:
        """The names of the table's files, sorted."""
        return sorted(path.stem for path in self.path(table).parent.glob("[!.]*.parquet"))


@attrs.frozen
class Wanted:
    """A table that a stage reads: which part of it, and whether it may be missing."""

    table: Table
    part: str = PART
    optional: bool = False


def read_all(place: Place, wanted: Iterable[Wanted]) -> dict[str, Arrow]:
    """The tables that are there, by name. NotFound where one is missing that may not be."""
    there = [one for one in wanted if not one.optional or place.has(one.table, one.part)]
    return {one.table.name: place.read(one.table, one.part) for one in there}


def find_places(root: Path, table: Table, snapshot: str | None) -> list[Place]:
    """As `find_place`, of every cluster below `root` that has the snapshot, by name. NotFound where there is none."""
    found = []
    for cluster in _values(root / table.name, "cluster"):
        with suppress(NotFound):
            place = find_place(root, table, cluster, snapshot)
            found += [place] if place.parts(table) else []
    if not found:
        raise NotFound(
            f"{root}: holds no table {table.name}" + ("" if snapshot is None else f" of snapshot {snapshot}")
        )
    return found


def find_snapshots(root: Path, table: Table, cluster: str | None) -> list[Place]:
    """As `find_place`, every snapshot of the cluster, by name. NotFound where there is none."""
    named = find_place(root, table, cluster, None).cluster
    found = [Place(root, named, name) for name in _values(root / table.name / f"cluster={named}", "snapshot")]
    return [place for place in found if place.parts(table)]


def find_place(root: Path, table: Table, cluster: str | None, snapshot: str | None) -> Place:
    """The place that is named; where a name is left out, the only cluster, the last snapshot by name. NotFound where
    there is none, BadInput where there are several clusters."""
    if not root.is_dir():
        raise NotFound(f"{root}: there is no such folder")
    if cluster is None:
        found = _values(root / table.name, "cluster")
        if len(found) > 1:
            raise BadInput(f"{root}: holds the clusters {', '.join(found[:20])}: name one")
        if not found:
            raise NotFound(f"{root}: holds no table {table.name}")
        cluster = found[0]
    if snapshot is not None and Place(root, cluster, snapshot).parts(table):
        return Place(root, cluster, snapshot)
    folder = root / table.name / f"cluster={cluster}"
    found = [name for name in _values(folder, "snapshot") if Place(root, cluster, name).parts(table)]
    if not found:
        raise NotFound(f"{root}: holds no snapshot of cluster {cluster}")
    if snapshot is not None:
        last = ", ".join(found[-_LISTED_MAX:])
        raise NotFound(f"{root}: holds no snapshot {snapshot} of cluster {cluster}; the last that it holds: {last}")
    return Place(root, cluster, found[-1])


def _values(folder: Path, key: str) -> list[str]:
    prefix = f"{key}="
    return sorted(path.name.removeprefix(prefix) for path in folder.glob(f"{prefix}*"))
