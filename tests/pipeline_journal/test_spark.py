"""The source and the audit on a real Spark: the same as in this process, to the byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from kedge.pipeline.audit import audit
from kedge.pipeline.journal.files import journal_files, journals, read_part, whole_part
from kedge.pipeline.journal.lines import Event
from kedge.pipeline.progress import progress
from kedge.pipeline.report import audit_page
from kedge.pipeline.spark.journals import audits as audits_on_spark
from kedge.pipeline.spark.journals import progresses as progresses_on_spark
from kedge.pipeline.spark.source import FORMAT, KedgeJournal
from tests.pipeline_journal.journals import (
    Row,
    completed_early,
    find,
    lines_of,
    seeded,
    throttle_left,
    topic_twice,
    write,
    written,
    written_by_a_zombie,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.slow, pytest.mark.server]


def broken_rules(folder: Path) -> list[Path]:
    """A journal that is whole and has several violations."""
    rows = written()
    for plant in (completed_early, throttle_left, topic_twice, written_by_a_zombie):
        plant(rows)
    return write(folder, rows, lines_max=12)


def hurt(folder: Path) -> list[Path]:
    """The same with a broken line, a missing file and a torn tail."""
    files = broken_rules(folder)
    lines = files[0].read_bytes().splitlines(keepends=True)
    lines[3] = b'{"epoch":"\xff"}\n'
    files[0].write_bytes(b"".join(lines))
    files[1].unlink()
    with files[-1].open("ab") as torn:
        torn.write(b'{"epoch":2')
    return journal_files([folder])


@pytest.mark.parametrize("made", [broken_rules, hurt], ids=lambda made: made.__name__)
def test_spark_finds_the_same_as_the_local_engine_to_the_byte(
    made: Callable[[Path], list[Path]], spark: SparkSession, tmp_path: Path
) -> None:
    """Violations, gaps, rejected rows, moves and the page."""
    files = made(tmp_path)
    here, there = audit(files), audits_on_spark(spark, {"c": files})["c"]
    if made is broken_rules:
        assert {v.kind for v in here.violations} >= {"completion", "throttle", "superseded epoch", "topic"}
    else:
        assert {gap.kind for gap in here.gaps} >= {"bad line", "missing file", "torn tail"}
        assert here.rejected_rows
    assert json.dumps(there).encode() == json.dumps(here).encode()
    moves, moves_there = progress(files), progresses_on_spark(spark, {"c": files}, {})["c"]
    assert json.dumps(moves_there) == json.dumps(moves)
    assert audit_page(there, moves_there) == audit_page(here, moves)


def test_spark_finds_nothing_in_the_journal_of_a_broken_cluster(spark: SparkSession, tmp_path: Path) -> None:
    seeded(tmp_path, 301, 600)
    files = journal_files([tmp_path])
    there = audits_on_spark(spark, {"c": files})["c"]
    assert there.violations == ()
    assert there == audit(files)


@pytest.mark.full
def test_one_job_audits_several_clusters(spark: SparkSession, tmp_path: Path) -> None:
    """Their files have the same names, and their rows the same topics."""
    hurt(tmp_path / "cluster=west")
    write(tmp_path / "cluster=east", written(), lines_max=40)
    found = journals([tmp_path])
    there = audits_on_spark(spark, found)
    assert json.dumps(there) == json.dumps({cluster: audit(files) for cluster, files in found.items()})
    moves = progresses_on_spark(spark, found, {})
    assert json.dumps(moves) == json.dumps({cluster: progress(files) for cluster, files in found.items()})
    assert there["west"].violations
    assert there["east"].violations == ()


def test_the_source_gives_the_events_of_all_files_typed(spark: SparkSession, tmp_path: Path) -> None:
    """The schema is given, not inferred; a file is a partition; hashes are those of the lines' bytes."""
    files = write(tmp_path, written(), lines_max=40)
    spark.dataSource.register(KedgeJournal)
    rows = spark.read.format(FORMAT).load(str(tmp_path))
    assert dict(rows.dtypes)["replicas"] == "array<int>"
    assert dict(rows.dtypes)["ts"] == "timestamp"
    assert dict(rows.dtypes)["detail"] == "map<string,string>"
    assert rows.rdd.getNumPartitions() == len(files)
    found = {(row["file"], row["line"]): (row["hash"], row["event"]) for row in rows.collect()}
    assert found == {
        (event.file, event.line): (event.hash, event.row["event"])
        for file in files
        for event in read_part(whole_part(file))
        if event.row is not None
    }


# --- streams


