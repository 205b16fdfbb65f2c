"""Kafka's own tools, unmodified: partitions are moved, throttled, watched and cancelled, and leaders elected."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kedge import ConfigResource, ConfigResourceType
from tests.clients.cluster import Withheld
from tests.clients.driven import JavaTools

pytestmark = [pytest.mark.server, pytest.mark.slow]

LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
CURRENT = "Current partition replica assignment\n"
ROLLBACK = "Save this to use as the --reassignment-json-file option during rollback\n"
WARNING = (
    "Warning: You must run --verify periodically, until the reassignment completes, "
    "to ensure the throttle is removed.\n"
)
CLEARED = "Clearing broker-level throttles on brokers 1,2,3\n"
STATUS = "Status of partition reassignment:\n"


class Plans:
    """Files with plans for one topic."""

    def __init__(self, folder: Path, topic: str) -> None:
        self._folder, self._topic = folder, topic

    def __call__(self, moves: Mapping[int, Sequence[int]], **more: object) -> tuple[str, str]:
        """The option of the tool, and the file."""
        rows = [{"topic": self._topic, "partition": p, "replicas": list(to), **more} for p, to in moves.items()]
        return self.text(json.dumps({"version": 1, "partitions": rows}))

    def text(self, text: str, option: str = "--reassignment-json-file") -> tuple[str, str]:
        """As above, whatever stands in the file."""
        file = self._folder / "plan.json"
        file.write_text(text, encoding="utf-8")
        return option, str(file)


@pytest.fixture
def plans(tmp_path: Path, named: str) -> Plans:
    return Plans(tmp_path, named)


def settings(cluster: Withheld, kind: ConfigResourceType, name: str, names: Sequence[str]) -> list[str | None]:
    resource = ConfigResource(kind, name)
    found = cluster.controller.admin.describe_configs([resource])[resource].result(30)
    return [found[each].value for each in names]


def assignment(topic: str, java: JavaTools, *replicas: tuple[int, ...]) -> str:
    """The current one, as the tool prints it: that of 4.3 asks brokers for their directories."""
    named = java.version != "3.9.1"
    rows = [
        {
            "topic": topic,
            "partition": number,
            "replicas": list(lies),
            "log_dirs": [f"/kedge/broker-{broker}" if named else "any" for broker in lies],
        }
        for number, lies in enumerate(replicas)
    ]
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":")) + "\n"


def test_a_plan_is_generated_by_rack(java: JavaTools, named: str, plans: Plans) -> None:
    wanted = plans.text(json.dumps({"version": 1, "topics": [{"topic": named}]}), "--topics-to-move-json-file")
    current, proposed = java("reassign", "--generate", *wanted, "--broker-list", "1,3").done.split("\n\n")
    assert current == f"{CURRENT}{assignment(named, java, (1, 2), (2, 3))}".rstrip("\n")
    title, plan = proposed.splitlines()
    assert title == "Proposed partition reassignment configuration"
    rows = json.loads(plan)["partitions"]
    assert [(row["partition"], sorted(row["replicas"]), row["log_dirs"]) for row in rows] == [
        (0, [1, 3], ["any", "any"]),
        (1, [1, 3], ["any", "any"]),
    ]


def test_a_move_is_begun_seen_running_and_verified(
    java: JavaTools, cluster: Withheld, named: str, plans: Plans
) -> None:
    plan = plans({0: [3, 2], 1: [1, 3]})
    assert java("reassign", "--execute", *plan).done == (
        f"{CURRENT}\n{assignment(named, java, (1, 2), (2, 3))}\n{ROLLBACK}"
        f"Successfully started partition reassignments for {named}-0,{named}-1\n"
    )
    assert java("reassign", "--list").done == (
        "Current partition reassignments:\n"
        f"{named}-0: replicas: 3,2,1. adding: 3. removing: 1.\n"
        f"{named}-1: replicas: 1,3,2. adding: 1. removing: 2.\n"
    )
    assert java("reassign", "--verify", *plan).done == (
        f"{STATUS}Reassignment of partition {named}-0 is still in progress.\n"
        f"Reassignment of partition {named}-1 is still in progress.\n\n"
    )
    head, first, _ = java("topics", "--describe", "--topic", named).done.splitlines()
    assert "\tReplicationFactor: 2\t" in head
    assert "\tReplicas: 3,2,1\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1\t" in first
    assert java("topics", "--describe", "--under-replicated-partitions").done == ""
    cluster.catch_up(named)
    assert java("reassign", "--verify", *plan).done == (
        f"{STATUS}Reassignment of partition {named}-0 is completed.\n"
        f"Reassignment of partition {named}-1 is completed.\n\n"
        f"{CLEARED}Clearing topic-level throttles on topic {named}\n"
    )
    assert [cluster.replicas(named, number) for number in (0, 1)] == [(3, 2), (1, 3)]
    other = plans({0: [1]})
    assert java("reassign", "--verify", *other, "--preserve-throttles").done == (
        f"{STATUS}There is no active reassignment of partition {named}-0, but replica set is 3,2 rather than 1.\n\n"
    )


def test_a_throttle_is_set_changed_with_another_move_and_cleared(
    java: JavaTools, cluster: Withheld, named: str, plans: Plans
) -> None:
    said = java("reassign", "--execute", *plans({0: [3, 2]}), "--throttle", "1000").done
    assert said.endswith(
        f"{ROLLBACK}{WARNING}The inter-broker throttle limit was set to 1000 B/s\n"
        f"Successfully started partition reassignment for {named}-0\n"
    )
    assert settings(cluster, ConfigResourceType.TOPIC, named, LISTS) == ["0:1,0:2", "0:3"]
    assert settings(cluster, ConfigResourceType.BROKER, "3", RATES) == ["1000", "1000"]

    refused = java("reassign", "--execute", *plans({1: [1, 3]}))
    assert refused.code == 1
    assert (
        "Cannot execute because there is an existing partition assignment.  Use --additional to override" in refused.out
    )
    assert cluster.moving(named) == [0]

    both = plans({0: [3, 2], 1: [1, 3]})
    assert java("reassign", "--execute", *both, "--additional", "--throttle", "2000").code == 0
    assert settings(cluster, ConfigResourceType.TOPIC, named, LISTS) == ["0:1,0:2,1:2,1:3", "0:3,1:1"]
    assert settings(cluster, ConfigResourceType.BROKER, "1", RATES) == ["2000", "2000"]
    assert cluster.moving(named) == [0, 1]
    cluster.catch_up(named)
    assert java("reassign", "--verify", *both).code == 0
    assert settings(cluster, ConfigResourceType.TOPIC, named, LISTS) == ["", ""]
    for broker in ("1", "2", "3"):
        assert settings(cluster, ConfigResourceType.BROKER, broker, RATES) == [str(2**63 - 1)] * 2


def test_moves_are_cancelled(java: JavaTools, cluster: Withheld, named: str, plans: Plans) -> None:
    cleared = f"{CLEARED}Clearing topic-level throttles on topic {named}\n"
    plan = plans({0: [3, 2], 1: [1, 3]})
    assert java("reassign", "--execute", *plan, "--throttle", "1000").code == 0
    assert java("reassign", "--cancel", *plans({0: [3, 2]}), "--preserve-throttles").done == (
        f"Successfully cancelled partition reassignment for: {named}-0\n"
        "None of the specified partition moves are active."
    )
    assert settings(cluster, ConfigResourceType.BROKER, "1", RATES) == ["1000", "1000"]
    assert cluster.moving(named) == [1]
    said = java("reassign", "--cancel", *plans({0: [3, 2], 1: [1, 3]})).done
    assert said.startswith(f"Successfully cancelled partition reassignment for: {named}-1\n")
    assert said.endswith(cleared)
    assert (cluster.moving(named), cluster.replicas(named, 1)) == ([], (2, 3))
    assert settings(cluster, ConfigResourceType.BROKER, "1", RATES) == [str(2**63 - 1)] * 2
    assert java("reassign", "--cancel", *plan).done == (
        "None of the specified partition reassignments are active.\n"
        f"None of the specified partition moves are active.{cleared}"
    )
    assert java("reassign", "--list").done == "No partition reassignments found.\n"


def test_the_preferred_leader_is_elected(java: JavaTools, cluster: Withheld, named: str) -> None:
    elect = ("leader-election", "--election-type", "preferred", "--topic", named, "--partition", "0")
    assert java(*elect).done == f"Valid replica already elected for partitions {named}-0\n"
    cluster.bounce(1)
    assert cluster.leader(named) == 2
    assert java(*elect).done == f"Successfully completed leader election (PREFERRED) for partitions {named}-0\n"
    assert cluster.leader(named) == 1
    every = ("leader-election", "--election-type", "preferred", "--all-topic-partitions")
    assert java(*every).code == 0
    assert java(*every).done == ""
