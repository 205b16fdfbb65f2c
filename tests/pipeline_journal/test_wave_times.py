"""What waves were expected to take against what they took, by the journal; and how the commands show it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import Result

from kedge.pipeline.progress import wave_times
from kedge.pipeline.progress.values import Move as Told
from kedge.pipeline.progress.waves import summary_of
from kedge.pipeline.submit.exported import Exported, Move, Wave
from tests.kit.commands import run
from tests.pipeline_journal.journals import a_move
from tests.pipeline_submit.clusters import Made, make

EXPECTED = (2.0, 1.0, 3.0)


def plan_of(*waves: Wave) -> Exported:
    return Exported(Path("plan"), "drain", "c", "", waves)


def wave(eta: tuple[float | None, ...] = EXPECTED) -> Wave:
    """Partitions 0 and 1 go from 1, 2 to 2, 3; of partition 2 only the order changes."""
    copied = [Move("t", number, (1, 2), (2, 3)) for number in (0, 1)]
    return Wave(1, (*copied, Move("t", 2, (1, 2), (2, 1))), {}, 100, *eta)


def both(ended_ms: int | None, started_ms: int = 1_000) -> list[Told]:
    ends = {"ended_ms": ended_ms, "ended": None if ended_ms is None else "completed"}
    return [
        a_move(partition=0, started_ms=started_ms, ended_ms=started_ms + 1, ended="completed"),
        a_move(partition=1, started_ms=started_ms, **ends),
    ]


@pytest.mark.parametrize(
    "moves, eta, real_s, ratio, verdict",
    [
        pytest.param(both(3_000), EXPECTED, 2.0, 1.0, "within", id="within"),
        pytest.param(both(1_500), EXPECTED, 0.5, 0.25, "early", id="early"),
        pytest.param(both(5_000), EXPECTED, 4.0, 2.0, "late", id="late"),
        pytest.param(both(None), EXPECTED, None, None, "not over", id="runs"),
        pytest.param(both(3_000)[:1], EXPECTED, None, None, "not over", id="half begun"),
        pytest.param([], EXPECTED, None, None, "not begun", id="not begun"),
        pytest.param(both(3_000), (None,) * 3, 2.0, None, "no time expected", id="not throttled"),
        pytest.param([*both(3_000), *both(9_000, 8_000)], EXPECTED, 1.0, 0.5, "within", id="repeated"),
        pytest.param(
            [one._replace(target=(4, 5)) for one in both(3_000)], EXPECTED, None, None, "not begun", id="other"
        ),
    ],
)
def test_real_time_of_a_wave_is_compared_with_the_expected_one(
    moves: list[Told], eta: tuple[float | None, ...], real_s: float | None, ratio: float | None, verdict: str
) -> None:
    (found,) = wave_times(moves, plan_of(wave(eta)))
    assert (found.moves, found.real_s, found.ratio, found.verdict) == (2, real_s, ratio, verdict)


def test_the_summary_has_the_ratios_of_finished_waves() -> None:
    within, late = wave(), wave((1.0, 0.5, 1.5))
    found = summary_of(wave_times(both(3_000), plan_of(within, late, wave((None,) * 3))))
    assert found == (2, 1, 1.0, 2.0, 2.0)
    assert summary_of(wave_times([], plan_of(wave()))) is None


def shown(made: Made, *arguments: object) -> Result:
    made.close()
    return run("journal", *arguments[:1], made.journal, "--plan", made.folder, *arguments[1:])


@pytest.mark.slow
def test_waves_are_shown_with_their_real_time_as_text_json_tables_and_page(tmp_path: Path) -> None:
    """Brokers copy at a tenth of what the throttle allows."""
    made = make(tmp_path, copy_rate_bytes_s=20_000)
    made.submit()
    rows = [
        json.loads(line) for line in shown(made, "progress", "--json", "--out", tmp_path / "out").stdout.splitlines()
    ]
    found: list[dict[str, Any]] = [row["wave_calibration"] for row in rows if "wave_calibration" in row]
    expected = [(row["wave"], row["bytes"], row["eta_s"]) for row in made.tables["wave"].to_pylist()]
    assert [(row["wave"], row["bytes"], row["eta_s"]) for row in found] == expected
    assert {row["verdict"] for row in found} == {"late"}
    table = pq.read_table(tmp_path / "out" / "wave_calibration").to_pylist()
    assert table == [{"cluster": "kedge", **row} for row in found]
    done = shown(made, "progress")
    assert f"0 of {len(found)} waves took the expected time; real over expected: " in done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [["drain", str(row["wave"])] for row in found]
    page = tmp_path / "page.html"
    assert "--report" in shown(made, "audit").stderr
    assert shown(made, "audit", "--report", page).exit_code == 0
    assert "Expected and real time of waves" in page.read_text()
    assert f"drain, wave {found[-1]['wave']}: " in page.read_text()


@pytest.mark.parametrize(
    "harm, message",
    [
        (lambda folder: (folder / "waves.json").write_text("[]"), "the file differs from the manifest"),
        (lambda folder: (folder / "manifest.json").unlink(), "expected an export with"),
    ],
    ids=["changed", "no manifest"],
)
def test_a_folder_that_is_no_export_is_one_line_and_exit_code_2(
    harm: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    made = make(tmp_path)
    harm(made.folder)
    done = shown(made, "progress")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
