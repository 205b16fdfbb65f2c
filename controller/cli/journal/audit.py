"""`kedge journal audit`: violations, gaps and rejected lines of journals, as a table, JSON lines or an HTML page.

A gap is printed and is not a violation: what is missing proves nothing. Both engines print the same bytes. --follow is
a stream on Spark (follow.py).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from ....pipeline.audit import KINDS, Audit
from ....pipeline.audit import audit as audit_here
from ....pipeline.audit.values import VIOLATION_COLUMNS
from ....pipeline.journal.files import NoJournal
from ....pipeline.progress import Progress
from ....pipeline.progress import progress as progress_here
from ....pipeline.report import audit_page
from ....pipeline.written import written_as
from ...model.plural import counted
from ..engines import LOCAL, Engine, journals_in, need_one, of_cluster, options, out_option, plan_option, settled, spark
from ..extras import need
from ..options import command, group, json_option, option, quiet_option
from ..printing import compact, fail, need_file, need_folder, of_system, one_line, print_by_cluster, say
from ..store.opening import bar
from .follow import Wanted
from .follow import follow as run_follow
from .progress import read_plans, with_waves

SAID_MAX: Final = 50
"""Gaps and rejected lines that are printed one by one; of more their number is printed."""

Audits = Mapping[str, Audit]
"""By cluster. Where there are several, each line names its own."""


@command("audit", example="kedge journal audit journals/ --report audit.html")
@option("--cluster", metavar="ID", none="all", help="Cluster to audit.")
@option("--report", type=click.Path(path_type=Path), help="HTML page with plots to write.")
@plan_option("Exported plan; the page compares expected and real times.")
@group(
    "Follow a journal that grows (on Spark)",
    option("--follow", is_flag=True, help="Print violations as they come. Needs --checkpoint."),
    option("--checkpoint", metavar="FOLDER", help="Folder, or URL that Spark writes to, for the state of --follow."),
    option("--once", is_flag=True, help="With --follow: audit what is new, and end."),
)
@out_option
@json_option("Print one JSON line per violation, gap and bad line.")
@quiet_option
@options
def audit(
    paths: tuple[Path, ...],
    *,
    engine: Engine,
    cluster: str | None,
    as_json: bool,
    report: Path | None,
    exports: tuple[Path, ...],
    out: Path | None,
    follow: bool,
    checkpoint: str | None,
    once: bool,
) -> None:
    """Check every line against the rules of the controller, and report violations.

    JOURNAL is a file, or a folder of files; a folder may hold a folder cluster=ID for each cluster. Prints each
    violation with the first event that broke a rule. Gaps and lines that cannot be read (rejected lines) go to stderr.

    Exit code: 0 no violation; 1 violations; 2 the input cannot be used, or lines were rejected.
    """
    if follow != (checkpoint is not None) or (once and not follow):
        raise click.UsageError("--follow needs --checkpoint, and --checkpoint and --once need --follow")
    if exports and report is None:
        raise click.UsageError("--plan needs --report")
    if checkpoint is not None:
        if report is not None:
            raise click.UsageError("--report and --follow exclude each other: the page needs a whole journal")
        run_follow(Wanted(paths, checkpoint, cluster, out, as_json, once), engine)
    chosen = settled(engine)
    files = of_cluster(journals_in(paths), cluster)
    if report is not None:
        need_one("--report", files)
    need_file(report)
    need_folder(out)
    if out is not None:
        need("pipeline")
    plans = read_plans(exports)
    try:
        found, moves = _run(files, chosen, wants_moves=report is not None)
    except NoJournal as error:
        fail(str(error))
    try:
        _write(found, None if moves is None else with_waves(moves, plans), report, out)
    except OSError as error:
        fail(of_system(error))
    except ValueError as error:
        fail(one_line(error))
    print_json(found) if as_json else print_table(found)
    conclude(found)


def _run(
    journals: Mapping[str, Sequence[Path]], engine: Engine, *, wants_moves: bool
) -> tuple[dict[str, Audit], Progress | None]:
    first = next(iter(journals.values()))
    if engine == LOCAL:
        with bar("audit") as told:
            found = {one: audit_here(files, told) for one, files in journals.items()}
            return found, progress_here(first, told=told) if wants_moves else None
    with spark() as session:
        from ....pipeline.spark.journals import audits as audits_there  # noqa: PLC0415 - Spark is there, as it is running
        from ....pipeline.spark.journals import progresses  # noqa: PLC0415

        found = audits_there(session, journals)
        return found, progresses(session, {"": first}, {})[""] if wants_moves else None


def _write(found: Mapping[str, Audit], moves: Progress | None, report: Path | None, out: Path | None) -> None:
    if report is not None:
        (only,) = found.values()
        page = audit_page(only, moves)
        with written_as(report):
            report.write_text(page, encoding="utf-8")
    if out is not None:
        from ....pipeline.journal.parquet import write_audits  # noqa: PLC0415 - Arrow is needed only for tables

        write_audits(found, out)


def print_json(audits: Audits) -> None:
    for cluster, found in audits.items():
        whose = {"cluster": cluster} if len(audits) > 1 else {}
        for name, rows in (("violation", found.violations), ("gap", found.gaps), ("rejected_row", found.rejected_rows)):
            for row in rows:
                click.echo(compact({**whose, name: row._asdict()}))
        counts: dict[str, Any] = found.counts._asdict() | {"events": dict(found.counts.events)}
        totals = {name: len(getattr(found, name)) for name in ("violations", "gaps", "rejected_rows")}
        click.echo(compact({**whose, "summary": {**totals, **counts, "unchecked": dict(found.unchecked)}}))


def print_table(audits: Audits) -> None:
    rows = {cluster: [tuple(map(str, v.cells)) for v in found.violations] for cluster, found in audits.items()}
    print_by_cluster(VIOLATION_COLUMNS, rows)


def conclude(audits: Audits) -> None:
    """Gaps and rejected lines on stderr, the verdict of each cluster, and the exit code of the worst."""
    for cluster, found in audits.items():
        _verdict(found, f"{cluster}: " if len(audits) > 1 else "")
    if any(found.violations for found in audits.values()):
        sys.exit(1)
    if any(found.rejected_rows for found in audits.values()):
        sys.exit(2)


def _verdict(found: Audit, whose: str) -> None:
    for rows, what in ((found.rejected_rows, "more rejected line"), (_told(found), "more gap")):
        for row in rows[:SAID_MAX]:
            say(f"{whose}{row}")
        if len(rows) > SAID_MAX:
            say(f"{whose}and {len(rows) - SAID_MAX} {what}")
    if found.unchecked:
        events = ", ".join(f"{event} ({count})" for event, count in found.unchecked)
        say(f"{whose}not checked, because no rule covers these events: {events}")
    counts = found.counts
    read = f"{counted(counts.lines, 'line')} of {counted(counts.terms, 'term')} in {counted(counts.files, 'file')}"
    if found.violations:
        first = found.violations[0]
        number = counted(len(found.violations), "violation")
        say(f"{whose}{read}: {number}; the first: {first} ({KINDS[first.kind]})")
    elif found.rejected_rows:
        bad = counted(len(found.rejected_rows), "rejected line")
        say(f"{whose}{read}: no violation in what can be read; {bad}")
    else:
        say(f"{whose}{read}: no violation" + (f", {counted(len(found.gaps), 'gap')}" if found.gaps else ""))


def _told(found: Audit) -> list[Any]:
    return [gap for gap in found.gaps if gap.kind != "bad line"]
