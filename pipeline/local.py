"""The pipeline on Arrow tables, in this process: `from kedge.pipeline import local`.

    raw = local.collect(bootstrap_servers="one:9092")  # or local.read("tables", cluster="east")
    silver = local.compute_load(local.validate(raw))
    moves = local.waves(local.drain(silver, brokers=[3]))
    local.write(moves, "tables", cluster="east", snapshot="2026-11-28")

`kedge.pipeline.spark` has the same functions on DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from .arguments import path_of
from .errors import BadInput
from .functions import planning
from .functions.collecting import collect
from .functions.journals import audit, progress
from .functions.planning import *  # noqa: F403 - those of both engines
from .functions.planning import Frames
from .journal.arrow import EVENT_SCHEMA, batches
from .journal.files import journals, read_whole
from .stages.export import export as export_files
from .stages.snapshots import check_same
from .tables.arrow import Arrow
from .tables.declared import OF_PLAN, SNAPSHOT
from .tables.files import Place, find_place
from .tables.keys import keys_in
from .tables.whole import found_by, names_for, read_tables, write_tables
from .verbs.page import page_of

__all__ = ["audit", "collect", "export", "progress", "read", "read_journal", "write"]
__all__ += planning.__all__


def read(
    root: str | Path,
    names: Iterable[str] | None = None,
    *,
    cluster: str | None = None,
    snapshot: str | None = None,
    plan: str | None = None,
) -> dict[str, Arrow]:
    """The tables of a snapshot, of the only cluster's newest one by default. `root`: a folder, or a location such as
    s3://bucket/tables. `names`: by default what was collected; with the name of a `plan` what `export` needs of it. A
    name such as broker_valid gives validated rows, as `broker`. Raises NotFound if there is no snapshot, BadInput if a
    table cannot be read."""
    place = find_place(path_of(root, "root"), found_by(plan), cluster, snapshot)
    return read_tables(place, names_for(plan) if names is None else names, plan)


def read_journal(paths: Iterable[str | Path]) -> Arrow:
    """The table `journal_event` of all lines in `paths`: files of journals, folders of them, and folders cluster=ID.
    Raises NoJournal if there is nothing to read, OSError if a file cannot be read, BadInput for no list of paths."""
    if isinstance(paths, str | Path):
        raise BadInput(f"paths: expected a list of paths, got {paths!r:.80}")
    files = (file for some in journals(paths).values() for file in some)
    return pa.Table.from_batches((batch for file in files for batch in batches(read_whole(file))), EVENT_SCHEMA)


def write(tables: Frames, root: str | Path, *, cluster: str, snapshot: str) -> None:
    """The tables are below `root`, where the commands read them. Validated rows are kept apart from those collected,
    which are not replaced. Raises BadInput for a bad name, OSError if a file cannot be written."""
    write_tables(Place(path_of(root, "root"), cluster, snapshot), tables)


def export(tables: Frames, folder: str | Path, *, cluster: str, snapshot: str) -> dict[str, Any]:
    """The folder has the plan in `tables` and its waves as files: JSON for `kafka-reassign-partitions`, what undoes a
    wave, throttles, a page, and a manifest, which is returned. Raises BadInput if the folder holds something else, or
    the tables are not those of one plan, OSError if it cannot be written."""
    if keys_in({name: table.column_names for name, table in tables.items()}):
        raise BadInput("export: expected the tables of one snapshot, without the columns cluster and snapshot")
    if missing := sorted({table.name for table in (*SNAPSHOT, *OF_PLAN)} - tables.keys()):
        raise BadInput(f"export: expected a plan, and what it was made from; there is no table {', '.join(missing)}")
    if (plans := tables["plan"].num_rows) != 1:
        raise BadInput(f"export: expected one plan, got {plans}")
    check_same(tables)
    page = page_of(cluster, snapshot, tables).decode()
    manifest: dict[str, Any] = export_files(
        tables, Path(path_of(folder, "folder")), cluster=cluster, snapshot=snapshot, report=page
    )
    return manifest
