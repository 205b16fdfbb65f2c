"""`kedge journal progress`: running reassignments, how far each is, which are stuck and why, and the remaining time."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from ....pipeline.amounts import duration
from ....pipeline.cautions import known_amount
from ....pipeline.journal.files import NoJournal
from ....pipeline.progress import BadSamples, Move, Progress, Samples, read_samples
from ....pipeline.progress import progress as progress_here
from ....pipeline.progress.conclusions import STUCK_MS
from ....pipeline.progress.values import WaveTime
from ....pipeline.progress.waves import summary_of, wave_times
from ...model.plural import counted
from ..copying import copied
from ..engines import LOCAL, Engine, journals_in, need_one, of_cluster, options, out_option, plan_option, settled, spark
from ..extras import need
from ..options import Moment, command, json_option, option, quiet_option
from ..printing import compact, fail, need_folder, of_system, one_line, print_by_cluster, say, utc
from ..store.opening import bar

if TYPE_CHECKING:
    from ....pipeline.submit.exported import Exported


Journals: TypeAlias = Mapping[str, Sequence[Path]]
"""The files of each cluster."""
_FOLDER: Final = click.Path(path_type=Path)


@command("progress", example="kedge journal progress journals/ --samples tables")
@option("--cluster", metavar="ID", none="all", help="Cluster to show, of journals and samples.")
@option("--as-of", metavar="TIME", type=Moment(), none="the last row", help="Time to show: 2026-11-28T12:00:00Z.")
@option(
    "--stuck-after",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=STUCK_MS / 1000,
    help="Seconds without progress after which a move is stuck.",
)
@option("--samples", type=_FOLDER, metavar="FOLDER", help="Tables of `kedge plan collect`: sizes, rates and disks.")
@option("--snapshot", metavar="ID", none="the newest", help="Snapshot of --samples.")
@plan_option("Exported plan; shows expected and real times of its waves.")
@out_option
@json_option("Print one JSON line per row of every table.")
@quiet_option
@options
def progress(
    paths: tuple[Path, ...],
    *,
    engine: Engine,
    samples: Path | None,
    cluster: str | None,
    snapshot: str | None,
    as_of: int | None,
    stuck_after: float,
    exports: tuple[Path, ...],
    as_json: bool,
    out: Path | None,
) -> None:
    """Show how far each move is, which moves are stuck, and the remaining time.

    JOURNAL is a file, or a folder of files; a folder may hold a folder cluster=ID for each cluster. Prints a row for
    each running reassignment. Bytes and remaining times need --samples.

    Exit code: 0 no move is stuck; 1 a move is stuck; 2 the input cannot be used, or lines were rejected.
    """
    chosen = settled(engine)
    if samples is None and snapshot is not None:
        fail("--snapshot needs --samples")
    files = journals_in(paths)
    if samples is None or len(files) > 1:  # else a cluster may be named of the samples alone
        files = of_cluster(files, cluster)
    if exports:
        need_one("--plan", files)
    need_folder(out)
    if samples is not None or out is not None:
        need("pipeline")
    plans = read_plans(exports)
    try:
        given = {} if samples is None else _samples(samples, files, cluster, snapshot)
        asked = {"as_of_ms": as_of, "stuck_ms": round(stuck_after * 1000)}
        run = _run(files, chosen, given, asked)
        found = {name: with_waves(one, plans) for name, one in run.items()}
        if out is not None:
            from ....pipeline.journal.parquet import write_progress  # noqa: PLC0415 - as for the audit

            write_progress(found, out)
    except OSError as error:
        fail(of_system(error))
    except (NoJournal, BadSamples) as error:
        fail(one_line(error))
    if as_json:
        print_json(found)
    else:
        print_tables(found)
        print_waves({name: one.waves for name, one in found.items()})
    conclude(found)


def _samples(folder: Path, files: Journals, cluster: str | None, snapshot: str | None) -> dict[str, Samples]:
    """Of one cluster those that are named, or the only ones there; of several those of each."""
    several = len(files) > 1
    return {name: read_samples(folder, name if several else cluster, snapshot) for name in files}


def _run(
    journals: Journals, engine: Engine, samples: Mapping[str, Samples], asked: dict[str, Any]
) -> dict[str, Progress]:
    if engine == LOCAL:
        with bar("progress") as told:
            return {one: progress_here(files, samples.get(one), told=told, **asked) for one, files in journals.items()}
    with spark() as session:
        from ....pipeline.spark.journals import progresses  # noqa: PLC0415 - Spark is running

        return progresses(session, journals, samples, **asked)


def print_json(found: Mapping[str, Progress]) -> None:
    """A line per row, under the name of its table, and one of the whole at the end; with the cluster, where there are
    several."""
    for cluster, one in found.items():
        whose = {"cluster": cluster} if len(found) > 1 else {}
        tables: dict[str, Sequence[Any]] = {
            "progress": one.moves,
            "stuck": one.stuck,
            "broker_reassignment": one.series,
            "eta_calibration": one.calibration,
            "wave_calibration": one.waves,
            "rejected_row": one.rejected_rows,
        }
        for name, rows in tables.items():
            for row in rows:
                click.echo(compact({**whose, name: row._asdict()}))
        counts = {name: len(rows) for name, rows in tables.items()}
        whole = {"as_of_ms": one.as_of_ms, "step_ms": one.step_ms, **counts}
        click.echo(compact({**whose, "summary": whole}))


def print_tables(found: Mapping[str, Progress]) -> None:
    columns = ("partition", "target", "in sync", "waiting on", "bytes", "since", "expected", "stuck")
    print_by_cluster(columns, {cluster: _rows(one) for cluster, one in found.items()})


def _rows(found: Progress) -> list[tuple[str, ...]]:
    causes = {(s.topic, s.partition): ", ".join(s.causes) for s in found.stuck}
    running = (move for move in found.moves if move.ended is None)
    return [(*_cells(move), causes.get((move.topic, move.partition), "")) for move in running]


def _cells(move: Move) -> tuple[str, ...]:
    return (
        f"{move.topic}-{move.partition}",
        compact(move.target),
        f"{move.joined}/{len(move.adding)}",
        compact(move.waiting_on),
        copied(move.copy),
        utc(move.started_ms),
        "" if move.eta_ms is None else utc(move.eta_ms),
    )


def conclude(found: Mapping[str, Progress]) -> None:
    """The summary of each cluster on stderr, and the exit code of the worst."""
    for cluster, one in found.items():
        _sum(one, f"{cluster}: " if len(found) > 1 else "")
    if held := sum(len(one.rejected_rows) for one in found.values()):
        fail(counted(held, "rejected line"))
    if any(one.stuck for one in found.values()):
        sys.exit(1)


def _sum(found: Progress, whose: str) -> None:
    for one in found.rejected_rows[:50]:
        say(f"{whose}{one}")
    running = sum(move.ended is None for move in found.moves)
    ratios = sorted(one.ratio for one in found.calibration)
    learned = f"; real over predicted time: median {ratios[len(ratios) // 2]:g}" if ratios else ""
    counts = f"{counted(running, 'running move')}, {len(found.stuck)} stuck; {len(found.moves) - running} ended"
    say(f"{whose}as of {utc(found.as_of_ms)}: {counts}{learned}{said_of(found.waves)}")


_COLUMNS = ("plan", "wave", "moves", "bytes", "expected", "took", "real/expected", "verdict")


def read_plans(exports: Sequence[Path]) -> list[Exported]:
    if not exports:
        return []
    need("pipeline")
    from ....pipeline.errors import BadInput  # noqa: PLC0415 - Arrow is needed only with a plan
    from ....pipeline.submit.exported import read_export  # noqa: PLC0415

    try:
        return [read_export(folder) for folder in exports]
    except BadInput as error:
        fail(one_line(error))


def with_waves(found: Progress, plans: Sequence[Exported]) -> Progress:
    return found._replace(waves=tuple(time for plan in plans for time in wave_times(found.moves, plan)))


def print_waves(waves: Mapping[str, Sequence[WaveTime]]) -> None:
    print_by_cluster(_COLUMNS, {cluster: [_wave_cells(wave) for wave in some] for cluster, some in waves.items()})


def _wave_cells(wave: WaveTime) -> tuple[str, ...]:
    expected = ""
    if wave.eta_s is not None and wave.eta_low_s is not None and wave.eta_high_s is not None:
        expected = f"{duration(wave.eta_s)} ({duration(wave.eta_low_s)} to {duration(wave.eta_high_s)})"
    return (
        wave.plan,
        str(wave.wave),
        f"{wave.completed}/{wave.moves}",
        known_amount(wave.bytes),
        expected,
        "" if wave.real_s is None else duration(wave.real_s),
        "" if wave.ratio is None else f"{wave.ratio:.2f}",
        wave.verdict,
    )


def said_of(waves: Sequence[WaveTime]) -> str:
    """How exact the expected times were, as a part of a sentence; empty where no wave has ended."""
    found = summary_of(waves)
    if found is None:
        return ""
    ratios = f"median {found.median:.2f}, {found.lowest:.2f} to {found.highest:.2f}"
    return f"; {found.within} of {counted(found.waves, 'wave')} took the expected time; real over expected: {ratios}"