class Stream:
    """A stream of a folder into Parquet, which can be run again from its checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path, work: Path, **options: str) -> None:
        self._spark, self._folder, self._work, self._options = spark, folder, work, options
        spark.dataSource.register(KedgeJournal)

    def run(self) -> StreamingQuery:
        """Everything that is there, in as many batches as the limit asks for, then it ends."""
        rows: DataFrame = self._spark.readStream.format(FORMAT).options(**self._options).load(str(self._folder))
        query = (
            rows.writeStream.format("parquet")
            .option("checkpointLocation", str(self._work / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(self._work / "rows"))
        )
        assert query.awaitTermination(120)
        assert query.exception() is None
        return query

    def read(self) -> list[tuple[int, int, int, int, str]]:
        """What was written, each row once, as (epoch, seq, row, line, event), sorted."""
        columns = ["controller_epoch", "seq", "row", "line", "event"]
        table = pq.read_table(self._work / "rows", columns=columns)
        return sorted(tuple(row[name] for name in columns) for row in table.to_pylist())


def expected(rows: list[Row], files: dict[int, int] | None = None) -> list[tuple[int, int, int, int, str]]:
    lines: dict[int, int] = files if files is not None else {}
    found = []
    for row in rows:
        line = lines[row["epoch"]] = lines.get(row["epoch"], 0) + 1
        found.append((row["epoch"], row["seq"], row["row"], line, row["event"]))
    return sorted(found)


def test_a_stream_goes_on_where_it_was_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """Each row once: of a file that grew, with a torn tail at its end the first time, and of a new one. Lines keep
    their numbers."""
    rows = written()
    journal, work = tmp_path / "journal", tmp_path / "work"
    first_term = [row for row in rows if row["epoch"] == rows[0]["epoch"]]
    data = list(lines_of(rows))
    cut = next(i for i, row in enumerate(first_term) if i > 20 and row["row"] == 0)
    journal.mkdir()
    file = journal / "kedge-1-0.jsonl"
    torn = data[cut][:25]
    file.write_bytes(b"".join(line + b"\n" for line in data[:cut]) + torn)
    stream = Stream(spark, journal, work)
    stream.run()
    assert stream.read() == expected(rows[:cut])
    write(journal, rows)
    stream.run()
    assert stream.read() == expected(rows)
    stream.run()
    assert stream.read() == expected(rows)


@pytest.mark.full
def test_a_batch_of_a_stream_is_limited_and_holds_whole_commits(spark: SparkSession, tmp_path: Path) -> None:
    rows = written()
    journal = tmp_path / "journal"
    write(journal, rows, lines_max=10**9)
    stream = Stream(spark, journal, tmp_path / "work", maxRowsPerTrigger="40")
    query = stream.run()
    sizes = [progress_of["numInputRows"] for progress_of in query.recentProgress if progress_of["numInputRows"]]
    largest = max(row["rows"] for row in rows if "rows" in row)
    assert sum(sizes) == len(rows)
    assert all(rows[begin]["row"] == 0 for begin in [*accumulate(sizes)][:-1])
    assert max(sizes) <= max(40, largest)
    assert len(sizes) >= len(rows) // 40
    assert stream.read() == expected(rows)


@pytest.mark.full
def test_a_stream_goes_on_when_files_are_rotated_away(spark: SparkSession, tmp_path: Path) -> None:
    """Between two runs the oldest files go and new ones come."""
    rows = written()
    journal, aside = tmp_path / "journal", tmp_path / "aside"
    files = write(aside, rows, lines_max=12)
    journal.mkdir()
    for file in files[:2]:
        shutil.copy(file, journal)
    stream = Stream(spark, journal, tmp_path / "work")
    stream.run()
    (journal / files[0].name).unlink()
    for file in files[2:]:
        shutil.copy(file, journal)
    stream.run()
    assert [row[:3] for row in stream.read()] == sorted((row["epoch"], row["seq"], row["row"]) for row in rows)


def test_a_file_that_is_rotated_away_while_it_is_read_is_a_row_and_no_failure(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It is planned, and gone when its rows are asked for."""
    files = write(tmp_path, written(), lines_max=12)
    rows = spark.read.format(FORMAT).load(str(tmp_path))
    rows.explain(mode="simple")
    files[0].unlink()
    said = {row["problem"] for row in rows.where("problem is not null").collect()}
    assert said <= {"file gone"}
    parts = [whole_part(file) for file in files[1:]]
    files[1].unlink()
    (gone,) = list(read_part(parts[0]))
    assert isinstance(gone, Event)
    assert gone.problem == "file gone"


@pytest.mark.full
def test_two_limits_of_a_batch_and_a_limit_that_is_no_number_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, written())
    for options in ({"maxRowsPerTrigger": "0"}, {"maxRowsPerTrigger": "5", "maxBytesPerTrigger": "5"}):
        stream = Stream(spark, tmp_path, tmp_path / "work", **options)
        with pytest.raises(Exception, match=r"limit of a batch|a number of at least 1"):
            stream.run()


def test_rows_of_an_unknown_event_and_field_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    """What a newer version writes."""
    rows = written()
    i = find(rows, "KeysRewritten")
    rows[i] |= {"event": "Novelty", "novel": {"a": [1]}}
    files = write(tmp_path, rows)
    spark.dataSource.register(KedgeJournal)
    (row,) = spark.read.format(FORMAT).load(str(tmp_path)).where("event = 'Novelty'").collect()
    assert row["unknown"] == {"novel": '{"a":[1]}'}
    assert audit(files).unchecked == (("Novelty", 1),)
