"""The waves of exported plans: what each was expected to take, and what it took by the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from controller.cli.audit.printing import print_by_cluster
from controller.cli.printing import fail, one_line
from pipeline.amounts import duration
from pipeline.cautions import known_amount
from pipeline.progress.values import Progress, WaveTime
from pipeline.progress.waves import summary_of, wave_times

if TYPE_CHECKING:
    from pipeline.submit.exported import Exported

_COLUMNS = ("plan", "wave", "moves", "bytes", "expected", "took", "real/expected", "verdict")


def read_plans(exports: Sequence[Path]) -> list[Exported]:
    """The plans in these folders. A folder that is no export is exit code 2."""
    if not exports:
        return []
    from pipeline.errors import BadInput  # noqa: PLC0415 - whoever names no plan needs no Arrow
    from pipeline.submit.exported import read_export  # noqa: PLC0415

    try:
        return [read_export(folder) for folder in exports]
    except BadInput as error:
        fail(one_line(error))


def with_waves(found: Progress, plans: Sequence[Exported]) -> Progress:
    """What was found, with the waves of these plans."""
    return found._replace(waves=tuple(time for plan in plans for time in wave_times(found.moves, plan)))


def print_waves(waves: Mapping[str, Sequence[WaveTime]]) -> None:
    """A row per wave, by cluster; nothing where there are none."""
    print_by_cluster(_COLUMNS, {cluster: [_cells(wave) for wave in some] for cluster, some in waves.items()})


def _cells(wave: WaveTime) -> tuple[str, ...]:
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
    """How right the times were, as a part of a sentence; nothing where none can be told."""
    found = summary_of(waves)
    if found is None:
        return ""
    ratios = f"{found.median:.2f} in the middle, {found.lowest:.2f} to {found.highest:.2f}"
    return f"; {found.within} of {found.waves} waves took what was expected; real over expected: {ratios}"
