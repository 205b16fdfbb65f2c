"""Everything is real but the disks: ZooKeeper, two `kedge serve` of which one is killed, stock clients and tools."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import uuid4

import kafka
import pytest
from click.testing import CliRunner
from kafka.admin import ConfigResource, ConfigResourceType

from kedge.controller.cli.root import kedge
from servers import LocalZooKeeper
from tests.clients import machine
from tests.clients.driven import JavaTools
from tests.e2e.cluster import TwoControllers
from tests.e2e.writer import DEADLINE_S, Writer, numbers_in
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.full]

BROKERS: Final = ("1", "2", "3")
FILE: Final = "--reassignment-json-file"
OF_KAFKA: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
OF_KEDGE: Final = ("leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate")
LISTS: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RECORDS, RECORD_BYTES = 40, 8_000  # of each partition, before it is moved
RATE: Final = 100_000  # bytes a second: a broker that gets four partitions of six takes 13 s


@pytest.fixture
def two(zookeeper_server: LocalZooKeeper) -> Iterator[TwoControllers]:
    place = f"zookeeper://{zookeeper_server.address}/e2e-{uuid4().hex}"
    with TwoControllers(place) as opened:
        yield opened


@pytest.fixture
def admin(two: TwoControllers) -> Iterator[kafka.KafkaAdminClient]:
    """A stock client; all three brokers are there."""
    with closing(kafka.KafkaAdminClient(bootstrap_servers=two.bootstrap)) as client:
        until(lambda: len(client.describe_cluster()["brokers"]) == len(BROKERS))
        yield client


@pytest.fixture
def java(two: TwoControllers) -> Iterator[JavaTools]:
    with JavaTools(machine.KAFKA_VERSIONS[-1], two.bootstrap) as tools:
        yield tools


def printed(words: list[str]) -> str:
    done = CliRunner().invoke(kedge, words)
    assert done.exit_code == 0, done.output
    return done.stdout


class Plans:
    """Files of plans in a folder, and the commands of Kedge that take them."""

    def __init__(self, two: TwoControllers, folder: Path) -> None:
        self._two, self._folder = two, folder

    def topics(self, topic: str) -> tuple[str, str, str, str]:
        """What --generate takes: the topic, to be spread over all brokers."""
        wanted = self.file(f"{topic}-topics.json", json.dumps({"version": 1, "topics": [{"topic": topic}]}))
        return "--topics-to-move-json-file", wanted, "--broker-list", ",".join(BROKERS)

    def file(self, name: str, text: str) -> str:
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def kedge(self, *arguments: str) -> str:
        """What `kedge kafka reassign-partitions` prints, which must succeed."""
        return printed(self._words(arguments))

    def settings(self, *entity: str) -> str:
        """What `kedge kafka configs` prints of what is set there."""
        return printed(["kafka", "configs", "--bootstrap-server", self._two.bootstrap, "--describe", *entity])

    def begun(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from kedge.controller.cli import main; main()", *self._words(arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _words(self, arguments: tuple[str, ...]) -> list[str]:
        return ["kafka", "reassign-partitions", "--bootstrap-server", self._two.bootstrap, *arguments]


@pytest.fixture
def plans(two: TwoControllers, tmp_path: Path) -> Plans:
    return Plans(two, tmp_path)


def topic_on_1_and_2(admin: kafka.KafkaAdminClient, topic: str, partitions: int) -> None:
    """It is led. Half of its partitions by either broker."""
    lies = {p: [1, 2] if p % 2 else [2, 1] for p in range(partitions)}
    admin.create_topics({topic: {"assignments": lies}}, wait_for_metadata=True)


def settings(admin: kafka.KafkaAdminClient, topic: str) -> dict[str, set[str]]:
    """Whatever is set that may hold copies of the topic, on it and on the brokers: the values, by name."""
    where = [ConfigResource(ConfigResourceType.TOPIC, topic)]
    where += [ConfigResource(ConfigResourceType.BROKER, broker) for broker in BROKERS]
    found: dict[str, set[str]] = {}
    for resources in admin.describe_configs(where).values():
        for configs in resources.values():
            for name in {*OF_KAFKA, *OF_KEDGE, *LISTS} & set(configs):
                found.setdefault(name, set()).add(configs[name]["value"])
    return found


def replicas(admin: kafka.KafkaAdminClient, topic: str) -> dict[int, list[int]]:
    """Where each partition lies, wholly in sync."""
    found = admin.describe_topics([topic])[0]["partitions"]
    assert all(sorted(p["isr_nodes"]) == sorted(p["replica_nodes"]) for p in found)
    return {p["partition_index"]: list(p["replica_nodes"]) for p in found}


def targets(plan: str) -> dict[int, list[int]]:
    return {row["partition"]: row["replicas"] for row in json.loads(plan)["partitions"]}


@pytest.mark.checklist(111)
def test_nothing_is_lost_and_no_throttle_is_left_when_the_active_controller_is_killed_half_way(
    two: TwoControllers, admin: kafka.KafkaAdminClient, java: JavaTools, plans: Plans
) -> None:
    """Java's tool proposes, begins and verifies, Kedge's follows; kafka-python writes, and waits for no failover."""
    topic_on_1_and_2(admin, "orders", 6)
    writer = Writer(two.bootstrap, "orders", 6)
    writer.fill(RECORDS, RECORD_BYTES)
    with writer.writing():
        plan = java("reassign", "--generate", *plans.topics("orders")).done.splitlines()[-1]
        to_copy = sum(3 in lies for lies in targets(plan).values()) * RECORDS * RECORD_BYTES
        assert to_copy > 0
        file = plans.file("orders.json", plan)
        assert java("reassign", "--execute", FILE, file, "--throttle", str(RATE)).code == 0
        during = settings(admin, "orders")
        assert {name: during.pop(name) for name in OF_KAFKA} == {name: {str(RATE)} for name in OF_KAFKA}
        assert set(during) == set(LISTS)
        watching = plans.begun("--progress", FILE, file, "--watch", "--json")

        until(lambda: two.held_bytes(3) > to_copy // 2)
        assert json.loads(plans.kedge("--list"))["partitions"]
        assert "messages behind" in plans.kedge("--progress", FILE, file)
        assert two.other.is_active
        before = writer.count
        two.other.kill()
        assert not two.here.is_active
        until(lambda: two.here.is_active)
        assert writer.count > before, "writing waited for the failover"

        until(lambda: "still in progress" not in java("reassign", "--verify", FILE, file).done)
        said, complaint = watching.communicate(timeout=DEADLINE_S)
        assert (watching.returncode, complaint) == (0, "")
        assert json.loads(said)["in_sync"]
    assert writer.failures == []
    completed = "".join(f"Reassignment of partition orders-{p} is completed.\n" for p in range(6))
    assert completed in java("reassign", "--verify", FILE, file).done
    assert replicas(admin, "orders") == targets(plan)
    assert admin.list_partition_reassignments() == {}
    assert settings(admin, "orders") == {}
    assert numbers_in(two.bootstrap, "orders", [len(one) for one in writer.acknowledged]) == writer.acknowledged


@pytest.mark.checklist(62, 176, 229)
def test_a_throttle_of_kedges_own_command_goes_with_the_last_move(
    two: TwoControllers, admin: kafka.KafkaAdminClient, plans: Plans
) -> None:
    """--generate by racks, --execute --throttle, --progress; without --verify, though another controller ends it."""
    topic_on_1_and_2(admin, "bills", 3)
    writer = Writer(two.bootstrap, "bills", 3)
    writer.fill(RECORDS, RECORD_BYTES)
    plan = plans.kedge("--generate", *plans.topics("bills"), "--seed", "1").splitlines()[-1]
    file = plans.file("bills.json", plan)
    assert sum(3 in lies for lies in targets(plan).values()) == 2
    plans.kedge("--execute", FILE, file, "--throttle", str(RATE))
    assert settings(admin, "bills") == {name: {str(RATE)} for name in OF_KEDGE}
    assert all(f"{name}={RATE}" in plans.settings("--broker", "3") for name in OF_KEDGE)
    assert "messages behind" in plans.kedge("--progress", FILE, file)
    two.other.kill()
    assert json.loads(plans.kedge("--progress", FILE, file, "--watch", "--json"))["in_sync"]
    assert replicas(admin, "bills") == targets(plan)
    until(lambda: settings(admin, "bills") == {})
    assert [plans.settings("--broker", broker).count("thrott") for broker in BROKERS] == [0, 0, 0]
    assert "thrott" not in plans.settings("--topic", "bills")
    assert numbers_in(two.bootstrap, "bills", [len(one) for one in writer.acknowledged]) == writer.acknowledged
