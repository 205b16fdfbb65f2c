"""What `kedge kafka reassign-partitions` and `kedge kafka topics` say of moves at Kedge's own gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge import NewTopic, TopicPartition
from kedge.controller.cli.root import kedge
from tests.wire.served import Served

pytestmark = pytest.mark.slow

TP = TopicPartition("orders", 0)


@pytest.fixture
def denied() -> set[tuple[str, str]]:
    """Operations and resources that no caller may use."""
    return set()


@pytest.fixture
def served(denied: set[tuple[str, str]]) -> Iterator[Served]:
    with Served(authorizer=lambda _, operation, resource: (operation, resource) not in denied) as opened:
        opened.controller.admin.create_topics({"orders": NewTopic(replica_assignments={0: [1, 2]})}).all().result(30)
        yield opened


def run(served: Served, command: str, *arguments: object) -> Result:
    return CliRunner().invoke(kedge, ["kafka", command, "--bootstrap-server", served.bootstrap, *map(str, arguments)])


def move(served: Served) -> None:
    served.controller.admin.alter_partition_reassignments({TP: [2, 3]}).all().result(30)


@pytest.mark.checklist(72)
def test_each_partition_is_verified_as_completed_failed_or_in_progress(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"

    def verified(replicas: list[int]) -> tuple[int, str]:
        rows = [{"topic": "orders", "partition": 0, "replicas": replicas}]
        file.write_text(json.dumps({"partitions": rows}))
        done = run(served, "reassign-partitions", "--verify", "--reassignment-json-file", file)
        return done.exit_code, done.stdout.splitlines()[1]

    other = "There is no active reassignment of partition orders-0, but replica set is 1,2 rather than 2,3."
    assert verified([2, 3]) == (0, other)
    assert verified([1, 2]) == (0, "Reassignment of partition orders-0 is completed.")
    move(served)
    assert verified([2, 3]) == (0, "Reassignment of partition orders-0 is still in progress.")


@pytest.mark.checklist(129)
def test_without_the_right_to_see_moves_a_moving_partition_is_described_without_its_target(
    served: Served, denied: set[tuple[str, str]]
) -> None:
    move(served)
    words = ("topics", "--describe", "--topic", "orders")
    assert run(served, *words).stdout.splitlines()[1].endswith("\tTarget Replicas: 2,3")
    denied.add(("DESCRIBE", "CLUSTER"))
    done = run(served, *words)
    assert (done.exit_code, "Target Replicas" in done.stdout) == (0, False)
    assert done.stdout.splitlines()[1].startswith("\tTopic: orders\tPartition: 0\t")
    assert "Couldn't query reassignments" in done.stderr
