"""Running a step of `kedge plan` over snapshots, with the engine that is chosen, and printing what came of it.

`--engine auto` is Spark for several clusters or tables that are not local, if Spark is installed. A note on stderr
names it, because a JVM takes seconds to start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import attrs
import click

from ....pipeline.errors import BadInput, NotFound, NothingAsked, PipelineError
from ....pipeline.tables.declared import PARTITION
from ....pipeline.tables.files import (
    PART,
    Place,
    check_name,
    find_place,
    find_places,
    find_snapshots,
    is_in,
    skipped_folders,
)
from ....pipeline.tables.location import Location
from ....pipeline.tables.schema import Table
from ....pipeline.verbs.local import results
from ....pipeline.verbs.verb import Said, Verb
from ..engines import AUTO, LOCAL, SPARK, Engine, settled, spark
from ..printing import compact, note, one_line, print_pairs, say
from ..store.opening import bar
from .options import Common


def chosen(engine: Engine, tables: Location, of: Sequence[Place]) -> Engine:
    found = settled(engine)
    if found == SPARK or engine == LOCAL or (why := _why_spark(tables, of)) is None:
        return found
    from ....pipeline.spark.session import missing  # noqa: PLC0415 - looked for where it may be needed

    if (lacking := missing()) is not None:
        note(f"engine: local, although {why}: {lacking}")
        return LOCAL
    note(f"engine: spark, because {why}")
    return SPARK


def need_spark(engine: Engine, tables: Location) -> None:
    """Only Spark reads and writes `tables`, and it is named if it was not chosen. BadInput for another engine."""
    if engine == LOCAL:
        what = "a catalog" if tables.is_catalog else tables.format
        raise BadInput(f"{tables}: only Spark reads and writes {what}; use --engine spark")
    if engine == AUTO:
        note(f"engine: spark, because only Spark reads {tables}")


def _why_spark(tables: Location, of: Sequence[Place]) -> str | None:
    if not tables.is_local:
        return f"{tables} is not a local folder"
    clusters = len({place.cluster for place in of})
    return f"there are {clusters} clusters" if clusters > 1 else None


def told_of(
    common: Common,
    verb: Verb,
    place_of: tuple[Table, str] = (PARTITION, PART),
    *,
    at: Callable[[Location], list[Place]] | None = None,
    why: dict[str, str] | None = None,
) -> tuple[list[Said], bool]:
    """The results by snapshot, and whether some snapshots could not be used.

    `at`: the snapshots, by where the tables are; without it those that the options choose. `place_of`: a table and part
    without which one of several clusters is skipped. The error of a single cluster is raised; those of several are
    printed, and put into `why` by cluster.
    """
    results: list[Said] = []
    failed = False
    at = at or (lambda tables: places(attrs.evolve(common, tables=tables), *place_of))
    run = _in_catalog(common, verb, place_of, at) if common.tables.in_spark else _over(common, verb, at(common.tables))
    for place, found in run:
        if isinstance(found, Said):
            results.append(found)
            continue
        if not common.several:
            raise found
        failed |= not isinstance(found, NothingAsked)
        of = f", snapshot {place.snapshot}" if common.all_snapshots else ""
        click.echo(f"cluster {place.cluster}{of}: {one_line(found)}", err=True)
        if why is not None:
            why[place.cluster] = one_line(found)
    return results, failed


def places(common: Common, table: Table = PARTITION, part: str = PART) -> list[Place]:
    named = (common.cluster, common.snapshot, common.since, common.until)
    for name, option in zip(named, ("--cluster", "--snapshot", "--since", "--until"), strict=True):
        if name is not None:
            check_name(name, option)
    if common.all_clusters:
        for folder in skipped_folders(common.tables, PARTITION):
            say(f"{folder}: skipped, because its name cannot be that of a cluster")
    if common.all_snapshots:
        return [place for place in _every_snapshot(common) if is_in(place, table, part)] or _none(common, table, part)
    if not common.all_clusters:
        return [find_place(common.tables, PARTITION, common.cluster, common.snapshot)]
    found = [place for place in find_places(common.tables, PARTITION, common.snapshot) if is_in(place, table, part)]
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


_Results = Iterable[tuple[Place, Said | PipelineError]]


def _over(common: Common, verb: Verb, of: Sequence[Place]) -> _Results:
    if not of:
        return
    engine = chosen(common.engine, common.tables, of)
    if engine == LOCAL:
        with bar(verb.title, shown=not common.plain) as told:
            yield from results(verb, of, told)
        return
    with spark() as session:
        from ....pipeline.spark.verbs import results as on_spark  # noqa: PLC0415 - Spark is there, as it is running

        found = list(on_spark(session, verb, of))
    yield from found


def _in_catalog(
    common: Common, verb: Verb, place_of: tuple[Table, str], at: Callable[[Location], list[Place]]
) -> _Results:
    need_spark(common.engine, common.tables)
    with spark() as session:
        from ....pipeline.spark.catalog import Catalog  # noqa: PLC0415 - as above
        from ....pipeline.spark.groups import results as in_groups  # noqa: PLC0415

        catalog = Catalog(session, common.tables)
        of = at(catalog.listed((PARTITION, PART), place_of))
        return in_groups(catalog, verb, of) if of else []


def finish(common: Common, results: Sequence[Said], *, failed: bool) -> None:
    if common.as_json:
        listed = "clusters" if common.all_clusters else "snapshots"
        say_json({listed: [one.row for one in results]} if common.several else results[0].row)
    else:
        for one in results:
            names = ["cluster"] * common.all_clusters + ["snapshot"] * common.all_snapshots
            print_pairs([*((name, one.row[name]) for name in names), *one.lines])
    sys.exit(2 if failed else max((one.code for one in results), default=0))


def say_json(value: Mapping[str, Any]) -> None:
    click.echo(compact(value))
