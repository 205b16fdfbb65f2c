"""`kedge kafka` at Kedge's own gateway: settings, moves, throttles and topics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kedge import ConfigResource, ConfigResourceType, LogReport, NewTopic, TopicPartition
from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.root import kedge
from kedge.controller.wire.apis import APIS, versions
from tests.kit.waiting import until
from tests.wire.asking import contents, in_sync
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S, Served

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
TP = TopicPartition("orders", 0)


@pytest.fixture
def denied() -> set[tuple[str, str]]:
    """Operations and resources that no caller may use."""
    return set()


@pytest.fixture
def served(denied: set[tuple[str, str]]) -> Iterator[Served]:
    """A topic `orders` whose one partition prefers 1, then 2."""
    with Served(authorizer=lambda _, operation, resource: (operation, resource) not in denied) as opened:
        create_orders(opened)
        yield opened


def create_orders(served: Served) -> None:
    served.controller.admin.create_topics({"orders": NewTopic(replica_assignments={0: [1, 2]})}).all().result(30)
    until(lambda: partition(served).leader == 1)


def partition(served: Served) -> Any:
    return served.controller.query(lambda view: view.partition(TP.topic, TP.partition)).result(30)


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Path]:
    """A file with a plan of these rows: topic, partition, replicas."""

    def write(*rows: tuple[str, int, list[int]]) -> Path:
        named = [{"topic": topic, "partition": number, "replicas": replicas} for topic, number, replicas in rows]
        file = tmp_path / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": named}))
        return file

    return write


def run_at(bootstrap: str, command: str, *words: object) -> Result:
    return CliRunner().invoke(kedge, ["kafka", command, "--bootstrap-server", bootstrap, *map(str, words)])


@pytest.fixture
def run(served: Served) -> Run:
    return partial(run_at, served.bootstrap)


def test_settings_of_a_topic_come_and_go(run: Run) -> None:
    done = run("configs", "--alter", "--topic", "orders", "--add-config", "cleanup.policy=[compact,delete]")
    assert (done.exit_code, done.output) == (0, "Completed updating config for topic orders.\n")
    done = run("configs", "--describe", "--entity-type", "topics")
    synonyms = "{DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}"
    assert (done.exit_code, done.output) == (
        0,
        f"Dynamic configs for topic orders are:\n  cleanup.policy=compact,delete sensitive=false synonyms={synonyms}\n",
    )
    told = json.loads(run("configs", "--describe", "--topic", "orders", "--all", "--json").stdout)
    (entity,) = told["entities"]
    sources = {each["name"]: each["source"] for each in entity["configs"]}
    assert (sources["cleanup.policy"], sources["segment.ms"]) == ("DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG")
    done = run("configs", "--alter", "--topic", "orders", "--delete-config", "cleanup.policy")
    assert done.exit_code == 0
    told = json.loads(run("configs", "--describe", "--topic", "orders", "--json").stdout)
    assert told == {"entities": [{"entity_type": "topics", "entity_name": "orders", "configs": []}], "refused": []}


@pytest.mark.checklist(57, 178)
def test_settings_of_brokers_are_those_of_each_and_of_all(run: Run) -> None:
    rate, replicas = "leader.reassignment.throttled.rate", "leader.replication.throttled.replicas"
    assert run("configs", "--alter", "--broker", 2, "--add-config", f"{rate}=1000").exit_code == 0
    assert run("configs", "--alter", "--broker-defaults", "--add-config", "log.retention.ms=7200000").exit_code == 0
    lines = run("configs", "--describe", "--entity-type", "brokers").stdout.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [
        *(f"Dynamic configs for broker {broker} are:" for broker in (1, 2, 3)),
        "Default configs for brokers in the cluster are:",
    ]
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [f"{rate}=1000", "log.retention.ms=7200000"]
    (told,) = json.loads(run("configs", "--describe", "--broker", 2, "--json").stdout)["entities"]
    assert [(each["name"], each["value"], each["source"]) for each in told["configs"]] == [
        (rate, "1000", "DYNAMIC_BROKER_CONFIG")
    ]
    assert run("configs", "--alter", "--topic", "orders", "--add-config", f"{replicas}=[0:1,0:2]").exit_code == 0
    assert f"  {replicas}=0:1,0:2 " in run("configs", "--describe", "--topic", "orders").stdout
    done = run("configs", "--describe", "--broker-logger", 1)
    assert (done.exit_code, done.stderr) == (1, "Error: broker-logger 1: Unsupported resource type: 8\n")


@pytest.mark.parametrize(
    "words,problem",
    [
        (
            ("--topic", "none", "--add-config", "segment.ms=9"),
            "The topic 'none' does not exist.",
        ),
        (("--topic", "orders", "--add-config", "segment.ms=9,no.such=1"), "Unknown topic config name: no.such"),
        (("--topic", "orders", "--add-config", "segment.ms=9", "--delete-config", "no.such"), "Invalid config(s): no."),
        (("--topic", "orders", "--add-config", "segment.ms=x"), "Invalid value x for configuration segment.ms: Not a"),
        (("--broker", 9, "--add-config", "log.retention.ms=9"), "The broker '9' does not exist."),
    ],
)
def test_what_is_refused_changes_nothing(run: Run, served: Served, words: tuple[object, ...], problem: str) -> None:
    before = contents(served)
    done = run("configs", "--alter", *words)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith(f"Error: {problem}")
    assert contents(served) == before


@pytest.mark.checklist(61, 123)
def test_every_action_takes_the_plan_that_was_listed_and_nothing_is_listed_when_nothing_moves(
    served: Served, run: Run, tmp_path: Path
) -> None:
    """What it names can be cancelled and begun again by it."""
    command, empty = "reassign-partitions", '{"version":1,"partitions":[]}\n'
    assert run(command, "--list").stdout == empty
    bills = TopicPartition("bills", 1)
    served.controller.admin.create_topics({"bills": NewTopic(-1, -1, [[1, 2], [2, 3]])}).all().result(30)
    targets = {TP: (3, 2), bills: (1, 3)}
    served.controller.admin.alter_partition_reassignments(targets).all().result(30)

    def moving() -> dict[TopicPartition, tuple[int, ...]]:
        found = served.controller.admin.list_partition_reassignments().result(30)
        return {tp: move.target_replicas for tp, move in found.items()}

    listed = run(command, "--list")
    assert json.loads(listed.stdout) == {
        "version": 1,
        "partitions": [
            {"topic": tp.topic, "partition": tp.partition, "replicas": list(targets[tp]), "log_dirs": ["any", "any"]}
            for tp in (bills, TP)
        ],
    }
    saved = tmp_path / "listed.json"
    saved.write_text(listed.stdout)
    before = contents(served)
    again = run(command, "--execute", "--reassignment-json-file", saved)
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (
        0,
        "Successfully started partition reassignments for bills-1,orders-0",
    )
    assert (moving(), contents(served)) == (targets, before)
    for action in ("--verify", "--progress"):
        assert run(command, action, "--reassignment-json-file", saved).exit_code == 0
    assert run(command, "--cancel", "--reassignment-json-file", saved).exit_code == 0
    assert (moving(), run(command, "--list").stdout) == ({}, empty)
    assert run(command, "--execute", "--reassignment-json-file", saved).exit_code == 0
    assert moving() == targets


@pytest.mark.checklist(65, 66, 67, 68, 69, 75)
def test_progress_at_a_gateway_without_logs_shows_what_was_reported(
    served: Served, run: Run, plan: Callable[..., Path]
) -> None:
    """It has no ListOffsets: the lag is that of DescribeLogDirs, and unknown before the host reported one."""
    file = plan(("orders", 0, [1, 3, 42]), ("asdf", 0, [1]), ("orders", 42, [1]))

    def shown() -> list[str]:
        done = run("reassign-partitions", "--progress", "--reassignment-json-file", file)
        assert (done.exit_code, done.stderr) == (0, "")
        return done.stdout.splitlines()

    def report(broker: int, end: int) -> None:
        served.controller.report_log([LogReport(TP.topic, TP.partition, broker, 0, 0, end, end, 0)])

    expected = [
        "Topic      Partition  Broker  Status",
        "-------------------------------------",
        "asdf       0          1       Unknown topic",
        "orders     0          1       In sync",
        "orders     0          3       Broker does not host this partition",
        "orders     0          42      Unknown broker",
        "orders     42         1       Unknown partition",
    ]
    assert shown() == expected
    served.controller.admin.alter_partition_reassignments({TP: [1, 3]}).all().result(30)
    assert shown()[4] == "orders     0          3       Behind: unknown number of messages"
    report(1, 100)
    for end, behind in ((0, 100), (40, 60), (100, 0)):
        report(3, end)
        until(lambda: shown()[4] == f"orders     0          3       Behind: {behind} messages behind")  # noqa: B023
    in_sync(served, TP, [1, 2, 3])
    assert shown()[4] == "orders     0          3       In sync"


@pytest.mark.checklist(72)
def test_each_partition_is_verified_as_completed_failed_or_in_progress(
    served: Served, run: Run, plan: Callable[..., Path]
) -> None:
    def verified(replicas: list[int]) -> tuple[int, str]:
        file = plan(("orders", 0, replicas))
        done = run("reassign-partitions", "--verify", "--reassignment-json-file", file)
        return done.exit_code, done.stdout.splitlines()[1]

    other = "There is no active reassignment of partition orders-0, but replica set is 1,2 rather than 2,3."
    assert verified([2, 3]) == (0, other)
    assert verified([1, 2]) == (0, "Reassignment of partition orders-0 is completed.")
    move(served)
    assert verified([2, 3]) == (0, "Reassignment of partition orders-0 is still in progress.")


def move(served: Served) -> None:
    served.controller.admin.alter_partition_reassignments({TP: [2, 3]}).all().result(30)


@pytest.mark.checklist(129)
def test_without_the_right_to_see_moves_a_moving_partition_is_described_without_its_target(
    served: Served, run: Run, denied: set[tuple[str, str]]
) -> None:
    move(served)
    words = ("topics", "--describe", "--topic", "orders")
    assert run(*words).stdout.splitlines()[1].endswith("\tTarget Replicas: 2,3")
    denied.add(("DESCRIBE", "CLUSTER"))
    done = run(*words)
    assert (done.exit_code, "Target Replicas" in done.stdout) == (0, False)
    assert done.stdout.splitlines()[1].startswith("\tTopic: orders\tPartition: 0\t")
    assert "Couldn't query reassignments" in done.stderr


_WATCHED = """
import json, sys
ports = set()
sys.addaudithook(lambda event, said: ports.add(said[1][1]) if event == "socket.connect" else None)
from kedge.controller.cli.root import kedge
try:
    kedge(sys.argv[1:])
