"""`kedge journal audit --follow` on a real Spark finds what one pass finds, whatever ends the stream meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.pipeline.audit import audit
from kedge.pipeline.errors import EngineFailed
from kedge.pipeline.journal.files import journal_files
from kedge.pipeline.journal.parquet import write_batch
from tests.pipeline_journal.journals import (
    completed_early,
    leader_epoch_back,
    seeded,
    status_back,
    throttle_left,
    topic_twice,
    write,
    written,
    written_by_a_zombie,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kedge.pipeline.spark.follow import Batch

pytestmark = [pytest.mark.full, pytest.mark.server]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
DEADLINE_S = 240
Place = tuple[str, str, int]


def broken(folder: Path, *, lines_max: int = 12) -> list[Path]:
    """The files of a journal of several terms and files, with violations of many kinds."""
    rows = written()
    for plant in (completed_early, leader_epoch_back, throttle_left, topic_twice, status_back, written_by_a_zombie):
        plant(rows)
    return write(folder, rows, lines_max)


def expected(files: Sequence[Path]) -> list[Place]:
    found = sorted((v.kind, v.file, v.line) for v in audit(files).violations)
    assert len({kind for kind, _, _ in found}) >= 5
    return found


def table(out: Path) -> list[Place]:
    """What stands in the table of violations."""
    rows = pq.read_table(out / "audit_violation").to_pylist()
    return sorted((row["kind"], row["file"], row["line"]) for row in rows)


class Killed(Exception):
    """The stream ends here, as if its process had been killed."""


@pytest.mark.checklist(243)
def test_a_stream_that_ends_at_random_points_finds_what_one_pass_finds(spark: SparkSession, tmp_path: Path) -> None:
    """Batches of random sizes; five of them end before what they found is written, or after it and before Spark notes
    them. Each is done again. The table holds each violation once."""
    from kedge.pipeline.spark.follow import start, wait  # noqa: PLC0415 - as below: not every Python of a run has PySpark

    files = broken(tmp_path / "journal")
    chooser, out = random.Random(7), tmp_path / "out"
    ran: list[int] = []
    ends: list[Killed] = []

    def end() -> None:
        ends.append(Killed())
        raise ends[-1]

    def take(number: int, batch: Batch) -> None:
        at = chooser.choice(("before", "after", "never"))
        if at == "before" and len(ends) < 5:
            end()
        write_batch({cluster: said for cluster, (_, said) in batch.items()}, out, f"{number}")
        if at == "after" and len(ends) < 5:
            end()
        ran.append(number)

    for _ in range(50):
        size = chooser.randrange(4, 17)
        paths, checkpoint = [str(tmp_path / "journal")], str(tmp_path / "checkpoint")
        query = start(spark, paths, checkpoint, take, once=True, lines_max=size)
        before = len(ends)
        with suppress(EngineFailed):
            wait(query, Event())
        if len(ends) == before:
            break
    assert len(ends) == 5
    assert ran == sorted(set(ran))
    assert table(out) == expected(files)
    assert spark.conf.get(PROVIDER, None) is None


@pytest.mark.usefixtures("spark")
def test_clusters_are_followed_apart(tmp_path: Path) -> None:
    """Their files have the same names, and their rows the same topics."""
    west = broken(tmp_path / "journal" / "cluster=west")
    seeded(tmp_path / "journal" / "cluster=east", 301, 200)
    done = follow(tmp_path, "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(one["cluster"], one["violation"]["kind"]) for one in said if "violation" in one]
    assert sorted(kind for _, kind in found) == sorted(v.kind for v in audit(west).violations)
    assert {cluster for cluster, _ in found} == {"west"}


def follow(folder: Path, *options: str) -> Result:
    """The command in this process, whose session is active."""
    arguments = ["journal", "audit", str(folder / "journal"), "--engine", "spark", "--follow", "--once"]
    return CliRunner().invoke(kedge, [*arguments, "--checkpoint", str(folder / "checkpoint"), *options])


@pytest.mark.usefixtures("spark")
def test_a_scheduler_hears_of_each_violation_once(tmp_path: Path) -> None:
    """`--once` ends with what is there; the next time it goes on behind it, with files that came."""
    files = broken(tmp_path / "aside")
    (tmp_path / "journal").mkdir()
    found = []
    for some in (files[:3], files[3:], ()):
        for file in some:
            shutil.copy(file, tmp_path / "journal")
        done = follow(tmp_path)
        lines = done.stdout.splitlines()
        assert done.exit_code == (1 if lines else 0), done.stderr
        said = f"{len(lines)} violations" if lines else "no violation"
        assert done.stderr.splitlines()[-1].endswith(f" lines: {said}")
        found += lines
    there = journal_files([tmp_path / "journal"])
    assert sorted(found) == sorted(f"kedge: {violation}" for violation in audit(there).violations)


@pytest.mark.usefixtures("spark")
def test_lines_that_cannot_be_read_are_rejected(tmp_path: Path) -> None:
    rows = written()
    rows[3]["ts"] = "noon"
    file, *_ = write(tmp_path / "journal", rows)
    done = follow(tmp_path, "--out", str(tmp_path / "out"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{file}:4: rejected" in done.stderr
    assert pq.read_table(tmp_path / "out" / "rejected_rows").num_rows == 1
    assert not (tmp_path / "out" / "audit_violation").exists()


@pytest.mark.usefixtures("spark")
def test_tables_that_cannot_be_written_are_one_line_and_the_batch_is_done_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = broken(tmp_path / "journal")
    blocked = tmp_path / "out" / "audit_violation"
    blocked.parent.mkdir()
    blocked.touch()
    done = follow(tmp_path, "--out", str(blocked.parent))
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kedge: {blocked}/part-")
    assert "Traceback" not in "".join(capfd.readouterr())
    blocked.unlink()
    assert follow(tmp_path, "--out", str(blocked.parent)).exit_code == 1
    assert table(blocked.parent) == expected(files)


def late_once(folder: Path) -> Path:
    """A Python that lists files a second after Spark gave up on it, the first time: as on a busy machine."""
    program = folder / "python"
    late = f"case $* in *streaming*) mkdir {folder}/late 2>/dev/null && sleep 11;; esac"
    program.write_text(f'#!/bin/sh\n{late}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program


def running(folder: Path) -> subprocess.Popen[str]:
    """The command in a process of its own, with a Spark of its own."""
    command = [
        sys.executable,
        "-c",
        "from kedge.controller.cli import main; main()",
        "journal",
        "audit",
        str(folder / "journal"),
    ]
    following = ["--follow", "--checkpoint", str(folder / "checkpoint"), "--out", str(folder / "out")]
    session = "--master local[1] --conf spark.sql.shuffle.partitions=1 pyspark-shell"
    python = {"PYSPARK_PYTHON": str(late_once(folder))}
    environment = {**os.environ, **python, "TMPDIR": str(folder), "PYSPARK_SUBMIT_ARGS": session}
    return subprocess.Popen(
        [*command, *following, "--engine", "spark"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def until(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not what():
        if process.poll() is not None:
            pytest.fail(f"exit code {process.returncode}: {process.communicate()[1]}")
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.checklist(243)
def test_the_command_that_is_killed_goes_on_and_ends_cleanly_by_a_signal(tmp_path: Path) -> None:
    """A first Python that is late, SIGKILL while a batch runs; files come all the while. Then SIGTERM."""
    files = broken(tmp_path / "aside")
    journal, checkpoint = tmp_path / "journal", tmp_path / "checkpoint"
    journal.mkdir()
    for file in files[:4]:
        shutil.copy(file, journal)
    process = running(tmp_path)
    until((checkpoint / "offsets" / "0").exists, process)
    assert (tmp_path / "late").exists()
    process.kill()
    process.communicate()
    for file in files[4:]:
        shutil.copy(file, journal)
    process = running(tmp_path)
    there = expected(journal_files([journal]))
    until(
        lambda: (tmp_path / "out" / "audit_violation").exists() and len(table(tmp_path / "out")) >= len(there), process
    )
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1, stderr
    assert stdout
    assert "Traceback" not in stderr
    assert table(tmp_path / "out") == there
