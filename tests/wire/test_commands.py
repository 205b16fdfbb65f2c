"""`kedge kafka configs` and `reassign-partitions` at Kedge's own gateway."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge import LogReport, NewTopic, TopicPartition
from kedge.controller.cli.root import kedge
from tests.kit.waiting import until
from tests.wire.asking import contents, in_sync
from tests.wire.served import Served

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
TP = TopicPartition("orders", 0)


@pytest.fixture
def served() -> Iterator[Served]:
    """A topic `orders` whose one partition prefers 1, then 2."""
    with Served() as opened:
        opened.controller.admin.create_topics({"orders": NewTopic(replica_assignments={0: [1, 2]})}).all().result(30)
        until(lambda: leader(opened) == 1)
        yield opened


@pytest.fixture
def run(served: Served) -> Run:
    def invoke(command: str, *arguments: object) -> Result:
        return CliRunner().invoke(
            kedge, ["kafka", command, "--bootstrap-server", served.bootstrap, *map(str, arguments)]
        )

    return invoke


def leader(served: Served) -> int:
    row = served.controller.query(lambda view: view.partition(TP.topic, TP.partition)).result(30)
    assert row is not None
    return int(row.leader)


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
    plan = tmp_path / "listed.json"
    plan.write_text(listed.stdout)
    before = contents(served)
    again = run(command, "--execute", "--reassignment-json-file", plan)
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (
        0,
        "Successfully started partition reassignments for bills-1,orders-0",
    )
    assert (moving(), contents(served)) == (targets, before)
    for action in ("--verify", "--progress"):
        assert run(command, action, "--reassignment-json-file", plan).exit_code == 0
    assert run(command, "--cancel", "--reassignment-json-file", plan).exit_code == 0
    assert (moving(), run(command, "--list").stdout) == ({}, empty)
    assert run(command, "--execute", "--reassignment-json-file", plan).exit_code == 0
    assert moving() == targets


@pytest.mark.checklist(65, 66, 67, 68, 69, 75)
def test_progress_at_a_gateway_without_logs_shows_what_was_reported(served: Served, run: Run, tmp_path: Path) -> None:
    """It has no ListOffsets: the lag is that of DescribeLogDirs, and unknown before the host reported one."""
    file = tmp_path / "plan.json"
    targets = [("orders", 0, [1, 3, 42]), ("asdf", 0, [1]), ("orders", 42, [1])]
    rows = [{"topic": topic, "partition": p, "replicas": replicas} for topic, p, replicas in targets]
    file.write_text(json.dumps({"partitions": rows}))

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
