"""`kedge kafka reassign-partitions` on a real Kafka cluster: what it does, with the words of Kafka's own tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.model.values import TopicPartition
from tests.kafka.conftest import SLOW, Java, Kedge, Throttles, Topics, plan, produce, replicas, throttles, until_moved
from tests.kafka.java_tools import REASSIGN
from tests.kafka_servers import KafkaCluster
from tests.kit.waiting import until

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

COMMAND = "reassign-partitions"
TOOL = REASSIGN
RECORDS = 200  # of 10 kB: more than a throttle lets through while a test looks
FILE = "--reassignment-json-file"


def without_throttles(said: str) -> str:
    """The output of Kafka's tool but for the lines on throttles, which our command sets on Kedge alone."""
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if "throttle" not in line and "--verify" not in line)


@pytest.mark.checklist(61, 72)
def test_a_plan_is_executed_and_verified_with_the_words_of_kafkas_tool(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """On twins: one moved by Kafka's tool, one by ours; one partition and several; what was there is printed before."""
    ours, theirs = topic([[1, 2], [2, 3]], "twin.kedge"), topic([[1, 2], [2, 3]], "twin.kafka")
    for name, targets in (("both", {0: [2, 3], 1: [3, 1]}), ("one", {1: [1, 3]})):
        mine = plan(tmp_path, {(ours, p): r for p, r in targets.items()}, f"{name}.ours")
        other = plan(tmp_path, {(theirs, p): r for p, r in targets.items()}, f"{name}.theirs")
        done = run(COMMAND, "--execute", FILE, mine)
        wanted = {(ours, p): r for p, r in targets.items()}
        until_moved(cluster, wanted)  # Kafka's tool begins nothing while something moves
        said = java("--execute", FILE, other)
        assert (done.exit_code, done.stderr) == (said.code, "")
        assert done.stdout == said.out.replace(theirs, ours)
        wanted |= {(theirs, p): r for p, r in targets.items()}
        until_moved(cluster, wanted)
        done, said = run(COMMAND, "--verify", FILE, mine), java("--verify", FILE, other)
        assert done.exit_code == said.code
        assert done.stdout == without_throttles(said.out.replace(theirs, ours))
        assert f"Reassignment of partition {ours}-1 is completed." in done.stdout
    assert [replicas(cluster, ours, p) for p in (0, 1)] == [(2, 3), (1, 3)]


@pytest.mark.checklist(125)
def test_what_was_printed_before_undoes_the_move(run: Kedge, cluster: Cluster, topic: Topics, tmp_path: Path) -> None:
    name = topic([[1, 2]])
    done = run(COMMAND, "--execute", FILE, plan(tmp_path, {(name, 0): [3, 1]}))
    until_moved(cluster, {(name, 0): (3, 1)})
    rollback = tmp_path / "rollback.json"
    rollback.write_text(done.stdout.splitlines()[2])
    assert run(COMMAND, "--execute", FILE, rollback).exit_code == 0
    until_moved(cluster, {(name, 0): (1, 2)})


@pytest.mark.checklist(61, 72)
def test_a_throttled_move_is_listed_followed_and_cancelled(
    *,
    run: Kedge,
    java: Java,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    topic: Topics,
    slow: Callable[..., Throttles],
    tmp_path: Path,
) -> None:
    ours, theirs = topic([[1, 2]], "slow.kedge"), topic([[1, 2]], "slow.kafka")
    for name in (ours, theirs):
        produce(kafka_cluster.servers, name, RECORDS)
    mine, other = plan(tmp_path, {(ours, 0): [2, 3]}, "ours"), plan(tmp_path, {(theirs, 0): [2, 3]}, "theirs")

    said = java("--execute", FILE, other, "--throttle", SLOW)
    assert java("--cancel", FILE, other, "--preserve-throttles").code == 0
    set_before = slow(ours)
    refused = run(COMMAND, "--execute", FILE, mine, "--throttle", SLOW)
    assert (refused.exit_code, "--throttle needs a server of Kedge" in refused.stderr) == (1, True)
    done = run(COMMAND, "--execute", FILE, mine)
    assert (done.exit_code, done.stdout) == (said.code, without_throttles(said.out.replace(theirs, ours)))

    assert run(COMMAND, "--list", "--text").stdout == java("--list").out
    listed = json.loads(run(COMMAND, "--list").stdout)
    assert listed["partitions"] == [{"topic": ours, "partition": 0, "replicas": [2, 3], "log_dirs": ["any", "any"]}]
    done, said = run(COMMAND, "--verify", FILE, mine), java("--verify", FILE, mine)
    assert (done.exit_code, done.stdout) == (said.code, said.out)
    assert "is still in progress" in done.stdout

    progress = run(COMMAND, "--progress", FILE, mine).stdout.splitlines()
    assert progress[2].split(maxsplit=3)[1:] == ["0", "2", "In sync"]
    assert progress[3].split()[3] == "Behind:"
    assert 0 < int(progress[3].split()[4]) <= RECORDS

    kept = tmp_path / "listed.json"
    kept.write_text(json.dumps(listed))
    done = run(COMMAND, "--cancel", FILE, kept)
    assert done.exit_code == 0
    assert (done.stdout, done.stderr) == (f"Successfully cancelled partition reassignment for: {ours}-0\n", "")
    assert throttles(cluster, [ours]) == set_before
    until(lambda: sorted(replicas(cluster, ours)) == [1, 2])
    said = java("--cancel", FILE, kept)
    done = run(COMMAND, "--cancel", FILE, kept)
    assert done.stdout == without_throttles(said.out)
    assert run(COMMAND, "--list").stdout == '{"version":1,"partitions":[]}\n'
    assert run(COMMAND, "--list", "--text").stdout == java("--list").out == "No partition reassignments found.\n"


@pytest.mark.checklist(124, 126)
def test_moves_are_added_to_moves_and_all_are_cancelled(
    *,
    run: Kedge,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    topic: Topics,
    slow: Callable[..., Throttles],
    tmp_path: Path,
) -> None:
    """--cancel ends those of its plan, --cancel-all the others, twice. What operators throttle stays."""
    one, two = topic([[1, 2]], "added.one"), topic([[1, 2]], "added.two")
    for name in (one, two):
        produce(kafka_cluster.servers, name, RECORDS)
    set_before = slow(one, two)
    first, second = plan(tmp_path, {(one, 0): [1, 3]}, "first"), plan(tmp_path, {(two, 0): [3, 2]}, "second")
    assert run(COMMAND, "--execute", FILE, first).exit_code == 0
    assert run(COMMAND, "--execute", FILE, second, "--additional").exit_code == 0
    assert len(cluster.reassignments()) == 2

    answer = json.loads(run(COMMAND, "--cancel", FILE, second, "--json").stdout)
    assert answer["cancelled"] == [{"topic": two, "partition": 0}]
    done = run(COMMAND, "--cancel-all")
    assert done.stdout == f"Successfully cancelled partition reassignment for: {one}-0\n"
    done = run(COMMAND, "--cancel-all")
    assert (done.exit_code, done.stdout) == (0, "No partition reassignments found.\n")
    assert run(COMMAND, "--verify", FILE, first).exit_code == 0
    assert throttles(cluster, [one, two]) == set_before


@pytest.mark.checklist(64, 66, 67, 68, 69)
def test_progress_says_of_each_replica_how_it_is(run: Kedge, topic: Topics, tmp_path: Path) -> None:
    name = topic([[1, 2]])
    file = plan(tmp_path, {(name, 0): [1, 3, 42], ("asdf", 0): [1], (name, 42): [1]})
    done = run(COMMAND, "--progress", FILE, file)
    wide = len(name) + 2
    assert done.stdout.splitlines() == [
        f"{'Topic':{wide}}Partition  Broker  Status",
        "-" * 37,
        f"{'asdf':{wide}}0          1       Unknown topic",
        f"{name:{wide}}0          1       In sync",
        f"{name:{wide}}0          3       Broker does not host this partition",
        f"{name:{wide}}0          42      Unknown broker",
        f"{name:{wide}}42         1       Unknown partition",
    ]
    found = json.loads(run(COMMAND, "--progress", FILE, file, "--json").stdout)
    assert (found["in_sync"], len(found["replicas"])) == (False, 5)


def test_a_plan_is_watched_until_it_is_done(
    *, run: Kedge, kafka_cluster: KafkaCluster, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    name = topic([[1, 2]])
    produce(kafka_cluster.servers, name, RECORDS)
    file = plan(tmp_path, {(name, 0): [2, 3]})
    done = run(COMMAND, "--progress", "--watch", FILE, file)
    assert (done.exit_code, done.stderr) == (
        1,
        f"Error: no reassignment runs for these partitions, and they are not where the plan wants them: {name}-0\n",
    )
    assert run(COMMAND, "--execute", FILE, file).exit_code == 0
    done = run(COMMAND, "--progress", "--watch", FILE, file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.split(maxsplit=3)[3] for line in done.stdout.splitlines()[2:]] == ["In sync", "In sync"]
    until_moved(cluster, {(name, 0): (2, 3)})


@pytest.mark.checklist(73, 155)
def test_a_proposal_obeys_racks_and_can_be_repeated(*, run: Kedge, java: Java, topic: Topics, tmp_path: Path) -> None:
    """What is there now reads as Kafka's tool prints it; a seed gives the same again; it is a plan."""
    name = topic([[1, 2], [2, 1], [1, 2]])
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    asked = ("--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2,3")
    done, said = run(COMMAND, *asked, "--seed", 7), java(*asked)
    ours, theirs = done.stdout.splitlines(), said.out.splitlines()
    assert ours[:4] == theirs[:4]
    proposed, other = json.loads(ours[4]), json.loads(theirs[4])
    assert [entry["partition"] for entry in proposed["partitions"]] == [
        entry["partition"] for entry in other["partitions"]
    ]
    leaders = [entry["replicas"][0] for entry in proposed["partitions"]]
    assert sorted(leaders) == [1, 2, 3]
    assert all(len(set(entry["replicas"])) == 2 for entry in proposed["partitions"])
    again = json.loads(run(COMMAND, *asked, "--seed", 7, "--json").stdout)
    assert again["proposed"] == proposed
    assert run(COMMAND, *asked, "--disable-rack-aware").exit_code == 0
    (tmp_path / "proposed.json").write_text(ours[4])
    assert run(COMMAND, "--execute", FILE, tmp_path / "proposed.json").exit_code == 0


@pytest.mark.checklist(74)
@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"version":1}',
        '{"version":1,"partitions":[]}',
        '{"version":2,"partitions":[]}',
        '{"partitions":[{"topic":"T","partition":0,"replicas":[]}]}',
        '{"partitions":[{"topic":"T","partition":0,"replicas":[1]},{"topic":"T","partition":0,"replicas":[2]}]}',
        '{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[1,1,2]}]}',
        '{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[1,77]}]}',
        '{"version":1,"partitions":[{"topic":"T","partition":99,"replicas":[1,2]}]}',
        '{"version":1,"partitions":[{"topic":"no-such","partition":0,"replicas":[1,2]}]}',
        '{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[1,2],"log_dirs":["any"]}]}',
    ],
)
def test_a_bad_plan_is_refused_in_kafkas_words_and_nothing_moves(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics, tmp_path: Path, text: str
) -> None:
    name = topic([[1, 2]], "refused.t")
    file = tmp_path / "plan.json"
    file.write_text(text.replace("T", name) if '"T"' in text else text)
    done, said = run(COMMAND, "--execute", FILE, file), java("--execute", FILE, file)
    theirs = said.out.splitlines()[0].replace("org.apache.kafka.common.errors.UnknownTopicOrPartitionException: ", "")
    assert (done.exit_code, done.stdout, done.stderr.strip()) == (said.code, "", theirs)
    assert (cluster.reassignments(), replicas(cluster, name)) == ({}, (1, 2))


