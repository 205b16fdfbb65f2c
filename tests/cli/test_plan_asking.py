"""`kedge plan collect --bootstrap-server`: what a cluster tells of itself is what its store holds, and more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from kedge import LogReport, NewTopic, TopicPartition
from kedge.controller.wire.apis import logdirs
from kedge.controller.wire.calls import Address
from kedge.pipeline import local
from kedge.pipeline.collect.gathered import Gathered
from kedge.pipeline.collect.store import from_store
from kedge.pipeline.tables.declared import BROKER, BROKER_VALID, PARTITION, REJECTED_ROWS, REPLICA_LOAD, REPLICA_LOG
from kedge.pipeline.tables.files import Place
from kedge.pipeline.tables.schema import Table
from tests.cli.ran import ended, refused
from tests.kit.commands import plan as run
from tests.wire.served import DEADLINE_S, RACKS, Served

PLAIN = {"cleanup.policy": "delete", "retention.ms": "60000"}
NO_DISKS = "no disk capacity is known, neither from brokers nor from files: no limit of disks applies"
COMPACTED = {"cleanup.policy": "compact", "retention.ms": "60000"}


@pytest.fixture(scope="module")
def denied() -> set[str]:
    """The operations that no client may do."""
    return set()


@pytest.fixture(scope="module")
def served(denied: set[str]) -> Iterator[Served]:
    """Topic orders is on 1 and 2, bills on 2 alone, on its way to 3. Only the sizes of orders are known."""
    with Served(RACKS, permits=lambda _, operation, __: operation not in denied) as opened:
        new = {
            "orders": NewTopic(replica_assignments={0: (1, 2)}, configs=PLAIN),
            "bills": NewTopic(replica_assignments={0: (2,)}, configs=COMPACTED),
        }
        opened.controller.admin.create_topics(new).all().result(DEADLINE_S)
        moved = opened.controller.admin.alter_partition_reassignments({TopicPartition("bills", 0): [3]})
        moved.all().result(DEADLINE_S)
        logs = [LogReport("orders", 0, 1, 0, 0, 100, 90, 6000), LogReport("orders", 0, 2, 0, 0, 60, 50, 3000)]
        opened.controller.report_log(logs)
        yield opened


@pytest.fixture
def collected(served: Served, denied: set[str], tmp_path: Path) -> Iterator[Any]:
    denied.clear()
    yield lambda *more: collect(tmp_path, "--bootstrap-server", served.bootstrap, *more)
    denied.clear()


def collect(tmp_path: Path, *more: object) -> Result:
    return run("collect", tmp_path, "--cluster", "c", "--snapshot", "1", *more)


def rows(tmp_path: Path, table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Place(tmp_path, "c", "1").read(table).to_pylist()
    return found


@pytest.mark.slow
def test_a_cluster_tells_what_its_store_holds(served: Served, collected: Any, tmp_path: Path) -> None:
    """Replicas, in sync, leaders, epochs, the move, whose row has before and after together, as Kafka's have; of topics
    that are compacted no retention."""
    done = collected()
    assert done.exit_code == 0, done.stderr
    gathered = Gathered()
    from_store(served.store, "store", gathered, timeout_s=5)
    wanted = sorted(gathered.tables()[PARTITION.name].to_pylist(), key=lambda row: row["topic"])
    for row in wanted:
        row["retention_ms"] = 60_000 if row["topic"] == "orders" else None
    wanted[0]["replicas"] = [3, 2]
    assert rows(tmp_path, PARTITION) == wanted
    assert [row["target_replicas"] for row in wanted] == [[3], None]
    assert [row["leader_epoch"] for row in wanted] != [0, 0]
    assert {row["broker_id"]: (row["rack"], row["state"]) for row in rows(tmp_path, BROKER_VALID)} == {
        broker: (rack, "alive") for broker, rack in RACKS.items()
    }


def test_a_function_collects_what_the_command_writes(served: Served, collected: Any, tmp_path: Path) -> None:
    assert collected().exit_code == 0
    found = local.collect(bootstrap_servers=served.bootstrap)
    for table in (BROKER, PARTITION, REPLICA_LOG):
        assert found[table.name].equals(Place(tmp_path, "c", "1").read(table)), table.name


def test_sizes_come_with_it_where_brokers_know_them(collected: Any, tmp_path: Path) -> None:
    assert collected().exit_code == 0
    logs = {(row["topic"], row["broker_id"]): row["size_bytes"] for row in rows(tmp_path, REPLICA_LOG)}
    assert logs == {("orders", 1): 6000, ("orders", 2): 3000}
    loads = {row["topic"]: (row["size_bytes"], row["write_bps"]) for row in rows(tmp_path, REPLICA_LOAD)}
    assert loads == {"bills": (None, None), "orders": (6000, 100.0)}


def disks(tmp_path: Path) -> dict[int, int | None]:
    return {row["broker_id"]: row["disk_capacity_bytes"] for row in rows(tmp_path, BROKER_VALID)}


def test_disks_that_no_broker_reports_are_unknown_and_a_note(collected: Any, tmp_path: Path) -> None:
    done = collected("--json")
    assert json.loads(done.stdout)["notes"] == [NO_DISKS]
    assert disks(tmp_path) == dict.fromkeys(RACKS)


def test_reported_volumes_are_capacities_unless_a_file_has_others(
    collected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway answers as a broker of Kafka 3.3 or later, with two directories, one of which is broken."""
    told = logdirs._told  # noqa: SLF001 - what a gateway does not know of its host

    def with_volumes(*given: Any) -> list[dict[str, Any]]:
        volume = {"total_bytes": 10**9, "usable_bytes": 10**9 - 6000}
        return [
            each
            for row in told(*given)
            for each in ({**row, **volume}, {**row, "log_dir": "/broken", "error_code": 56, "topics": []})
        ]

    monkeypatch.setattr(logdirs, "_told", with_volumes)
    assert collected().exit_code == 1  # of the broken directories
    assert disks(tmp_path) == dict.fromkeys(RACKS, 10**9)
    listed = tmp_path / "brokers.json"
    listed.write_text(json.dumps({"2": {"disk_capacity_bytes": 7, "rack": RACKS[2]}}))
    assert collected("--broker-list", listed).exit_code == 1
    assert disks(tmp_path) == dict.fromkeys(RACKS, 10**9) | {2: 7}


