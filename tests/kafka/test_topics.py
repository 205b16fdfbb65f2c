"""`kedge kafka topics` on a real Kafka cluster: what it does, and that it says what Kafka's own tool says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from tests.kafka.conftest import Java, Kedge, Topics, are_known, plan, produce
from tests.kafka.java_tools import TOPICS
from tests.kafka_servers import KafkaCluster
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.full]

FAILED = "Error while executing topic command : "
TOOL = TOPICS


@pytest.fixture
def gone(cluster: Cluster) -> Iterator[list[str]]:
    """Names that are not there before the test, and are deleted after it."""
    names: list[str] = []
    yield names
    cluster.delete_topics(names)


def test_a_topic_is_made_and_described_as_by_kafkas_tool(
    run: Kedge, java: Java, cluster: Cluster, gone: list[str]
) -> None:
    gone += ["made-kedge", "made-kafka"]
    asked = ("--partitions", 3, "--replication-factor", 2, "--config", "retention.ms=5000")
    done, said = (
        run("topics", "--create", "--topic", "made-kedge", *asked),
        java("--create", "--topic", "made-kafka", *asked),
    )
    assert (done.exit_code, done.stdout, said.code) == (0, said.out.replace("kafka", "kedge"), 0)
    until(lambda: are_known(cluster, gone, 3))
    shown = ("--topics-with-overrides", "--under-replicated-partitions", "--at-min-isr-partitions")
    for filters in ((), *((each,) for each in shown), ("--partition-size-limit-per-response", 1)):
        done, said = run("topics", "--describe", *filters), java("--describe", *filters)
        assert (done.exit_code, sorted(done.stdout.splitlines())) == (said.code, sorted(said.out.splitlines()))
    described = json.loads(run("topics", "--describe", "--topic", "made-kedge", "--json").stdout)["topics"]
    (topic,) = described
    assert (topic["partition_count"], topic["replication_factor"]) == (3, 2)
    assert topic["configs"] == {"retention.ms": "5000", "segment.bytes": "100000000"}
    assert [p["partition"] for p in topic["partitions"]] == [0, 1, 2]
    done = run("topics", "--describe", "--topic-id", topic["topic_id"])
    assert done.stdout == run("topics", "--describe", "--topic", "made-kedge").stdout
    done, said = run("topics", "--list"), java("--list")
    assert (done.exit_code, done.stdout) == (said.code, said.out)
    done, said = run("topics", "--list", "--topic", "made.*"), java("--list", "--topic", "made.*")
    assert done.stdout == said.out == "made-kafka\nmade-kedge\n"


@pytest.mark.checklist(128)
def test_a_moving_partition_shows_where_it_goes_and_how_many_hold_it(
    *, run: Kedge, java: Java, kafka_cluster: KafkaCluster, topic: Topics, slow: Callable[..., object], tmp_path: Path
) -> None:
    """In Kafka's columns, with one of ours behind them; a move is no lack of replicas."""
    name = topic([[1, 2], [2, 1]])
    produce(kafka_cluster.servers, name, 200)
    file = plan(tmp_path, {(name, 0): [2, 3]})
    slow(name)
    moved = run("reassign-partitions", "--execute", "--reassignment-json-file", file)
    assert moved.exit_code == 0
    done, said = run("topics", "--describe", "--topic", name), java("--describe", "--topic", name)
    ours, theirs = done.stdout.splitlines(), said.out.splitlines()
    assert (ours[0], ours[2]) == (theirs[0], theirs[2])
    assert ours[1] == theirs[1] + "\tTarget Replicas: 2,3"
    assert "ReplicationFactor: 2\t" in ours[0]
    assert run("topics", "--describe", "--topic", name, "--under-replicated-partitions").stdout == ""
    moving, still = json.loads(run("topics", "--describe", "--topic", name, "--json").stdout)["topics"][0]["partitions"]
    assert (moving["target_replicas"], "target_replicas" in still) == ([2, 3], False)
    run("reassign-partitions", "--cancel-all")


def test_partitions_are_added_by_number_and_by_hand(run: Kedge, cluster: Cluster, topic: Topics) -> None:
    """By the server with its racks, by hand, and without a look at racks."""
    name = topic([[1, 2], [2, 3]])
    for count, more, expected in (
        (3, ("--partitions", 3), None),
        (4, ("--partitions", 4, "--replica-assignment", "1:2,2:3,1:2,3:1"), (3, 1)),
        (5, ("--replica-assignment", "1:2,2:3,1:2,3:1,2:1"), (2, 1)),
        (7, ("--partitions", 7, "--ignore-racks"), (1, 3)),
    ):
        done = run("topics", "--alter", "--topic", name, *more)
        assert (done.exit_code, done.output) == (0, "")
        until(lambda: are_known(cluster, [name], count))  # noqa: B023 - waited for at once
        if expected is not None:
            assert cluster.topics([name])[name].partitions[-1].replicas == expected
    assert [len(p.replicas) for p in cluster.topics([name])[name].partitions] == [2] * 7