finally:
    print(json.dumps(sorted(ports)), file=sys.stderr)
"""


@pytest.mark.checklist(127)
def test_a_throttle_is_set_by_requests_to_brokers_and_never_in_the_store(
    served: Served, plan: Callable[..., Path]
) -> None:
    """Also by a process of its own, which knows one address: it connects to the gateway's alone."""
    words = ["--bootstrap-server", served.bootstrap, "--reassignment-json-file", str(plan(("orders", 0, [2, 3])))]
    command = [sys.executable, "-c", _WATCHED, "kafka", "reassign-partitions", "--execute", "--throttle", "5000"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    begun = "Successfully started partition reassignment for orders-0"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, begun)
    ports = set(json.loads(done.stderr.splitlines()[-1]))
    with connected(Endpoint(served.bootstrap)) as cluster:
        gateway = {served.address.port, *(broker.port for broker in cluster.brokers().values())}
    assert set() < ports <= gateway
    assert served.gateway.counts["AlterInterbrokerThrottledRates"] > 0
    for broker in ("1", "2", "3"):
        resource = ConfigResource(ConfigResourceType.BROKER, broker)
        found = served.controller.admin.describe_configs([resource])[resource].result(30)
        assert found["leader.reassignment.throttled.rate"].value == "5000"


def test_a_throttle_is_refused_where_the_server_does_not_record_it(plan: Callable[..., Path]) -> None:
    """The server offers what Kafka does. Nothing is set, and nothing moves."""
    apis = versions.with_apis({key: each for key, each in APIS.items() if key < 20_000}, ())
    with Served(apis=apis) as opened:
        create_orders(opened)
        before = contents(opened)
        words = ("--execute", "--reassignment-json-file", plan(("orders", 0, [2, 3])), "--throttle", 5000)
        done = run_at(opened.bootstrap, "reassign-partitions", *words)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: --throttle needs a server of Kedge, because Kafka does not record who")
        assert contents(opened) == before


