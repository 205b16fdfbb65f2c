"""`kedge leader-election` on a real Kafka cluster: what it does, and that it says what Kafka's own tool says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.model.values import TopicPartition
from tests.kafka.conftest import Kedge, Topics
from tests.kafka.java_tools import ELECTION, JavaTools, Ran
from tests.kafka_servers import KafkaCluster
from tests.kit.waiting import until

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

COMMAND = "leader-election"
FILE = "--path-to-json-file"
PREFERRED = ("--election-type", "PREFERRED")
Java = Callable[..., Ran]


@pytest.fixture
def java(tools: JavaTools, kafka_cluster: KafkaCluster) -> Java:
    def invoke(*arguments: object) -> Ran:
        return tools(ELECTION, "--bootstrap-server", kafka_cluster.servers, *arguments)

    return invoke


def leaders(cluster: Cluster, name: str) -> list[int | None]:
    return [p.leader for p in cluster.topics([name])[name].partitions]


def turned(cluster: Cluster, name: str, partitions: int) -> None:
    """Partitions on 1 and 2, all led by 1, prefer 2 from now on."""
    assert cluster.alter_reassignments({TopicPartition(name, p): [2, 1] for p in range(partitions)}) == {}
    until(lambda: [p.replicas for p in cluster.topics([name])[name].partitions] == [(2, 1)] * partitions)
    assert leaders(cluster, name) == [1] * partitions


def listed(folder: Path, *partitions: tuple[str, int]) -> Path:
    file = folder / "partitions.json"
    file.write_text(json.dumps({"partitions": [{"topic": t, "partition": p} for t, p in partitions]}))
    return file


def test_preferred_leaders_are_elected_with_the_words_of_kafkas_tool(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """On twins: one partition, those of a file of which some need none, and all; again, nothing is to be done."""
    ours, theirs = topic([[1, 2]] * 3, "elect.kedge"), topic([[1, 2]] * 3, "elect.kafka")
    turned(cluster, ours, 3)
    turned(cluster, theirs, 3)
    one = ("--partition", 0)
    done, said = run(COMMAND, *PREFERRED, "--topic", ours, *one), java(*PREFERRED, "--topic", theirs, *one)
    assert (done.exit_code, done.stderr) == (said.code, "") == (0, "")
    assert done.stdout == said.out.replace(theirs, ours)
    assert f"Successfully completed leader election (PREFERRED) for partitions {ours}-0" in done.stdout
    until(lambda: leaders(cluster, ours) == [2, 1, 1])

    done = run(COMMAND, *PREFERRED, FILE, listed(tmp_path, (ours, 1), (ours, 0)))
    said = java(*PREFERRED, FILE, listed(tmp_path, (theirs, 1), (theirs, 0)))
    assert (done.exit_code, done.stdout) == (said.code, said.out.replace(theirs, ours))
    assert f"Valid replica already elected for partitions {ours}-0" in done.stdout
    until(lambda: leaders(cluster, ours) == [2, 2, 1])

    done = run(COMMAND, "--election-type", "preferred", "--all-topic-partitions", "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["refused"], answer["already_elected"]) == (0, [], [])
    assert {"topic": ours, "partition": 2} in answer["elected"]
    until(lambda: leaders(cluster, ours) == leaders(cluster, theirs) == [2, 2, 2])
    done, said = run(COMMAND, *PREFERRED, "--all-topic-partitions"), java(*PREFERRED, "--all-topic-partitions")
    assert (done.exit_code, done.stdout) == (said.code, said.out) == (0, "")


def test_an_unclean_election_spares_partitions_that_have_leaders(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics
) -> None:
    name = topic([[1, 2]])
    asked = ("--election-type", "unclean", "--topic", name, "--partition", 0)
    done, said = run(COMMAND, *asked), java(*asked)
    assert (done.exit_code, done.stdout) == (said.code, said.out)
    assert done.stdout == f"Valid replica already elected for partitions {name}-0\n"
    assert leaders(cluster, name) == [1]


def test_what_cannot_be_elected_hides_nothing_and_is_exit_code_1(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """What is said of it is Kafka's, without the name of an exception."""
    name = topic([[1, 2]])
    turned(cluster, name, 1)
    file = listed(tmp_path, (name, 0), (name, 99), ("no-such", 0))
    done, said = run(COMMAND, *PREFERRED, FILE, file), java(*PREFERRED, FILE, file)
    assert done.stdout == f"Successfully completed leader election (PREFERRED) for partitions {name}-0\n"
    theirs = said.out.replace("org.apache.kafka.common.errors.UnknownTopicOrPartitionException: ", "").splitlines()
    assert (done.exit_code, sorted(done.stderr.splitlines()[:-1])) == (said.code, sorted(theirs[1:]))
    assert done.stderr.splitlines()[-1] == "2 replica(s) could not be elected"
    assert "2 replica(s) could not be elected" in said.err
    answer = json.loads(run(COMMAND, *PREFERRED, FILE, file, "--json").stdout)
    assert answer["already_elected"] == [{"topic": name, "partition": 0}]
    assert [(bad["topic"], bad["partition"], bad["code"]) for bad in answer["refused"]] == [
        *sorted([(name, 99, 3), ("no-such", 0, 3)])
    ]


@pytest.mark.parametrize(
    "text,problem",
    [
        ('{"version":1}', 'Replica election data is missing "partitions" field'),
        (
            '{"partitions":[{"topic":"t","partition":0},{"topic":"t","partition":0}]}',
            "Replica election data contains duplicate partitions: [t-0]",
        ),
    ],
)
def test_a_bad_file_is_refused_in_kafkas_words(
    *, run: Kedge, java: Java, tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    done, said = run(COMMAND, *PREFERRED, FILE, file), java(*PREFERRED, FILE, file)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: {problem}\n")
    assert problem in said.err + said.out
