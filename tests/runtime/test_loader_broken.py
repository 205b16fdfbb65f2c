"""Keys that a takeover cannot read: findings of their own, mended when the key is."""

from __future__ import annotations

import json

import pytest

from kedge.controller.model.errors import ApiError, ErrorCode
from kedge.controller.model.host import LeaderAndIsrRequest
from tests.runtime.trees import STATE, TOPIC, planted, state, works
from tests.runtime.world import Cluster, cluster_of_three

BROKEN_TOPICS: list[object] = [
    b"",
    b"{",
    b"[]",
    {"version": 1},
    {"version": 1, "partitions": {"0": []}},
    {"partitions": {"1": [1]}},
]


@pytest.mark.parametrize("value", BROKEN_TOPICS)
def test_a_broken_topic_key_hides_its_topic_only_and_is_taken_up_when_mended(value: object) -> None:
    """Reported by key; `full` requests are withheld; nothing is written over it."""
    cluster = planted({TOPIC: value, STATE: state(1, [1, 2])})
    assert TOPIC in cluster.findings()["t"]
    assert works(cluster)
    assert not any(r.full for r in cluster.host.told if isinstance(r, LeaderAndIsrRequest))
    error = cluster.error(cluster.move([1, 3], "t"))
    assert isinstance(error, ApiError)
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    assert cluster.keys()[TOPIC] == raw
    cluster.host.told.clear()
    cluster.put(TOPIC, {"version": 1, "partitions": {"0": [1, 2]}})
    cluster.wait(6_000, 500)
    assert cluster.findings() == {}
    assert any(r.full for r in cluster.host.to(1, LeaderAndIsrRequest))
    assert works(cluster, "t")


BROKEN_STATES: list[object] = [
    b"",
    b"nope",
    {"isr": [1]},
    state(1, []),
    state(1, [1, 1]),
    {**state(1, [1]), "leader": "1"},
    {**state(1, [1]), "leader_epoch": 2**40},
    state(1, [1], targetReplicas=5),
    state(1, [1], status_code=9),
]


@pytest.mark.parametrize("value", BROKEN_STATES)
def test_a_broken_state_key_stops_its_partition_only_until_it_is_mended(value: object) -> None:
    """No leader may be elected for what cannot be read: an election would lose what the isr said."""
    key = {"version": 1, "partitions": {"0": [1, 2], "1": [1, 2]}}
    cluster = planted({TOPIC: key, STATE: value, f"{TOPIC}/partitions/1/state": state(1, [1, 2])})
    assert STATE in cluster.findings()["t-0"]
    error = cluster.error(cluster.move([1, 3]))
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.KAFKA_STORAGE_ERROR
    cluster.leave(1)
    assert cluster.state("t", 1)["leader"] == 2
    cluster.join(1)
    cluster.put(STATE, state(2, [2, 1], mine=1))
    cluster.wait(6_000, 500)
    assert cluster.findings() == {}
    assert works(cluster, "t")
    assert cluster.state()["mine"] == 1


def test_small_keys_that_cannot_be_read_are_findings() -> None:
    """A registration, a config, intents, an admission; names that are no numbers; a topic that cannot be one."""
    bad = {
        "/brokers/ids/x": b"{}",
        "/brokers/ids/01": {"host": "h", "port": 1},
        "/brokers/ids/7": b"{",
        "/brokers/ids/8_0": {"host": "h", "port": 1},
        "/config/topics/good": b"[",
        "/admin/replica_deletions/x/1": {"replicas": []},
        "/admin/replica_deletions/1/x": {"replicas": []},
        "/admin/replica_deletions/1/007": {"replicas": []},
        "/admin/replica_deletions/2/9": {"replicas": [5]},
        "/kedge/brokers/x": {"broker_epoch": 1},
        "/kedge/brokers/-1": {"broker_epoch": 1},
        "/brokers/topics/<t>": {"version": 1, "partitions": {"0": [1]}},
        "/brokers/topics/" + "n" * 1000: {"version": 1, "partitions": {"0": [1]}},
    }
    cluster = planted(dict(bad))
    assert set(cluster.findings()) == set(bad)
    assert works(cluster)
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    assert all(cluster.has(key) for key in bad)


def test_a_registration_is_taken_up_when_it_is_mended() -> None:
    """Its finding goes with the fault."""
    cluster = planted({"/brokers/ids/7": b"{"})
    assert set(cluster.findings()) == {"/brokers/ids/7"}
    cluster.put("/brokers/ids/7", {"version": 4, "host": "h", "port": 1})
    cluster.run()
    assert cluster.findings() == {}
    assert cluster.controller.describe().live_brokers == (1, 2, 3, 7)


# --- what was missed while a key could not be read, or was not known


def moved_on(key: str, *, leave: int) -> Cluster:
    """t-0 on 1, 2, 3, all in sync, led by 1; `key` could not be read while this broker died, and can be again."""
    cluster = cluster_of_three()
    good = cluster.keys()[key]
    cluster.controllers.pop().close()
    cluster.put(key, b"{broken")
    cluster.another(2)
    cluster.run()
    cluster.leave(leave)
    cluster.put(key, good)
    cluster.wait(6_000, 500)
    return cluster


@pytest.mark.parametrize("dead, state", [(1, (2, [2, 3])), (2, (1, [1, 3]))], ids=["leader", "follower"])
@pytest.mark.parametrize("key", [TOPIC, STATE])
def test_a_death_while_a_partition_could_not_be_read_is_made_up_for(
    key: str, dead: int, state: tuple[int, list[int]]
) -> None:
    """Nothing else would elect a leader, or let the leader acknowledge anything."""
    cluster = moved_on(key, leave=dead)
    assert (cluster.state()["leader"], cluster.state()["isr"], cluster.findings()) == (*state, {})