@pytest.mark.checklist(154)
def test_topics_are_made_by_hand_or_without_a_look_at_racks(run: Kedge, cluster: Cluster, gone: list[str]) -> None:
    gone += ["by-hand", "blind"]
    done = run("topics", "--create", "--topic", "by-hand", "--replica-assignment", "3:1, 2:3")
    assert (done.exit_code, done.stdout) == (0, "Created topic by-hand.\n")
    done = run(
        "topics",
        "--create",
        "--topic",
        "blind",
        "--ignore-racks",
        "--partitions",
        6,
        "--replication-factor",
        2,
        "--json",
    )
    assert json.loads(done.stdout) == {"topic": "blind", "created": True}
    until(lambda: are_known(cluster, ["by-hand"], 2) and are_known(cluster, ["blind"], 6))
    found = cluster.topics(gone)
    assert [p.replicas for p in found["by-hand"].partitions] == [(3, 1), (2, 3)]
    leaders = [p.replicas[0] for p in found["blind"].partitions]
    assert leaders[:3] == leaders[3:]
    assert sorted(leaders[:3]) == [1, 2, 3]
    assert leaders[1:3] == [leaders[0] % 3 + 1, (leaders[0] + 1) % 3 + 1]  # in the order of their ids


def test_topics_are_deleted_by_their_names_and_by_a_pattern(run: Kedge, cluster: Cluster, topic: Topics) -> None:
    for name in ("gone.a", "gone.b", "gone.c"):
        topic([[1]], name)
    done = run("topics", "--delete", "--topic", "gone.a")
    assert (done.exit_code, done.output) == (0, "Deleted topic gone.a.\n")
    until(lambda: are_known(cluster, ["gone.a"], None))
    done = run("topics", "--delete", "--topic", "gone.[bc]", "--json")
    assert json.loads(done.stdout) == {"deleted": ["gone.b", "gone.c"], "refused": []}
    until(lambda: are_known(cluster, ["gone.b", "gone.c"], None))
    assert run("topics", "--delete", "--topic", "gone.*", "--if-exists").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--create", "--topic", "T"),
        ("--create", "--topic", "bad name!"),
        ("--create", "--topic", "wide", "--partitions", "1", "--replication-factor", "9"),
        ("--create", "--topic", "odd", "--config", "no.such.key=1"),
        ("--create", "--topic", "odd", "--config", "retention.ms=abc"),
        ("--create", "--topic", "odd", "--replica-assignment", "1:77"),
        ("--alter", "--topic", "T", "--partitions", "1"),
        ("--alter", "--topic", "no-such", "--partitions", "9"),
        ("--delete", "--topic", "no-such"),
        ("--describe", "--topic", "no-such"),
    ],
)
def test_refusal_of_a_server_is_printed_in_its_words_and_changes_nothing(
    run: Kedge, java: Java, cluster: Cluster, topic: Topics, arguments: tuple[str, ...]
) -> None:
    """Only Java's way to print what may be missing (`Optional[no-such]`) is not ours."""
    name = topic([[1], [2]], "refused-topic")
    words = [name if word == "T" else word for word in arguments]
    before = cluster.topics()
    done, said = run("topics", *words), java(*words)
    assert (done.exit_code, done.stdout) == (said.code, "") == (1, "")
    theirs = next(line for line in said.out.splitlines() if line.startswith(FAILED))
    assert done.stderr.strip() == theirs.replace("Optional[no-such]", "no-such")
    assert cluster.topics() == before
    assert json.loads(run("topics", *words, "--json").stdout)["error"] == theirs.replace("Optional[no-such]", "no-such")


def test_what_is_or_is_not_there_is_no_error_where_that_is_said(run: Kedge, java: Java, topic: Topics) -> None:
    name = topic([[1]])
    for words in (
        ("--create", "--topic", name, "--if-not-exists", "--partitions", 1),
        ("--alter", "--topic", "no-such", "--partitions", 3, "--if-exists"),
        ("--delete", "--topic", "no-such", "--if-exists"),
        ("--describe", "--topic", "no-such", "--if-exists"),
    ):
        done, said = run("topics", *words), java(*words)
        ours = "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("WARNING"))
        theirs = "".join(line for line in said.out.splitlines(keepends=True) if not line.startswith("WARNING"))
        assert (done.exit_code, ours) == (said.code, theirs) == (0, "")
