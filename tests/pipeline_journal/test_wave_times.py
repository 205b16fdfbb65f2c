"""What waves were expected to take against what they took: a plan that is handed over to the rig's controllers, and its
journal, as an operator asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from tests.pipeline_submit.clusters import Made, RigTime, make


def run(made: Made, *arguments: object) -> Result:
    made.close()
    return CliRunner().invoke(kedge, ["journal", "progress", str(made.journal), *map(str, arguments)])


def waves_of(made: Made, *arguments: object) -> list[dict[str, Any]]:
    done = run(made, "--plan", made.folder, "--json", *arguments)
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    waves = [row["wave_calibration"] for row in rows if "wave_calibration" in row]
    assert rows[-1]["summary"]["wave_calibration"] == len(waves)
    return waves


@pytest.mark.slow
def test_each_wave_is_shown_with_its_expected_and_real_time(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.submit()
    expected = made.tables["wave"].to_pylist()
    found = waves_of(made)
    assert [(w["wave"], w["bytes"], w["eta_s"], w["eta_low_s"], w["eta_high_s"]) for w in found] == [
        (w["wave"], w["bytes"], w["eta_s"], w["eta_low_s"], w["eta_high_s"]) for w in expected
    ]
    taken = [event.seconds for event in made.events if event.kind == "wave"]
    for wave, seconds in zip(found, taken, strict=True):  # the submitter looks every 0.2 s, and waits for throttles
        assert 0 < wave["real_s"] <= seconds + 0.3
        assert wave["real_s"] >= wave["eta_low_s"]
        assert wave["ratio"] == pytest.approx(wave["real_s"] / wave["eta_s"], abs=1e-5)
        assert wave["verdict"] == ("late" if wave["real_s"] > wave["eta_high_s"] else "within")
        assert wave["completed"] == wave["moves"] > 0
    starts = [wave["started_ms"] for wave in found]
    assert starts == sorted(starts)


@pytest.mark.slow
def test_a_disk_that_is_slower_than_its_rate_makes_waves_late(tmp_path: Path) -> None:
    """Brokers copy at a tenth of what the throttle allows; the middle is said, and how many were right."""
    made = make(tmp_path, copy_rate_bytes_s=20_000)
    made.submit()
    found = waves_of(made)
    assert {wave["verdict"] for wave in found} == {"late"}
    done = run(made, "--plan", made.folder)
    assert done.exit_code == 0
    assert f"0 of {len(found)} waves took the expected time; real over expected: " in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["plan", "wave", "moves", "bytes", "expected", "took", "real/expected", "verdict"]
    assert [line.split()[:2] for line in lines[1:]] == [["drain", str(wave["wave"])] for wave in found]


def test_waves_that_were_not_begun_or_are_not_over_have_no_ratio(tmp_path: Path) -> None:
    made = make(tmp_path, copy_rate_bytes_s=2_000)

    class Enough(Exception):
        """It has been seen running for long enough."""

    def stop() -> None:
        if any(partition.move for partition in made.rig.committed.partitions.values()):
            raise Enough

    with pytest.raises(Enough):
        made.submit(time=RigTime(made.rig, stop))
    found = waves_of(made)
    assert [wave["verdict"] for wave in found] == ["not over", *["not begun"] * (len(found) - 1)]
    assert all((wave["real_s"], wave["ratio"]) == (None, None) for wave in found)


@pytest.mark.slow
def test_real_time_is_shown_where_no_rates_gave_an_expected_one(tmp_path: Path) -> None:
    made = make(tmp_path, throttle_bps=None, networks=False, per_broker=9)
    made.submit()
    (wave,) = waves_of(made)
    assert (wave["eta_s"], wave["ratio"], wave["verdict"]) == (None, None, "no time expected")
    assert wave["real_s"] > 0


@pytest.mark.slow
def test_repeated_wave_is_shown_with_its_last_time(tmp_path: Path) -> None:
    from kedge.pipeline.submit import roll_back  # noqa: PLC0415 - of this test

    made = make(tmp_path)
    made.submit()
    first = waves_of(made)
    roll_back(made.folder, made.store, made.options())
    made.submit()
    again = waves_of(made)
    assert all(then["ended_ms"] < now["started_ms"] for then, now in zip(first, again, strict=True))
    assert {wave["verdict"] for wave in again} <= {"within", "late"}


@pytest.mark.slow
def test_the_page_of_an_audit_shows_them(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.submit()
    made.close()
    page = tmp_path / "page.html"
    audit = ["journal", "audit", str(made.journal), "--plan", str(made.folder)]
    assert "--report" in CliRunner().invoke(kedge, audit).stderr
    done = CliRunner().invoke(kedge, [*audit, "--report", str(page)])
    assert done.exit_code == 0
    text = page.read_text()
    assert "Expected and real time of waves" in text
    for wave in waves_of(made):
        assert f"drain, wave {wave['wave']}: " in text
        assert f"<td>{wave['verdict']}</td>" in text
    run_without = CliRunner().invoke(kedge, ["journal", "audit", str(made.journal), "--report", str(page)])
    assert run_without.exit_code == 0
    assert "time of waves" not in page.read_text()


@pytest.mark.slow
def test_tables_hold_them_too(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.submit()
    found = waves_of(made, "--out", tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "wave_calibration")
    assert table.to_pylist() == [{"cluster": "kedge", **one} for one in found]


def _changed(folder: Path) -> None:
    (folder / "waves.json").write_text("[]")


def _gone(folder: Path) -> None:
    (folder / "manifest.json").unlink()


@pytest.mark.parametrize(
    "harm,said", [(_changed, "the file differs from the manifest"), (_gone, "expected an export with")]
)
def test_a_folder_that_is_no_export_is_one_line_and_exit_code_2(
    harm: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    made = make(tmp_path)
    made.rig.run(100)
    harm(made.folder)
    done = run(made, "--plan", made.folder)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line


@pytest.mark.full
@pytest.mark.server
def test_spark_says_the_same(tmp_path: Path, spark: object) -> None:
    from kedge.pipeline.journal.files import journal_files  # noqa: PLC0415 - of this test
    from kedge.pipeline.progress import progress  # noqa: PLC0415
    from kedge.pipeline.progress.waves import wave_times  # noqa: PLC0415
    from kedge.pipeline.spark.journals import progress as on_spark  # noqa: PLC0415 - tests without Spark need not import it
    from kedge.pipeline.submit.exported import read_export  # noqa: PLC0415

    made = make(tmp_path)
    made.submit()
    made.close()
    files, plan = journal_files([made.journal]), read_export(made.folder)
    here, there = (wave_times(found.moves, plan) for found in (progress(files), on_spark(spark, files)))  # type: ignore[arg-type]
    assert here == there
    assert {wave.verdict for wave in here} <= {"within", "late"}