def test_directories_that_a_plan_names_are_moved_to(
    *, run: Kedge, java: Java, kafka_cluster: KafkaCluster, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """Within a broker, and of a replica that is new to it; --verify tells of each, as Kafka's tool does."""
    name = topic([[1, 2]])
    tp = TopicPartition(name, 0)
    until(lambda: tp in cluster.log_dirs(1).replicas)  # a broker may tell of a partition before it has a log of it
    there = cluster.log_dirs(1).replicas[tp][0].path
    other = next(str(path) for path in kafka_cluster.log_dirs(1) if str(path) != there)
    wanted = str(kafka_cluster.log_dirs(3)[1])
    entry = {"topic": name, "partition": 0, "replicas": [1, 3], "log_dirs": [other, wanted]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"partitions": [entry]}))
    done = run(COMMAND, "--execute", FILE, file, "--replica-alter-log-dirs-throttle", 10_000_000)
    assert (done.exit_code, "The replica-alter-dir throttle limit was set to 10000000 B/s" in done.stdout) == (0, True)
    until(lambda: "completed" in run(COMMAND, "--verify", FILE, file, "--preserve-throttles").stdout.splitlines()[2])
    until_moved(cluster, {(name, 0): (1, 3)})
    until(lambda: all(len(r) == 1 for b in (1, 3) for r in cluster.log_dirs(b).replicas.values()))
    assert [cluster.log_dirs(b).replicas[tp][0].path for b in (1, 3)] == [other, wanted]
    done, said = run(COMMAND, "--verify", FILE, file), java("--verify", FILE, file)
    assert done.stdout == without_throttles(said.out)
    entry["log_dirs"] = [there, "/no/such"]
    file.write_text(json.dumps({"partitions": [entry]}))
    done, said = run(COMMAND, "--verify", FILE, file), java("--verify", FILE, file)
    assert done.stdout == without_throttles(said.out)
    done = run(COMMAND, "--execute", FILE, file)
    assert (done.exit_code, f"Error: Failed to alter dir for {name}-0-3: " in done.stderr) == (1, True)
