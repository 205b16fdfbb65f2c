"""A stage over the clusters that a command names, by the engine that it names, and what is said of them in the end.

* One cluster: what cannot be used is exit code 2, and nothing is written. With --all-clusters such a one is told and
  left out, the others are done, and the exit code is 2 in the end; one of which nothing is asked (`drain` without
  brokers where none is draining) is told and is no failure. Else the exit code is the largest of the clusters'.
* With --all-snapshots the same holds of every snapshot.
* Spark hands over what was made of all clusters at once; this process writes it, with the bytes of the local engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import attrs
import click

from controller.cli.audit.engines import spark
from controller.cli.plan.options import Common
from controller.cli.plan.saying import say, say_json
from controller.cli.printing import one_line
from controller.cli.store.progress import Told, bar
from pipeline.errors import NotFound, NothingAsked, PipelineError
from pipeline.tables.arrow import Arrow
from pipeline.tables.declared import PARTITION
from pipeline.tables.files import PART, Place, Wanted, check_name, find_place, find_places, find_snapshots, read_all
from pipeline.tables.schema import Table

if TYPE_CHECKING:
    from pipeline.spark.packed import Frames, Key

Tables: TypeAlias = dict[str, Arrow]
Here: TypeAlias = Callable[[Tables, Told], Tables]
There: TypeAlias = "Callable[[Frames], dict[Key, Tables | PipelineError]]"


@attrs.frozen
class Stage:
    """What a command does with a cluster: `here` with its tables in this process, `there` with the frames of all."""

    title: str
    wanted: Sequence[Wanted]
    here: Here
    there: There
    native: bool = False  # frames are of rows, not of files
    nothing: Tables = attrs.Factory(dict)  # of a cluster that Spark says nothing of


@attrs.frozen
class Said:
    """Of a cluster: as JSON, as lines for a person, and its exit code."""

    row: dict[str, Any]
    lines: Sequence[tuple[str, str]]
    code: int


def run(
    common: Common, stage: Stage, place_of: tuple[Table, str] = (PARTITION, PART)
) -> Iterator[tuple[Place, Tables]]:
    """Each cluster and what the stage made of it. `place_of`: a table and part without which a cluster of several is
    passed over. Raises what a cluster that was named alone cannot be used for; of several it is told, and the run ends
    with exit code 2."""
    failed = 0
    for place, found in _results(common, stage, places(common, *place_of)):
        if not isinstance(found, PipelineError):
            yield place, found
            continue
        if not common.several:
            raise found
        failed += not isinstance(found, NothingAsked)
        of = f", snapshot {place.snapshot}" if common.all_snapshots else ""
        click.echo(f"cluster {place.cluster}{of}: {one_line(found)}", err=True)
    if failed:
        raise SomeFailed(f"{failed} could not be used")


class SomeFailed(PipelineError):
    """Some clusters or snapshots of several could not be used; they were told."""


def places(common: Common, table: Table = PARTITION, part: str = PART) -> list[Place]:
    """Where the snapshots are that the command names."""
    named = (common.cluster, common.snapshot, common.since, common.until)
    for name, option in zip(named, ("--cluster", "--snapshot", "--since", "--until"), strict=True):
        if name is not None:
            check_name(name, option)
    if common.all_snapshots:
        return [place for place in _every_snapshot(common) if place.has(table, part)] or _none(common, table, part)
    if not common.all_clusters:
        return [find_place(common.tables, PARTITION, common.cluster, common.snapshot)]
    found = [place for place in find_places(common.tables, PARTITION, common.snapshot) if place.has(table, part)]
    return found or _none(common, table, part)


def _every_snapshot(common: Common) -> list[Place]:
    """The snapshots of the cluster that is named, or of all clusters, between those that are named, by name."""
    clusters: list[str | None] = [common.cluster]
    if common.all_clusters:
        clusters = [place.cluster for place in find_places(common.tables, PARTITION, None)]
    found = [place for cluster in clusters for place in find_snapshots(common.tables, PARTITION, cluster)]
    return [place for place in found if (common.since or "") <= place.snapshot and _is_until(common, place)]


def _is_until(common: Common, place: Place) -> bool:
    """`--until 2026-11` takes all of that month."""
    return common.until is None or place.snapshot <= common.until or place.snapshot.startswith(common.until)


def _none(common: Common, table: Table, part: str) -> NoReturn:
    what = "snapshot" if common.all_snapshots else "cluster"
    named = f"table {table.name}" if part == PART else f"{table.name} {part}"
    between = "".join(
        f" {way} {name}" for way, name in (("since", common.since), ("until", common.until)) if name is not None
    )
    raise NotFound(f"{common.tables}: no {what}{between} has a {named}")


def _results(common: Common, stage: Stage, of: list[Place]) -> Iterator[tuple[Place, Tables | PipelineError]]:
    if not common.engine.is_local:
        yield from _on_spark(common, stage, of)
        return
    with bar(stage.title, shown=not common.plain) as told:
        inside = told if len(of) == 1 else _unheard
        for done, place in enumerate(of, 1):
            try:
                found: Tables | PipelineError = stage.here(read_all(place, stage.wanted), inside)
            except PipelineError as error:
                found = error
            yield place, found
            if len(of) > 1:
                told(done, len(of))


def _unheard(_: int, __: int) -> None:
    """The clusters are counted, not what is done of each."""


def _on_spark(common: Common, stage: Stage, of: list[Place]) -> Iterator[tuple[Place, Tables | PipelineError]]:
    with bar(stage.title, shown=not common.plain) as told, spark(common.engine) as session:
        from pipeline.spark.frames import read, read_files  # noqa: PLC0415 - Spark is there, as it is running
        from pipeline.spark.watching import watched  # noqa: PLC0415

        refused: dict[Place, PipelineError] = {}
        shown = not common.plain and sys.stderr.isatty()
        with watched(session, told if shown else None):
            if stage.native:
                frames = read(session, of, stage.wanted, numbered=True, refused=refused)
            else:
                frames = read_files(session, of, stage.wanted, refused=refused)
            found = stage.there(frames) if len(refused) < len(of) else {}
    for place in of:
        yield place, refused.get(place) or found.get((place.cluster, place.snapshot), stage.nothing)


def finish(common: Common, said: Sequence[Said], *, failed: bool) -> None:
    """Print what came of the clusters, and end with the exit code."""
    if common.as_json:
        listed = "clusters" if common.all_clusters else "snapshots"
        say_json({listed: [one.row for one in said]} if common.several else said[0].row)
    else:
        for one in said:
            names = ["cluster"] * common.all_clusters + ["snapshot"] * common.all_snapshots
            say([*((name, one.row[name]) for name in names), *one.lines])
    sys.exit(2 if failed else max((one.code for one in said), default=0))


def told_of(common: Common, stage: Stage, use: Callable[[Place, Tables], Said],
            place_of: tuple[Table, str] = (PARTITION, PART)) -> tuple[list[Said], bool]:  # fmt: skip
    """What `use` says of each cluster, and whether some could not be used."""
    said: list[Said] = []
    try:
        for place, found in run(common, stage, place_of):
            said.append(use(place, found))
    except SomeFailed:
        return said, True
    return said, False