def test_unreported_settings_are_rejected_and_the_rest_is_taken_in(
    collected: Any, denied: set[str], tmp_path: Path
) -> None:
    denied.add("DESCRIBE_CONFIGS")
    assert collected().exit_code == 1
    told = [row["reason"].partition(":")[0] for row in rows(tmp_path, REJECTED_ROWS)]
    assert told == ["its configs cannot be read"] * 2
    assert [row["retention_ms"] for row in rows(tmp_path, PARTITION)] == [None, None]
    assert len(rows(tmp_path, REPLICA_LOG)) == 2


def test_without_the_right_to_know_what_moves_nothing_is_taken_in(
    collected: Any, denied: set[str], tmp_path: Path
) -> None:
    """A plan of it would move what moves."""
    denied.add("DESCRIBE")
    refused(collected())
    assert [*tmp_path.iterdir()] == []


@pytest.mark.full
def test_a_broker_that_does_not_answer_costs_its_sizes_alone(tmp_path: Path) -> None:
    """In a process of its own: kafka-python leaves sockets open that did not connect."""
    config = tmp_path / "config"
    config.write_text("request.timeout.ms=1500\n")
    named = ("--cluster", "c", "--snapshot", "1", "--command-config", config, "--bootstrap-server")
    with Served({1: "a", 4: "d"}, elsewhere={4: Address("127.0.0.1", 1)}) as opened:
        opened.controller.admin.create_topics({"t": NewTopic(replica_assignments={0: (1, 4)})}).all().result(DEADLINE_S)
        opened.controller.report_log([LogReport("t", 0, 1, 0, 0, 100, 90, 6000)])
        done = ended("plan", "collect", tmp_path / "t", *named, opened.bootstrap)
    assert (done.returncode, done.stderr) == (1, "")
    (held,) = rows(tmp_path / "t", REJECTED_ROWS)
    assert held["raw"] == '{"broker": 4}'
    assert held["reason"].startswith("its log dirs cannot be read: broker 4 at 127.0.0.1:1")
    assert [row["size_bytes"] for row in rows(tmp_path / "t", REPLICA_LOAD)] == [6000]


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("socket.connection.setup.timeout.ms=300\n")
    assert "127.0.0.1:1" in refused(
        collect(tmp_path / "tables", "--bootstrap-server", "127.0.0.1:1", "--command-config", config)
    )
    assert not (tmp_path / "tables").exists()
