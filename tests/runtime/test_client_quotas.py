"""Quotas of clients as the controller keeps them: altered, read again, and left to the next controller."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from kedge import ConfigResource, ConfigResourceType, ErrorCode, Journal, MemorySink, OpType
from tests.runtime.configured import alter, change, changes, code
from tests.runtime.test_conflicts import meddled
from tests.runtime.world import Brokers, Cluster, cluster_of_three

ALICE = ConfigResource(ConfigResourceType.USER, "alice")
BOTH = ConfigResource(ConfigResourceType.USER, "alice<clients>app")
EVERY_CLIENT = ConfigResource(ConfigResourceType.CLIENT, "<default>")
KEY = "/config/users/alice"
RATE = "producer_byte_rate"
PASSWORD = {"SCRAM-SHA-256": "salt=c2FsdA==,stored_key=x,server_key=y,iterations=4096"}


def kept(cluster: Cluster) -> dict[str, Mapping[str, str]]:
    """The configs of users and client ids that the controller knows."""
    found = cluster.done(cluster.controller.query(lambda view: view.client_configs()))
    return {str(entity): dict(configs) for entity, configs in found.items()}


def test_quotas_are_written_with_their_notification() -> None:
    """Quotas are written in one commit with the notification of Kafka, and the key goes with the last of them."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, ALICE, change(RATE, "1000"), change("request_percentage", "12.5")))
    cluster.done(alter(cluster, EVERY_CLIENT, change(RATE, "5")))
    assert cluster.get(KEY) == {"version": 1, "config": {RATE: "1000", "request_percentage": "12.5"}}
    assert changes(cluster) == {0: "users/alice", 1: "clients/<default>"}
    cluster.done(alter(cluster, ALICE, change(RATE, op=OpType.DELETE)))
    cluster.done(alter(cluster, ALICE, change("request_percentage", op=OpType.DELETE)))
    assert not cluster.has(KEY)
    assert kept(cluster) == {"clients/<default>": {RATE: "5"}}
    cluster.done(alter(cluster, ALICE, change(RATE, "7")))
    assert cluster.get(KEY)["config"] == {RATE: "7"}


def test_the_next_controller_has_the_quotas() -> None:
    """The next controller has the quotas, and alters them further."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, BOTH, change(RATE, "1000")))
    cluster.succeed()
    assert kept(cluster) == {"users/alice<clients>app": {RATE: "1000"}}
    cluster.done(alter(cluster, BOTH, change("consumer_byte_rate", "5")))
    assert cluster.get("/config/users/alice<clients>app")["config"] == {RATE: "1000", "consumer_byte_rate": "5"}


def test_what_others_write_is_read_again() -> None:
    """A key that another program writes or deletes is read again."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, ALICE, change(RATE, "1000")))
    cluster.put(KEY, {"version": 1, "config": {RATE: "7"}})
    cluster.put("/config/clients/app", {"version": 1, "config": {RATE: "8"}})
    cluster.run()
    assert kept(cluster) == {"users/alice": {RATE: "7"}, "clients/app": {RATE: "8"}}
    cluster.delete(KEY)
    cluster.run()
    assert kept(cluster) == {"clients/app": {RATE: "8"}}


def test_the_password_of_a_user_stays() -> None:
    """A password beside the quotas of a user stays, whatever is altered, and the journal does not have it."""
    sink = MemorySink()
    cluster = cluster_of_three(journal=Journal(sink))
    cluster.put(KEY, {"version": 1, "config": PASSWORD})
    cluster.run()
    cluster.done(alter(cluster, ALICE, change(RATE, "1000")))
    assert cluster.get(KEY)["config"] == {**PASSWORD, RATE: "1000"}
    cluster.done(alter(cluster, ALICE, change(RATE, op=OpType.DELETE)))
    assert cluster.get(KEY)["config"] == PASSWORD
    rows = [json.loads(line) for line in sink.lines if "users/alice" in line]
    assert [row["event"] for row in rows] == ["ConfigChanged"] * 3
    assert "stored_key" not in "".join(sink.lines)


def test_a_conflict_adopts_what_another_wrote() -> None:
    """A write of another program just before the commit is adopted, and the request is decided again."""
    cluster, store = meddled(KEY, 0)
    cluster.put(KEY, {"version": 1, "config": PASSWORD})
    cluster.run()
    store.times = 1
    cluster.done(alter(cluster, ALICE, change(RATE, "1000")))
    assert store.errors["Conflict"] == 1
    assert cluster.get(KEY)["config"] == {**PASSWORD, RATE: "1000"}


@pytest.mark.parametrize(
    "name, value",
    [
        (RATE, "0"),
        (RATE, "-1"),
        (RATE, "1.5"),
        (RATE, str(2**63)),
        ("request_percentage", "0"),
        ("request_percentage", "-0.5"),
        ("request_percentage", "nan"),
        ("request_percentage", "inf"),
        ("request_percentage", "1e999"),
        ("connection_creation_rate", "1"),
        ("retention.ms", "1"),
    ],
)
def test_what_is_no_quota_is_refused(name: str, value: str) -> None:
    """A value or a name that is no quota is refused, and nothing is written, not even what is right beside it."""
    cluster = cluster_of_three()
    error = cluster.error(alter(cluster, ALICE, change("consumer_byte_rate", "5"), change(name, value)))
    assert code(error) == ErrorCode.INVALID_CONFIG
    assert (cluster.keys("/config/users"), changes(cluster)) == ({}, {})


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "alice@x", "n" * 1001])
def test_names_that_no_key_can_have_are_refused(name: str) -> None:
    """A name that no key can have is refused, and the controller goes on."""
    cluster = cluster_of_three()
    for kind in (ConfigResourceType.USER, ConfigResourceType.CLIENT):
        error = cluster.error(alter(cluster, ConfigResource(kind, name), change(RATE, "5")))
        assert code(error) == ErrorCode.INVALID_REQUEST
    cluster.done(alter(cluster, ConfigResource(ConfigResourceType.USER, "n" * 1000), change(RATE, "5")))


def test_a_broken_key_is_left_alone() -> None:
    """The quotas of a key that cannot be read stay in force, and cannot be altered until it can be read."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, ALICE, change(RATE, "1000")))
    cluster.put(KEY, b"{")
    cluster.run()
    assert KEY in cluster.findings()
    assert kept(cluster) == {"users/alice": {RATE: "1000"}}
    assert code(cluster.error(alter(cluster, ALICE, change(RATE, "5")))) == ErrorCode.KAFKA_STORAGE_ERROR
    cluster.put(KEY, {"version": 1, "config": {RATE: "7"}})
    cluster.run()
    assert (cluster.findings(), kept(cluster)) == ({}, {"users/alice": {RATE: "7"}})


def test_hosts_hear_of_no_quotas() -> None:
    """Hosts hear of configs of topics and brokers alone, as `config_changed` says."""

    class Hearing(Brokers):
        def __init__(self) -> None:
            super().__init__()
            self.heard: list[str] = []

        def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:  # noqa: ARG002
            self.heard.append(f"{entity_type}/{name}")

    host = Hearing()
    cluster = cluster_of_three(host=host)
    host.heard.clear()
    cluster.done(alter(cluster, ALICE, change(RATE, "1000")))
    cluster.put(KEY, {"version": 1, "config": {RATE: "7"}})
    cluster.run()
    assert kept(cluster) == {"users/alice": {RATE: "7"}}
    assert host.heard == []
