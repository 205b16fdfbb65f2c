"""The operators' commands against `kedge serve`: what Kedge can do beyond Kafka, by its private requests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from kafka import KafkaProducer

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.kafka.errors import Refused
from kedge.controller.cli.kafka.values import Resource, ResourceType, Source
from kedge.controller.cli.root import kedge
from tests.kit.waiting import until
from tests.serve.processes import begun
from tests.wire.living import Living

pytestmark = pytest.mark.slow

FILE = "--reassignment-json-file"
DEADLINE_S = 20.0
RECORDS = 100  # of 10 kB
COPY_RATE = "300000"
PROGRAM = "from kedge.controller.cli import main; main()"


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """Copies take seconds. It has to be silent until its end."""
    where = ("--listen", "127.0.0.1:0", "--no-status", "--json")
    process = begun(*where, "--broker-count", "3", "--racks", "a,b,c", "--copy-rate", COPY_RATE)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["bootstrap"]
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, said) == (0, "")
    finally:
        process.kill()
        process.wait(DEADLINE_S)


@pytest.fixture
def run(servers: str) -> Callable[..., Result]:
    def invoke(command: str, *arguments: object) -> Result:
        return CliRunner().invoke(
            kedge, ["kafka", command, "--bootstrap-server", servers, *map(str, arguments)], input=""
        )

    return invoke


def created(run: Callable[..., Result], name: str, assignment: str) -> str:
    done = run("topics", "--create", "--topic", name, "--replica-assignment", assignment)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, f"Created topic {name}.")
    return name


def filled(run: Callable[..., Result], servers: str, name: str, assignment: str) -> str:
    """A topic with records in partition 0."""
    created(run, name, assignment)
    producer = KafkaProducer(bootstrap_servers=servers, acks="all")
    for sent in [producer.send(name, value=b"x" * 10_000, partition=0) for _ in range(RECORDS)]:
        sent.get(DEADLINE_S)
    producer.close()
    return name


def plan(folder: Path, name: str, replicas: list[int]) -> Path:
    file = folder / "plan.json"
    file.write_text(json.dumps({"partitions": [{"topic": name, "partition": 0, "replicas": replicas}]}))
    return file


def throttles(servers: str, topic: str) -> dict[str, dict[str, str | None]]:
    """What is set of them, by broker and topic."""
    with connected(Endpoint(servers)) as cluster:
        resources = [Resource(ResourceType.BROKER, str(broker)) for broker in cluster.brokers()]
        found: dict[str, dict[str, str | None]] = {}
        for resource, said in cluster.describe_configs([*resources, Resource(ResourceType.TOPIC, topic)]).items():
            assert not isinstance(said, Refused)
            found[resource.name] = {
                s.name: s.value
                for s in said.values()
                if "throttled" in s.name and s.source in {Source.DYNAMIC_BROKER_CONFIG, Source.DYNAMIC_TOPIC_CONFIG}
            }
        return {name: settings for name, settings in found.items() if settings}


@pytest.mark.full
@pytest.mark.checklist(62, 63, 65, 127, 176, 229)
def test_a_throttle_is_set_by_new_configs_changed_and_gone_at_the_end(
    run: Callable[..., Result], servers: str, tmp_path: Path
) -> None:
    """No --verify is needed, so none is suggested. The lag of a replica that is being added shrinks while it copies."""
    name = filled(run, servers, "throttled", "1:2")
    file = plan(tmp_path, name, [2, 3])
    done = run("reassign-partitions", "--execute", FILE, file, "--throttle", 5000)
    assert (done.exit_code, "--verify" in done.stdout) == (0, False)
    rates = {"leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate"}
    assert throttles(servers, name) == {broker: dict.fromkeys(rates, "5000") for broker in ("1", "2", "3")}

    def lags() -> dict[int, int | None]:
        """Of each replica that the plan wants; None of one in sync, or of which nothing is known yet."""
        found = json.loads(run("reassign-partitions", "--progress", FILE, file, "--json").stdout)["replicas"]
        return {each["broker"]: each["behind"] for each in found}

    until(lambda: lags()[3] is not None)
    before = lags()
    assert (before[2], 0 < (before[3] or 0) <= RECORDS) == (None, True)
    listed = json.loads(run("reassign-partitions", "--list").stdout)
    assert [entry["replicas"] for entry in listed["partitions"]] == [[2, 3]]

    done = run("reassign-partitions", "--execute", FILE, file, "--throttle", 30_000)
    assert (done.exit_code, throttles(servers, name)["3"]) == (0, dict.fromkeys(rates, "30000"))
    until(lambda: 0 < (lags()[3] or 0) < (before[3] or 0))
    run("reassign-partitions", "--execute", FILE, file, "--throttle", 2**40)
    done = run("reassign-partitions", "--progress", "--watch", FILE, file)
    assert (done.exit_code, done.stderr) == (0, "")
    until(lambda: throttles(servers, name) == {})


@pytest.mark.full
@pytest.mark.checklist(126, 230)
def test_all_moves_are_cancelled_and_their_throttles_go(
    run: Callable[..., Result], servers: str, tmp_path: Path
) -> None:
    name = filled(run, servers, "cancelled", "1:2")
    run("reassign-partitions", "--execute", FILE, plan(tmp_path, name, [1, 3]), "--throttle", 5000)
    assert throttles(servers, name)
    done = run("reassign-partitions", "--cancel-all", "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["cancelled"]) == (0, [{"topic": name, "partition": 0}])
    until(lambda: throttles(servers, name) == {})
    assert json.loads(run("reassign-partitions", "--cancel-all", "--json").stdout)["cancelled"] == []


@pytest.mark.checklist(221, 222, 223, 224)
def test_a_topic_gets_fewer_partitions_later_or_at_once(run: Callable[..., Result]) -> None:
    """What is done at once is requested first, and no server answers here."""
    name = created(run, "shrunk", "1:2,2:3,3:1")
    fewer = ("topics", "--alter", "--topic", name, "--partitions", 2)
    done = run(*fewer)
    assert (
        done.exit_code,
        "nothing was changed: --yes deletes 1 partition of shrunk at once, with all that it holds;" in done.stderr,
    ) == (1, True)
    done = run(*fewer, "--delete-partitions-delay")
    assert (done.exit_code, "WARNING: If partitions are removed from a topic that has a key" in done.stderr) == (
        0,
        True,
    )
    assert done.stdout == "Read-only now, and deleted when the retention ends: partition(s) 2 of topic shrunk.\n"
    described = run("topics", "--describe", "--topic", name).stdout.splitlines()
    assert [line.endswith("Status: readOnly") for line in described[1:]] == [False, False, True]
    done = run("topics", "--alter", "--topic", name, "--partitions", 1, "--delete-partitions-delay")
    problem = "topic shrunk is being reduced now; nothing was changed; try again when that has ended"
    assert (done.exit_code, done.stderr) == (1, f"Error while executing topic command : {problem}\n")
    done = run(*fewer, "--yes")
    assert (done.exit_code, done.stdout) == (0, "Deleted partition(s) 2 of topic shrunk.\n")
    until(lambda: "PartitionCount: 2\t" in run("topics", "--describe", "--topic", name).stdout)


def test_more_partitions_than_a_topic_has_are_refused_before_they_are_placed() -> None:
    many = ("--topic", "many", "--partitions", "2147483647")
    with Living() as living:
        living.topic("many", [[1, 2]])
        for words in (("--create", *many, "--replication-factor", "2"), ("--alter", *many)):
            done = CliRunner().invoke(
                kedge, ["kafka", "topics", "--bootstrap-server", living.bootstrap, *words, "--ignore-racks"]
            )
            assert (done.exit_code, "--ignore-racks places at most 100000 partitions" in done.stderr) == (1, True)


@pytest.mark.checklist(153, 154, 155)
def test_where_some_brokers_have_racks_and_some_none_that_has_to_be_said(tmp_path: Path) -> None:
    """Nothing is made or proposed before."""
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics":[{"topic":"blind"}]}')
    wanted = ("topics", "--create", "--topic", "blind", "--partitions", "3", "--replication-factor", "2")
    spread = ("reassign-partitions", "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3")
    with Living(racks={1: "a", 2: "b", 3: ""}) as living:

        def run(*words: str) -> Result:
            return CliRunner().invoke(kedge, ["kafka", words[0], "--bootstrap-server", living.bootstrap, *words[1:]])

        for words in (wanted, ("topics", "--create", "--topic", "blind")):
            done = run(*words)
            assert (done.exit_code, done.stdout) == (1, "")
            assert "Not all brokers have rack information. Add --ignore-racks in command line" in done.stderr
        assert run("topics", "--list").stdout == ""
        assert run(*wanted, "--ignore-racks").stdout == "Created topic blind.\n"
        done = run("topics", "--alter", "--topic", "blind", "--partitions", "6")
        assert (done.exit_code, "Add --ignore-racks" in done.stderr) == (1, True)
        assert run("topics", "--alter", "--topic", "blind", "--partitions", "6", "--ignore-racks").exit_code == 0
        done = run(*spread)
        assert (done.exit_code, "Add --disable-rack-aware in command line" in done.stderr) == (1, True)
        proposed = json.loads(run(*spread, "--disable-rack-aware", "--json").stdout)["proposed"]["partitions"]
        leaders = [entry["replicas"][0] for entry in proposed]
        assert (leaders[:3], sorted(leaders[:3])) == (leaders[3:], [1, 2, 3])


@pytest.mark.checklist(154, 155)
def test_a_proposal_puts_no_two_replicas_into_a_rack_unless_that_is_asked_for(tmp_path: Path) -> None:
    """Six brokers in three racks, replicas of each partition in one: the proposal spreads them, and leads evenly."""
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics":[{"topic":"close"}]}')
    with Living(racks=racks) as living:
        living.topic("close", [[1, 2], [3, 4], [5, 6]] * 2)
        asked = ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3,4,5,6", "--json")

        def proposed(seed: int, *more: str) -> list[list[int]]:
            words = [
                "kafka",
                "reassign-partitions",
                "--bootstrap-server",
                living.bootstrap,
                *asked,
                "--seed",
                str(seed),
                *more,
            ]
            entries = json.loads(CliRunner().invoke(kedge, words).stdout)["proposed"]["partitions"]
            return [entry["replicas"] for entry in entries]

        def shares_a_rack(replicas: list[int]) -> bool:
            return len({racks[broker] for broker in replicas}) < len(replicas)

        for seed in range(5):
            found = proposed(seed)
            assert not any(map(shares_a_rack, found))
            assert sorted(replicas[0] for replicas in found) == [1, 2, 3, 4, 5, 6]
        blind = [proposed(seed, "--disable-rack-aware") for seed in range(5)]
        assert any(shares_a_rack(replicas) for found in blind for replicas in found)


def test_a_setting_that_is_described_and_cannot_be_changed_is_said_to_be_read_only(run: Callable[..., Result]) -> None:
    assert "broker.id=1 " in run("configs", "--describe", "--all", "--broker", 1).stdout
    done = run("configs", "--alter", "--broker", 1, "--add-config", "broker.id=2")
    said = "broker.id is read-only: it is set when the broker or the controller is started"
    assert (done.exit_code, done.stderr) == (1, f"Error: brokers/1: {said}\n")


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "--create", "--topic", "{name}"),
        ("topics", "--list"),
        ("configs", "--alter", "--broker", "1", "--add-config", "log.cleaner.threads=2"),
        ("configs", "--describe", "--broker", "1"),
        ("reassign-partitions", "--list"),
    ],
    ids=" ".join,
)
def test_a_stdout_that_cannot_be_written_is_one_line(servers: str, arguments: tuple[str, ...]) -> None:
    """As of every other command; where the reader is gone, there is nothing to say."""

    def ended(stdout: Any, name: str) -> tuple[int, str]:
        words = [argument.format(name=name) for argument in arguments]
        command = [sys.executable, "-c", PROGRAM, "kafka", words[0], "--bootstrap-server", servers, *words[1:]]
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr

    with Path("/dev/full").open("w") as full:
        assert ended(full, "full") == (2, "kedge: stdout: No space left on device\n")
    out, into = os.pipe()
    os.close(out)
    with os.fdopen(into, "w") as pipe:
        assert ended(pipe, "gone") == (1, "")
