"""The audit of a journal of N lines: in this process, and on Spark (local[*]), at once and as a stream.

    benchmarks/run audit            1 M lines; KEDGE_LINES=10000000 for more, KEDGE_SPARK=0 for none on Spark

The journal is made here: moves of RF 3 from three brokers to three others, in commits of many partitions, chained.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

from benchmarks.figures import figure, rate, timed
from kedge.controller.runtime.journal import FolderSink
from kedge.pipeline.audit import audit
from kedge.pipeline.journal.files import journal_files
from kedge.pipeline.progress import progress

LINES = 1_000_000
TOPIC_PARTITIONS, COMMIT_PARTITIONS = 100, 50
BEFORE, AFTER = (1, 2, 3), (4, 5, 6)


def run() -> None:
    lines = int(os.environ.get("KEDGE_LINES", LINES))
    folder = Path(tempfile.mkdtemp(prefix="kedge-benchmark-"))
    try:
        written = make(folder, lines)
        _measure(journal_files([folder]), written)
    finally:
        shutil.rmtree(folder)


def _measure(files: list[Path], lines: int) -> None:
    size = sum(file.stat().st_size for file in files)
    used = _cpu()
    with timed() as watch:
        here = audit(files)
    assert here.violations == ()
    assert here.counts.lines == lines
    rate("audit, local, one process", lines, watch.seconds, journal_bytes=size, cpu_seconds=round(_cpu() - used, 1))
    with timed() as watch:
        moves = progress(files)
    rate("progress, local", lines, watch.seconds, moves=len(moves.moves))
    if os.environ.get("KEDGE_SPARK") != "0":
        _measure_spark(files, lines, here)


def _cpu() -> float:
    """Processor seconds of this process and of those it waited for: on a busy machine they say more than the clock."""
    found = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        found += used.ru_utime + used.ru_stime
    return found


def _measure_spark(files: list[Path], lines: int, here: object) -> None:
    from kedge.pipeline.spark import session  # noqa: PLC0415 - its figure is taken last: it starts a JVM
    from kedge.pipeline.spark.journals import audits as audits_on_spark  # noqa: PLC0415

    with timed() as watch:
        opened = session()
        spark = opened.__enter__()
    figure("session of Spark, local[*]", 1, watch.seconds)
    try:
        for what in ("cold", "warm"):
            with timed() as watch:
                there = audits_on_spark(spark, {"": files})
            assert there == {"": here}
            rate(f"audit, Spark local[*], {what}", lines, watch.seconds, cores=os.cpu_count())
        with timed() as watch, tempfile.TemporaryDirectory() as checkpoint:
            done = _stream(spark, files, checkpoint)
        assert done == lines
        rate("audit, stream, Spark local[*], warm", lines, watch.seconds, cores=os.cpu_count())
    finally:
        opened.__exit__(None, None, None)


def _stream(spark: Any, files: list[Path], checkpoint: str) -> int:
    """How many lines were audited, in batches, none of which shows anything."""
    from kedge.pipeline.spark.follow import start, wait  # noqa: PLC0415 - as above

    sizes = []

    def take(_: int, batch: Any) -> None:
        for count, said in batch.values():
            assert said == []
            sizes.append(count)

    wait(start(spark, [str(file.parent) for file in files[:1]], checkpoint, take, once=True), Event())
    return sum(sizes)


def make(folder: Path, lines_min: int) -> int:
    """A journal of at least so many lines; returns how many."""
    sink = FolderSink(folder, files_max=10_000)
    sink.begin(1)
    made, prev = 0, ""
    for seq, rows in enumerate(_commits(lines_min), 1):
        built = []
        for n, text in enumerate(rows):
            whole = f',"rows":{len(rows)}' if n == len(rows) - 1 else ""
            link = f',"prev":"{prev}"' if prev else ""
            line = (
                f'{{"epoch":1,"seq":{seq},"row":{n},"ts":{1_700_000_000_000 + seq * 40},{text}{whole}{link}}}'.encode()
            )
            prev = sha256(line).hexdigest()
            built.append(line)
        sink.write(built)
        made += len(built)
    sink.close()
    return made


def _commits(lines_min: int) -> Iterator[list[str]]:
    yield ['"event":"Takeover","detail":{"controller_id":1,"moves":[],"intents":[]}']
    done = first = 0
    while done < lines_min:
        some = [_named(n) for n in range(first, first + COMMIT_PARTITIONS)]
        for rows in _moves(some):
            done += len(rows)
            yield rows
        first += COMMIT_PARTITIONS


def _named(n: int) -> str:
    topic = n // TOPIC_PARTITIONS
    return f'"topic":"topic-{topic:06d}","topic_id":"id-{topic:06d}","partition":{n % TOPIC_PARTITIONS}'


def _ids(*brokers: int) -> str:
    return f"[{','.join(map(str, brokers))}]"


def _row(event: str, named: str, replicas: tuple[int, ...], isr: tuple[int, ...], rest: str) -> str:
    return f'"event":"{event}",{named},"replicas":{_ids(*replicas)},"isr":{_ids(*isr)},{rest},"status":0'


def _moves(some: list[str]) -> Iterator[list[str]]:
    """The commits of moves of some partitions, side by side."""
    target, origin = f'"target":{_ids(*AFTER)},', f',"origin":{_ids(*BEFORE)}'
    began = '"leader":1,"leader_epoch":6,"partition_epoch":%d'
    yield [_row("TargetSet", p, BEFORE, BEFORE, target + began % 1) + origin for p in some]
    for i in range(1, 4):
        isr, grown = BEFORE + AFTER[:i], BEFORE + AFTER[: i - 1]
        rows = []
        for p in some:
            rows.append(_row("IsrChanged", p, grown, isr, target + began % (i + 1)) + origin + ',"cause":"alter_isr"')
            rows.append(_row("ReplicasGrown", p, isr, isr, target + began % (i + 1)) + origin)
            if i == 3:
                rows += _completion(p, isr, target, origin)
        yield rows
    yield [f'"event":"ReplicaDeleted",{p},"leader_epoch":7,"broker":{b}' for p in some for b in BEFORE]


def _completion(p: str, isr: tuple[int, ...], target: str, origin: str) -> list[str]:
    ended = '"leader":4,"leader_epoch":7,"partition_epoch":4'
    return [
        _row("ReplicasChanged", p, AFTER, isr, target + ended) + origin + ',"cause":"completed"',
        _row("TargetCleared", p, AFTER, isr, ended) + origin + ',"cause":"completed","detail":{"bytes_copied":99}',
        *(f'"event":"DeleteIntended",{p},"leader_epoch":7,"broker":{b}' for b in BEFORE),
        _row("IsrShrunk", p, AFTER, AFTER, ended),
    ]
