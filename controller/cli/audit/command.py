"""`kedge audit JOURNAL...`: violations, gaps and the quarantine of journals, as a table, as JSON lines, as a page.

* Exit code 0: no violation. 1: violations. 2: what was given cannot be used, or lines of it are in quarantine and no
  violation was found in the rest: nobody can call that clean.
* A gap is said and is no violation: what is missing is not proved, in neither way.
* Both engines print the same bytes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from controller.cli.audit.engines import Engine, checked, files_of, options, spark
from controller.cli.printing import fail, of_system, one_line, print_rows, say
from controller.cli.progress.waves import read_plans, with_waves
from controller.cli.store.progress import bar
from controller.cli.writable import need_file, need_folder
from pipeline.audit import KINDS, Audit, Violation
from pipeline.audit import audit as audit_here
from pipeline.journal.files import NoJournal
from pipeline.progress import Progress
from pipeline.progress import progress as progress_here
from pipeline.report import audit_page
from pipeline.written import written_as

SAID_MAX: Final = 50
"""Gaps and lines in quarantine that are said one by one; of more it is said how many there are."""


@click.command()
@options
@click.option("--json", "as_json", is_flag=True, help="A line of JSON per violation, gap and line in quarantine.")
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="Write a page of HTML with plots.")
@click.option(
    "--export",
    "exports",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    multiple=True,
    help="A plan that kedge plan export wrote: its waves' expected and real times on the page.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Write the tables as Parquet.")
@click.option("--quiet", is_flag=True, help="No bar on a terminal.")
def audit(
    paths: tuple[Path, ...],
    *,
    engine: str,
    master: str | None,
    remote: str | None,
    remote_timeout: float,
    as_json: bool,
    report: Path | None,
    exports: tuple[Path, ...],
    out: Path | None,
    quiet: bool,
) -> None:
    """Audit journals: was every rule kept, and where does the first event stand that broke one?

    JOURNAL: files of one cluster's journal, and folders of them.
    """
    if exports and report is None:
        raise click.UsageError("--export is for the page that --report writes")
    chosen = checked(Engine(engine, master, remote, remote_timeout))
    files = files_of(paths)
    need_file(report)
    need_folder(out)
    plans = read_plans(exports)
    try:
        found, moves = _run(files, chosen, wants_moves=report is not None, quiet=quiet)
    except NoJournal as error:
        fail(str(error))
    try:
        _write(found, None if moves is None else with_waves(moves, plans), report, out)
    except OSError as error:
        fail(of_system(error))
    except ValueError as error:
        fail(one_line(error))
    except ImportError as error:
        fail(f"tables need the extra kedge[pipeline]: {one_line(error)}")
    print_json(found) if as_json else print_table(found)
    conclude(found)


def _run(files: Sequence[Path], engine: Engine, *, wants_moves: bool, quiet: bool) -> tuple[Audit, Progress | None]:
    if engine.is_local:
        with bar("audit", shown=not quiet) as told:
            found = audit_here(files, told, processes=_processors())
            return found, progress_here(files, told=told) if wants_moves else None
    with spark(engine) as session:
        from pipeline.spark.audit import audit as audit_there  # noqa: PLC0415 - Spark is there, as it is running
        from pipeline.spark.progress import progress as progress_there  # noqa: PLC0415

        return audit_there(session, files), progress_there(session, files) if wants_moves else None


def _processors() -> int:
    """That this process may use; where nobody says, those that there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _write(found: Audit, moves: Progress | None, report: Path | None, out: Path | None) -> None:
    if report is not None:
        page = audit_page(found, moves)
        with written_as(report):
            report.write_text(page, encoding="utf-8")
    if out is not None:
        from pipeline.journal.parquet import write_audit  # noqa: PLC0415 - whoever writes no table needs no Arrow

        write_audit(found, out)


def print_json(found: Audit) -> None:
    """A line each, and one of the whole at the end."""
    for name, rows in (("violation", found.violations), ("gap", found.gaps), ("quarantined", found.quarantine)):
        for row in rows:
            click.echo(_line({name: row._asdict()}))
    counts: dict[str, Any] = found.counts._asdict() | {"events": dict(found.counts.events)}
    totals = {name: len(getattr(found, name)) for name in ("violations", "gaps", "quarantine")}
    click.echo(_line({"summary": {**totals, **counts, "unchecked": dict(found.unchecked)}}))


def _line(said: dict[str, Any]) -> str:
    return json.dumps(said, separators=(",", ":"))


def print_table(found: Audit) -> None:
    """The violations; nothing where there are none."""
    if not found.violations:
        return
    columns = ("kind", "first event", "of", "epoch", "seq", "row", "expected", "got", "line")
    print_rows(columns, map(_cells, found.violations))


def _cells(v: Violation) -> tuple[str, ...]:
    cells = (v.kind, v.event, _of(v), v.controller_epoch, v.seq, v.row, v.expected, v.got)
    return *map(str, cells), f"{Path(v.file).name}:{v.line}"


def _of(v: Violation) -> str:
    topic = "" if v.topic is None else v.topic if v.partition is None else f"{v.topic}-{v.partition}"
    return topic if v.broker_id is None else f"{topic} broker {v.broker_id}".strip()


def conclude(found: Audit) -> None:
    """Gaps and quarantine on stderr, the verdict, and the exit code."""
    for rows, what in ((found.quarantine, "lines in quarantine"), (_told(found), "gaps")):
        for row in rows[:SAID_MAX]:
            say(str(row))
        if len(rows) > SAID_MAX:
            say(f"and {len(rows) - SAID_MAX} more {what}")
    if found.unchecked:
        counts = ", ".join(f"{event} ({count})" for event, count in found.unchecked)
        say(f"no rules for these events, not checked: {counts}")
    counts_said = f"{found.counts.lines} lines of {found.counts.terms} terms in {found.counts.files} files"
    if found.violations:
        first = found.violations[0]
        say(f"{counts_said}: {len(found.violations)} violations; the first: {first} ({KINDS[first.kind]})")
        sys.exit(1)
    if found.quarantine:
        fail(f"{counts_said}: no violation in what can be read; {len(found.quarantine)} lines are in quarantine")
    say(f"{counts_said}: no violation" + (f", {len(found.gaps)} gaps" if found.gaps else ""))


def _told(found: Audit) -> list[Any]:
    """Gaps but those of lines in quarantine, which are said as such."""
    return [gap for gap in found.gaps if gap.kind != "bad line"]
