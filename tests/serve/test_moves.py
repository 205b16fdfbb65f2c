"""Moves by `kedge reassign-partitions` on Kedge's own brokers: begun, followed, listed, and shown by `kedge topics`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kafka import KafkaProducer

from controller import TopicPartition
from controller.cli.root import kedge
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S, until

pytestmark = pytest.mark.slow

FILE = "--reassignment-json-file"
MOVES = "reassign-partitions"
RECORDS = 100  # of 10 kB
Run = Callable[..., Result]


@pytest.fixture
def living() -> Iterator[Living]:
    with Living() as opened:
        yield opened


@pytest.fixture
def run(living: Living) -> Run:
    def invoke(command: str, *arguments: object) -> Result:
        return CliRunner().invoke(kedge, [command, "--bootstrap-server", living.bootstrap, *map(str, arguments)])

    return invoke


def filled(living: Living, name: str, *replicas: list[int]) -> TopicPartition:
    """A topic with records in partition 0, which is given back."""
    tp = living.topic(name, replicas)[0]
    producer = KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
    for sent in [producer.send(name, value=b"x" * 10_000, partition=0) for _ in range(RECORDS)]:
        sent.get(DEADLINE_S)
    producer.close()
    return tp


def plan(folder: Path, name: str, targets: dict[int, list[int]]) -> Path:
    file = folder / "plan.json"
    rows = [{"topic": name, "partition": p, "replicas": replicas} for p, replicas in targets.items()]
    file.write_text(json.dumps({"partitions": rows}))
    return file


def lag(living: Living, tp: TopicPartition, broker: int) -> int:
    """By the logs themselves."""
    ends, leaders = living.cluster.log_ends(tp)
    return leaders - ends[broker]


@pytest.mark.checklist(61, 65, 68, 69)
def test_progress_shows_the_true_lag_which_shrinks_while_a_throttled_move_runs(
    living: Living, run: Run, tmp_path: Path
) -> None:
    """Each lag that is printed lies between those that the logs had before and after the command."""
    tp = filled(living, "lagging", [1, 2])
    file = plan(tmp_path, tp.topic, {0: [2, 3]})
    done = run(MOVES, "--execute", FILE, file, "--throttle", 1024)
    assert done.stdout.splitlines()[-1] == "Successfully started partition reassignment for lagging-0"
    until(lambda: 3 in living.cluster.log_ends(tp)[0])
    seen: list[int] = []

    def look() -> None:
        before = lag(living, tp, 3)
        head, rule, kept, added = run(MOVES, "--progress", FILE, file).stdout.splitlines()
        assert (head, rule) == ("Topic      Partition  Broker  Status", "-" * 37)
        assert kept == "lagging    0          2       In sync"
        *columns, shown, noun, behind = added.split()
        assert (columns, noun, behind) == (["lagging", "0", "3", "Behind:"], "messages", "behind")
        assert lag(living, tp, 3) <= int(shown) <= before
        seen.append(int(shown))

    look()
    assert run(MOVES, "--execute", FILE, file, "--throttle", 30_000).exit_code == 0

    def has_shrunk_twice() -> bool:
        look()
        return len(set(seen)) >= 3

    until(has_shrunk_twice)
    assert seen == sorted(seen, reverse=True)
    assert 0 < seen[-1] < seen[0] <= RECORDS
    assert run(MOVES, "--execute", FILE, file, "--throttle", 2**40).exit_code == 0
    done = run(MOVES, "--progress", "--watch", FILE, file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.split(maxsplit=3)[2:] for line in done.stdout.splitlines()[2:]] == [["2", "In sync"], ["3", "In sync"]]
