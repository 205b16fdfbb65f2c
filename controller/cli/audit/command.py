"""`kedge journal audit`: violations, gaps and the quarantine of journals, as a table, JSON lines or an HTML page.

A gap is printed and is not a violation: what is missing proves nothing. Both engines print the same bytes. --follow is
a stream on Spark (follow.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from controller.cli.audit.engines import (
    Engine,
    export_option,
    journals_in,
    of_cluster,
    options,
    out_option,
    settled,
    spark,
)
from controller.cli.audit.follow import Wanted
from controller.cli.audit.follow import follow as run_follow
from controller.cli.audit.printing import conclude, print_json, print_table
from controller.cli.options import command, group, json_option, option, quiet_option
from controller.cli.printing import fail, need_file, need_folder, of_system, one_line
from controller.cli.progress.command import read_plans, with_waves
from controller.cli.store.opening import bar
from pipeline.audit import Audit
from pipeline.audit import audit as audit_here
from pipeline.journal.files import NoJournal
from pipeline.progress import Progress
from pipeline.progress import progress as progress_here
from pipeline.report import audit_page
from pipeline.written import written_as


@command("audit", example="kedge journal audit journals/ --report audit.html")
@option("--cluster", metavar="ID", none="all", help="Cluster to audit.")
@option("--report", type=click.Path(path_type=Path), help="HTML page with plots to write.")
@export_option("Exported plan; the page compares expected and real times.")
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
    violation with the first event that broke a rule. Gaps and lines that cannot be read (the quarantine) go to stderr.

    Exit code: 0 no violation; 1 violations; 2 the input cannot be used, or lines are in quarantine.
    """
    if follow != (checkpoint is not None) or (once and not follow):
        raise click.UsageError("--follow needs --checkpoint, and --checkpoint and --once need --follow")
    if exports and report is None:
        raise click.UsageError("--export needs --report")
    if checkpoint is not None:
        if report is not None:
            raise click.UsageError("--report and --follow exclude each other: the page needs a whole journal")
        run_follow(Wanted(paths, checkpoint, cluster, out, as_json, once), engine)
    chosen = settled(engine)
    files = of_cluster(journals_in(paths), cluster)
    if report is not None and len(files) > 1:
        fail(f"--report: expected one cluster, got {len(files)}; choose one with --cluster: {', '.join(files)}")
    need_file(report)
    need_folder(out)
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
    except ImportError as error:
        fail(f"tables need the extra kedge[pipeline]: {one_line(error)}")
    print_json(found) if as_json else print_table(found)
    conclude(found)


def _run(
    journals: Mapping[str, Sequence[Path]], engine: Engine, *, wants_moves: bool
) -> tuple[dict[str, Audit], Progress | None]:
    """The audits by cluster, and the moves of the only one."""
    first = next(iter(journals.values()))
    if engine.is_local:
        with bar("audit") as told:
            found = {one: audit_here(files, told, processes=_processors()) for one, files in journals.items()}
            return found, progress_here(first, told=told) if wants_moves else None
    with spark(engine) as session:
        from pipeline.spark.audit import audits as audits_there  # noqa: PLC0415 - Spark is there, as it is running
        from pipeline.spark.progress import progress as progress_there  # noqa: PLC0415

        return audits_there(session, journals), progress_there(session, first) if wants_moves else None


def _processors() -> int:
    """How many this process may use; all of the machine where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _write(found: Mapping[str, Audit], moves: Progress | None, report: Path | None, out: Path | None) -> None:
    if report is not None:
        (only,) = found.values()
        page = audit_page(only, moves)
        with written_as(report):
            report.write_text(page, encoding="utf-8")
    if out is not None:
        from pipeline.journal.parquet import write_audits  # noqa: PLC0415 - whoever writes no table needs no Arrow

        write_audits(found, out)