def test_a_plan_that_is_refused_as_a_whole_leaves_no_throttle(plan: Callable[..., Path]) -> None:
    """The client may set a throttle, may not move, and may take the throttle back."""
    may_alter = iter([True, False, True, True])  # its rates and its lists

    def permits(_principal: str, operation: str, resource: str) -> bool:
        return next(may_alter) if (operation, resource) == ("ALTER", "CLUSTER") else True

    with Served(authorizer=permits) as opened:
        create_orders(opened)
        words = ("--execute", "--reassignment-json-file", plan(("orders", 0, [2, 3])), "--throttle", 1000)
        done = run_at(opened.bootstrap, "reassign-partitions", *words)
        assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, "Error: Cluster authorization failed.")
        assert next(may_alter, None) is None
        described = run_at(opened.bootstrap, "configs", "--describe", "--entity-type", "brokers")
        assert "throttled.rate" not in described.stdout


SIX_RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
KEDGE = (sys.executable, "-c", "from kedge.controller.cli import main; main()")


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(racks=SIX_RACKS) as opened:
        yield opened


def replicas(living: Living, topic: str) -> list[tuple[int, ...]]:
    return living.cluster.controller.query(lambda view: [p.replicas for p in view.partitions_of(topic)]).result(30)


@pytest.mark.checklist(154)
@pytest.mark.parametrize("option, by_id", [("--ignore-racks", True), ("--if-not-exists", False)])
def test_without_racks_leaders_follow_the_ids(living: Living, option: str, by_id: bool) -> None:
    topic = f"by-id-{by_id}"
    words = ("--create", "--topic", topic, option, "--partitions", 6, "--replication-factor", 2)
    done = run_at(living.bootstrap, "topics", *words)
    assert done.exit_code == 0, done.output
    leaders = [each[0] for each in replicas(living, topic)]
    assert ([(broker - leaders[0]) % 6 for broker in leaders] == [0, 1, 2, 3, 4, 5]) == by_id
    assert by_id or all(len({SIX_RACKS[broker] for broker in each}) == 2 for each in replicas(living, topic))


@pytest.mark.checklist(221)
def test_before_partitions_go_a_person_is_asked(living: Living) -> None:
    """At a terminal; keyed records are named, and only yes deletes."""
    living.topic("shrunk", [[1, 2], [2, 3], [3, 1]])
    words = [*KEDGE, "kafka", "topics", "--bootstrap-server", living.bootstrap, "--alter", "--topic", "shrunk"]

    def answered(answer: bytes) -> tuple[int, str]:
        person, terminal = os.openpty()
        try:
            os.write(person, answer)
            done = subprocess.run(
                [*words, "--partitions", "2"], stdin=terminal, capture_output=True, text=True, check=False, timeout=60
            )
        finally:
            os.close(person)
            os.close(terminal)
        return done.returncode, done.stderr

    code, said = answered(b"n\n")
    assert code == 1
    assert "WARNING: If partitions are removed from a topic that has a key" in said
    assert "Delete 1 partition of shrunk at once, with all that it holds?" in said
    assert len(replicas(living, "shrunk")) == 3
    assert answered(b"y\n")[0] == 0
    assert len(replicas(living, "shrunk")) <= 3
