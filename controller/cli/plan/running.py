"""A verb over the clusters that a command names, by the engine that it names, and what is said of them in the end.

* One cluster: what cannot be used is exit code 2, and nothing is written. With --all-clusters such a one is told and
  left out, the others are done, and the exit code is 2 in the end; one of which nothing is asked (`drain` without
  brokers where none is draining) is told and is no failure. Else the exit code is the largest of the clusters'.
* With --all-snapshots the same holds of every snapshot.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import attrs
import click

from controller.cli.audit.engines import spark
from controller.cli.plan.engine import chosen, of_catalog
from controller.cli.plan.options import Common
from controller.cli.plan.saying import say, say_json
from controller.cli.printing import one_line
from controller.cli.store.progress import bar
from pipeline.errors import NotFound, NothingAsked, PipelineError
from pipeline.tables.declared import PARTITION
from pipeline.tables.files import PART, Place, check_name, find_place, find_places, find_snapshots
from pipeline.tables.location import Location
from pipeline.tables.schema import Table
from pipeline.verbs.local import results
from pipeline.verbs.verb import Said, Told, Verb


def told_of(
    common: Common,
    verb: Verb,
    place_of: tuple[Table, str] = (PARTITION, PART),
    *,
    at: _At | None = None,
    why: dict[str, str] | None = None,
    check: Callable[[Sequence[Place]], None] | None = None,
) -> tuple[list[Said], bool]:
    """What is said of each snapshot, and whether some could not be used. `at`: which, by where the tables are; else
    those that the options name. `place_of`: a table and part without which a cluster of several is passed over; `check`
    is called with the places, before anything is done. Raises what a cluster cannot be used for that was named alone;
    of several it is told, and put into `why` by cluster."""
    told: list[Said] = []
    failed = False
    at = at or (lambda tables: places(attrs.evolve(common, tables=tables), *place_of))
    run = _in_catalog if common.tables.in_spark else _in_files
    for place, found in run(common, verb, place_of, at, check):
        if isinstance(found, Said):
            told.append(found)
            continue
        if not common.several:
            raise found
        failed |= not isinstance(found, NothingAsked)
        of = f", snapshot {place.snapshot}" if common.all_snapshots else ""
        click.echo(f"cluster {place.cluster}{of}: {one_line(found)}", err=True)
        if why is not None:
            why[place.cluster] = one_line(found)
    return told, failed


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


_Results = Iterable[tuple[Place, Said | PipelineError]]
_Check = Callable[[Sequence[Place]], None] | None
_At = Callable[[Location], list[Place]]


def _in_files(common: Common, verb: Verb, _: tuple[Table, str], at: _At, check: _Check) -> _Results:
    return _over(common, verb, _checked(at(common.tables), check))


def _over(common: Common, verb: Verb, of: Sequence[Place]) -> _Results:
    if not of:
        return
    engine = chosen(common.engine, common.tables, of)
    with bar(verb.title, shown=not common.plain) as told:
        if engine.is_local:
            yield from results(verb, of, told)
            return
        with spark(engine) as session:
            from pipeline.spark.verbs import results as on_spark  # noqa: PLC0415 - Spark is there, as it is running

            with _watched(session, common, told):
                found = list(on_spark(session, verb, of))
    yield from found


def _in_catalog(common: Common, verb: Verb, place_of: tuple[Table, str], at: _At, check: _Check) -> _Results:
    engine = of_catalog(common.engine, common.tables)
    with bar(verb.title, shown=not common.plain) as told, spark(engine) as session:
        from pipeline.spark.catalog import Catalog  # noqa: PLC0415 - as above
        from pipeline.spark.groups import results as in_groups  # noqa: PLC0415

        with _watched(session, common, told):
            catalog = Catalog(session, common.tables)
            of = _checked(at(catalog.listed((PARTITION, PART), place_of)), check)
            return in_groups(catalog, verb, of) if of else []


def _checked(of: list[Place], check: _Check) -> list[Place]:
    if check is not None:
        check(of)
    return of


def _watched(session: Any, common: Common, told: Told) -> AbstractContextManager[None]:
    from pipeline.spark.watching import watched  # noqa: PLC0415 - as above

    return watched(session, told if not common.plain and sys.stderr.isatty() else None)


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
