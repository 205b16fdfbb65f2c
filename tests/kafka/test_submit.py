"""`kedge plan submit --bootstrap-server` on a real Kafka cluster (KRaft): collected, planned, handed over, undone."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.values import Change, Op, Resource, ResourceType
from kedge.controller.cli.reassign.plan import read_plan
from kedge.controller.model.values import TopicPartition
from kedge.pipeline.submit.kept import progress_file
from tests.kafka.conftest import Kedge, Topics, submit
from tests.kafka.java_tools import ACLS, JavaTools
from tests.kafka.test_connecting import sasl
from tests.kafka_servers import BROKERS, USERS, KafkaCluster
from tests.kit.commands import plan as run_plan
from tests.kit.private import write_private
from tests.kit.waiting import until
from tests.pipeline_submit.served import exported, fill, objects, replicas, targets, throttles, wanted

pytestmark = [pytest.mark.server, pytest.mark.full]

LAYOUT: Final = ((1, 2), (2, 1), (2, 3))
RECORDS: Final = 10  # of 10 kB
COMMAND: Final = (sys.executable, "-c", "from kedge.controller.cli.root import kedge; kedge()", "plan", "submit")
RATE: Final = "leader.replication.throttled.rate"
LIST: Final = "follower.replication.throttled.replicas"


@pytest.fixture
def name(kafka_cluster: KafkaCluster, cluster: Cluster, topic: Topics) -> str:
    found = topic(LAYOUT)
    fill(kafka_cluster.servers, found, len(LAYOUT), RECORDS)
    until(lambda: not throttles(cluster, BROKERS, found))
    return found


@pytest.fixture
def own(cluster: Cluster, name: str) -> dict[Resource, dict[str, str | None]]:
    """The throttles that an operator set, and the list on the topic."""
    settings = {
        Resource(ResourceType.BROKER, "2"): {RATE: "777000"},
        Resource(ResourceType.TOPIC, name): {LIST: "2:3"},
    }
    changes = {at: [Change(key, Op.SET, value) for key, value in of.items()] for at, of in settings.items()}
    assert not cluster.alter_configs(changes)
    until(lambda: throttles(cluster, BROKERS, name) == settings)
    return {at: dict(of) for at, of in settings.items()}


@pytest.fixture(autouse=True)
def tidy(cluster: Cluster) -> Iterator[None]:
    """No throttle of a broker outlives the test."""
    yield
    keys = [Change(f"{side}.replication.throttled.rate", Op.DELETE) for side in ("leader", "follower")]
    assert not cluster.alter_configs({Resource(ResourceType.BROKER, str(broker)): keys for broker in BROKERS})


def rates_of_brokers(cluster: Cluster) -> set[str | None]:
    held = throttles(cluster, BROKERS)
    return {rate for of in held.values() for rate in of.values()}


def begin(cluster: Cluster, servers: str, plan: Path) -> subprocess.Popen[str]:
    """In a process of its own, which has a wave that runs."""
    command = [*COMMAND, str(plan), "--bootstrap-server", servers, "--poll", "0.2s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: bool(cluster.reassignments()) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.checklist(245)
def test_a_plan_is_handed_over_by_one_who_is_killed_and_one_who_ends_it_and_undone(
    *, kafka_cluster: KafkaCluster, run: Kedge, cluster: Cluster, name: str, own: object, tmp_path: Path
) -> None:
    """Under the rates of its waves, which the killed one leaves; in the end those of the operator are back."""
    servers = kafka_cluster.servers
    plan = exported(tmp_path, servers, "--throttle", "30000")
    before = replicas(cluster, name)
    process = begin(cluster, servers, plan)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert json.loads(progress_file(plan).read_bytes())["waves"] == {"1": "sent"}
    until(lambda: rates_of_brokers(cluster) == {"30000"})
    done = submit(servers, plan, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    *waves, last = objects(done)
    assert len(waves) == len([*(plan / "waves").iterdir()]) >= 2
    assert (last["end"], last["throttles"]) == ("done", True)
    assert replicas(cluster, name) == wanted(LAYOUT, plan, name)
    until(lambda: throttles(cluster, BROKERS, name) == own)
    said = run(
        "reassign-partitions", "--verify", "--preserve-throttles", "--reassignment-json-file", plan / "plan.json"
    )
    assert said.stdout.count("is completed.") == len(targets(plan))

    back = submit(servers, plan, "--rollback", "--no-throttle")
    assert (back.exit_code, back.stderr) == (0, "")
    assert replicas(cluster, name) == before
    assert throttles(cluster, BROKERS, name) == own


@pytest.mark.checklist(245)
def test_a_wave_that_runs_is_cancelled_with_its_throttles(
    *, kafka_cluster: KafkaCluster, cluster: Cluster, name: str, own: object, tmp_path: Path
) -> None:
    servers = kafka_cluster.servers
    plan = exported(tmp_path, servers, "--throttle", "2000")
    before = replicas(cluster, name)
    process = begin(cluster, servers, plan)
    process.send_signal(signal.SIGINT)
    assert "what runs continues in the cluster" in process.communicate()[1]
    done = submit(servers, plan, "--cancel")
    said = "cancelled: 1 wave, 1 move cancelled\n"
    assert (done.exit_code, done.stdout) == (0, said), done.output
    assert cluster.reassignments() == {}
    until(lambda: throttles(cluster, BROKERS, name) == own)
    assert {tp: set(found) for tp, found in replicas(cluster, name).items()} == {tp: set(r) for tp, r in before.items()}
    assert submit(servers, plan, "--rollback", "--no-throttle").exit_code == 0
    assert replicas(cluster, name) == before  # in their order, which Kafka does not restore when it cancels


@pytest.mark.parametrize(
    "waves, refused", [((), "reassignments: Cluster"), (("--throttle", "30000"), "throttles: topic .*: Topic")]
)
def test_what_the_operator_may_not_do_is_one_line_before_anything_is_set(
    *,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    name: str,
    tools: JavaTools,
    tmp_path: Path,
    waves: Sequence[str],
    refused: str,
) -> None:
    plan = exported(tmp_path, kafka_cluster.servers, *waves)
    acls = ("--bootstrap-server", kafka_cluster.servers, "--allow-principal", "User:limited", "--force")
    rights = ("--operation", "Describe", "--operation", "DescribeConfigs", "--cluster", "--topic", name)
    file = tmp_path / "client.properties"
    write_private(file, "".join(f"{k}={v}\n" for k, v in sasl("PLAIN", "limited", USERS["limited"]).items()))
    assert tools(ACLS, *acls, *rights, "--add").code == 0
    try:
        server = kafka_cluster.listener("SASL")
        until(lambda: "refuses to alter" in submit(server, plan, "--dry-run", "--command-config", file).stderr)
        done = submit(server, plan, "--command-config", file)
    finally:
        assert tools(ACLS, *acls, *rights, "--remove").code == 0
    assert (done.exit_code, done.stdout) == (2, "")
    assert re.fullmatch(f"kedge: the cluster refuses to alter {refused} authorization failed.\n", done.stderr)
    assert (throttles(cluster, BROKERS, name), progress_file(plan).exists()) == ({}, False)


def directories(cluster: Cluster, name: str) -> dict[tuple[TopicPartition, int], str]:
    """Where each replica lies, by partition and broker."""
    found = {broker: cluster.log_dirs(broker).replicas for broker in BROKERS}
    return {
        (tp, broker): place.path
        for broker, held in found.items()
        for tp, places in held.items()
        for place in places
        if tp.topic == name and not place.is_future
    }


def named_dirs(plan: Path, name: str) -> dict[tuple[TopicPartition, int], str]:
    return {key: path for key, path in read_plan(plan).dirs.items() if key[0].topic == name}


def test_new_replicas_are_created_in_the_directories_of_the_plan(
    kafka_cluster: KafkaCluster, cluster: Cluster, name: str, tmp_path: Path
) -> None:
    plan = exported(tmp_path, kafka_cluster.servers, "--throttle", "100MB")
    chosen = named_dirs(plan / "plan.json", name)
    assert chosen
    assert submit(kafka_cluster.servers, plan).exit_code == 0
    assert chosen.items() <= directories(cluster, name).items()


def test_directories_of_a_broker_are_levelled_and_moved_back(
    kafka_cluster: KafkaCluster, run: Kedge, cluster: Cluster, name: str, tmp_path: Path
) -> None:
    servers, tables = kafka_cluster.servers, tmp_path / "tables"
    tps = [TopicPartition(name, p) for p in range(len(LAYOUT))]
    (one, _) = kafka_cluster.log_dirs(2)
    cluster.alter_log_dirs(2, dict.fromkeys(tps, str(one)))
    until(lambda: {path for (_, broker), path in directories(cluster, name).items() if broker == 2} == {str(one)})
    before = directories(cluster, name)
    where = ("--cluster", "c", "--snapshot", "1", "--bootstrap-server", servers)
    assert run_plan("collect", tables, *where).exit_code == 0
    assert run_plan("balance-disks", tables, "--brokers", "2").exit_code in {0, 1}
    assert run_plan("export", tables, tmp_path / "out", "--name", "balance-disks").exit_code == 0
    for file in ("plan.json", "rollback/plan.json"):
        chosen = named_dirs(tmp_path / "out" / file, name)
        assert chosen
        done = run("reassign-partitions", "--execute", "--reassignment-json-file", tmp_path / "out" / file)
        assert done.exit_code == 0, done.output
        until(lambda: chosen.items() <= directories(cluster, name).items())  # noqa: B023 - ends before the next
    assert directories(cluster, name) == before
