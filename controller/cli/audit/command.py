"""`kedge audit JOURNAL...`: violations, gaps and the quarantine of journals, as a table, as JSON lines, as a page.

* Exit code 0: no violation. 1: violations. 2: what was given cannot be used, or lines of it are in quarantine and no
  violation was found in the rest: nobody can call that clean.
* A gap is said and is no violation: what is missing is not proved, in neither way.
* Both engines print the same bytes. `--follow` is a stream on Spark: `controller.cli.audit.follow`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from controller.cli.audit.engines import Engine, checked, journals_in, of_cluster, options, settled, spark
from controller.cli.audit.follow import Wanted
from controller.cli.audit.follow import follow as run_follow
from controller.cli.audit.printing import conclude, print_json, print_table
from controller.cli.extras import need
from controller.cli.printing import fail, need_file, need_folder, of_system, one_line
from controller.cli.store.opening import bar
from pipeline.audit import Audit
from pipeline.audit import audit as audit_here
from pipeline.journal.files import NoJournal
from pipeline.progress import Progress
from pipeline.progress import progress as progress_here
from pipeline.report import audit_page
from pipeline.written import written_as


@click.command()
@options
@click.option("--cluster", metavar="ID", help="Audit only this cluster. Default: every cluster that is found.")
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
@click.option("--follow", is_flag=True, help="Print violations as they come, as a stream on Spark; with --checkpoint.")
@click.option(
    "--checkpoint",
    metavar="FOLDER",
    help="Where --follow notes how far it is: a folder of its own, or an URL that Spark writes to.",
)
@click.option("--once", is_flag=True, help="With --follow: audit what came since the last time, and end.")
def audit(
    paths: tuple[Path, ...],
    *,
    engine: str,
    master: str | None,
    remote: str | None,
    remote_timeout: float,
    conf: tuple[tuple[str, str], ...],
    packages: str | None,
    cluster: str | None,
    as_json: bool,
    report: Path | None,
    exports: tuple[Path, ...],
    out: Path | None,
    quiet: bool,
    follow: bool,
    checkpoint: str | None,
    once: bool,
) -> None:
    """Audit journals: was every rule kept, and where does the first event stand that broke one?

    JOURNAL: files of journals, and folders of them. A folder may have a folder cluster=ID for each cluster.
    """
    if follow != (checkpoint is not None) or (once and not follow):
        raise click.UsageError("--follow and --checkpoint go together; --once is for --follow")
    if exports and report is None:
        raise click.UsageError("--export is for the page that --report writes")
    from controller.cli.progress.command import read_plans, with_waves  # noqa: PLC0415 - it imports this package

    asked = checked(Engine(engine, master, remote, remote_timeout, conf, packages))
    if checkpoint is not None:
        if report is not None:
            raise click.UsageError("--report is a page of a whole journal, which --follow does not read")
        run_follow(Wanted(paths, checkpoint, cluster, out, as_json, once), asked)
    chosen = settled(asked)
    files = of_cluster(journals_in(paths), cluster)
    if report is not None and len(files) > 1:
        fail(f"--report is a page of one cluster; name one with --cluster: {', '.join(files)}")
    need_file(report)
    need_folder(out)
    if out is not None:
        need("pipeline")
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
    print_json(found) if as_json else print_table(found)
    conclude(found)


def _run(
    journals: Mapping[str, Sequence[Path]], engine: Engine, *, wants_moves: bool, quiet: bool
) -> tuple[dict[str, Audit], Progress | None]:
    """The audits by cluster, and the moves of the only one."""
    first = next(iter(journals.values()))
    if engine.is_local:
        with bar("audit", shown=not quiet) as told:
            found = {one: audit_here(files, told, processes=_processors()) for one, files in journals.items()}
            return found, progress_here(first, told=told) if wants_moves else None
    with spark(engine) as session:
        from pipeline.spark.audit import audits as audits_there  # noqa: PLC0415 - Spark is there, as it is running
        from pipeline.spark.progress import progress as progress_there  # noqa: PLC0415

        return audits_there(session, journals), progress_there(session, first) if wants_moves else None


def _processors() -> int:
    """That this process may use; where nobody says, those that there are."""
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
