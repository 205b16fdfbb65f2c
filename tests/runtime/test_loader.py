"""A takeover loads the whole tree; what cannot be read is a finding of that key and harms nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedge import ApiError, ErrorCode, LeaderAndIsrRequest, Settings, StopReplicaRequest
from kedge.stores.tree import read_tree
from tests.kit.data import DATA
from tests.runtime.world import Cluster, cluster_of_three

TOPIC = "/brokers/topics/t"
STATE = f"{TOPIC}/partitions/0/state"


def planted(keys: dict[str, object], *brokers: int) -> Cluster:
    """A controller that takes over a tree that others wrote."""
    cluster = Cluster(start=False)
    cluster.join(*brokers or (1, 2, 3))
    tree: dict[str, object] = {
        "/brokers/topics/good": {"version": 1, "partitions": {"0": [1, 2]}},
        "/brokers/topics/good/partitions/0/state": state(1, [1, 2]),
    }
    for key, value in (tree | keys).items():
        cluster.put(key, value)
    cluster.another(1)
    cluster.run()
    return cluster


def state(leader: int, isr: list[int], **more: object) -> dict[str, object]:
    return {"controller_epoch": 3, "leader": leader, "version": 1, "leader_epoch": 5, "isr": isr, **more}


def works(cluster: Cluster, topic: str = "good") -> bool:
    """Whether a partition can be moved to other brokers, there and back."""
    for target in ([2, 3], [1, 2]):
        cluster.done(cluster.move(target, topic))
        cluster.done(cluster.isr([1, 2, 3], topic))
    return bool(cluster.state(topic)["isr"] == [1, 2])


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        {"version": 1, "partitions": {"0": [1, 2]}},
        {"version": 2, "partitions": {"0": [1, 2]}, "adding_replicas": {}, "removing_replicas": {}},
        {"version": 3, "partitions": {"0": [1, 2]}, "topic_id": "PRYaAtTcQq2kVkcWFTT9Ew", "adding_replicas": {}},
    ],
)
def test_topic_keys_of_every_version_are_read_and_get_an_id(value: dict[str, Any]) -> None:
    cluster = planted({TOPIC: value, STATE: state(1, [1, 2])})
    found = cluster.get(TOPIC)
    assert found["version"] == (3 if "topic_id" not in value else value["version"])
    assert found["topic_id"] == value.get("topic_id", found["topic_id"])
    assert len(found["topic_id"]) == 22
    assert works(cluster, "t")


@pytest.mark.checklist(112, 113)
def test_no_crash_while_kafkas_moves_are_taken_over_loses_one() -> None:
    """Each goes from the topic's key with the commit that takes it over, however small the commits are."""
    entries = read_tree(DATA / "kafka_3_9_tree_moving.json")
    for commits in range(1, 12):
        cluster = Cluster(start=False, settings=Settings(commit_decisions_max=1))
        cluster.server.plant(entries)
        cluster.join(1, 2, 3)
        first = cluster.another(1, cluster.store)
        for _ in range(commits):
            first.poll_once()
        cluster.controllers.clear()
        cluster.server.expire(cluster.store.session.session_id)
        cluster.another(2)
        cluster.run()
        targets = {
            p: cluster.get(f"/brokers/topics/orders/partitions/{p}/state").get("targetReplicas") for p in range(4)
        }
        assert targets == {0: [1, 3], 1: [2, 1], 2: [3, 2], 3: [2, 3]}, commits


def test_kafkas_move_of_a_partition_that_cannot_be_read_waits_for_it() -> None:
    """Its neighbours go on, and it does once its key is mended."""
    cluster = Cluster(start=False)
    cluster.server.plant(read_tree(DATA / "kafka_3_9_tree_moving.json"))
    key = "/brokers/topics/orders/partitions/0/state"
    good = cluster.get(key)
    cluster.put(key, b"{")
    cluster.join(1, 2, 3)
    cluster.another(1)
    cluster.run()
    assert cluster.get("/brokers/topics/orders")["adding_replicas"] == {"0": [1]}
    assert cluster.get("/brokers/topics/orders")["partitions"]["0"] == [1, 3, 2]
    cluster.put(key, good)
    cluster.wait(6_000, 1_000)
    assert cluster.get(key)["targetReplicas"] == [1, 3]
    assert cluster.get("/brokers/topics/orders")["adding_replicas"] == {}


@pytest.mark.checklist(112, 113)
def test_move_is_taken_up_with_its_state_and_all_brokers_hear_of_it() -> None:
    """R grows by T and I, whatever the topic key says; origin, start and deadline are the state key's."""
    memory = {"origin": [1, 2], "started_ms": 5, "deadline_ms": 2**50}
    key = {"version": 1, "partitions": {"0": [1, 2]}}
    value = state(1, [1, 2, 3], targetReplicas=[3, 2, 4], reassignment=memory, x=1)
    cluster = planted({TOPIC: key, STATE: value}, 1, 2, 3, 4)
    partition = cluster.partition()
    assert partition.move is not None
    assert (partition.replicas, partition.move.origin, partition.move.started_ms) == ((1, 2, 3), (1, 2), 5)
    told = [p for b in (1, 2, 3, 4) for p in cluster.host.to(b, LeaderAndIsrRequest)[0].partitions if p.topic == "t"]
    assert [p.target_replicas for p in told] == [(3, 2, 4)] * 4
    cluster.done(cluster.isr([1, 2, 3, 4]))
    assert (cluster.state()["isr"], cluster.state()["x"]) == ([2, 3, 4], 1)
    assert cluster.host.to(1, StopReplicaRequest)[0].partitions[0].partition == 0


def test_brokers_that_died_unseen_are_dead_and_those_that_bounced_died_first() -> None:
    """The last admitted epoch stands in /kedge/brokers; one that cannot be read counts as another one."""
    for admitted in (b'{"broker_epoch":77}', b"{broken"):
        key = {"version": 1, "partitions": {"0": [1, 2, 9]}}
        cluster = planted({TOPIC: key, STATE: state(1, [1, 2, 9]), "/kedge/brokers/1": admitted})
        assert cluster.state()["isr"] == [2]
        assert cluster.state()["leader"] == 2
        assert cluster.controller.describe().live_brokers == (1, 2, 3)
        assert cluster.get("/kedge/brokers/1") == {"broker_epoch": cluster.epoch(1)}


@pytest.mark.parametrize("name", ["kafka_3_9_tree_idle.json", "kafka_3_9_tree_moving.json"])
def test_the_tree_of_a_real_kafka_is_taken_over_above_its_epoch(name: str) -> None:
    """Every topic and partition, no finding; running moves continue with what Kafka knew, unknown fields are kept."""
    tree = read_tree(DATA / name)
    cluster = Cluster(start=False)
    cluster.server.plant(tree)
    ids = sorted(int(e.key.rpartition("/")[2]) for e in tree if e.key.startswith("/brokers/ids/"))
    cluster.join(*ids)
    epoch = int(cluster.keys()["/controller_epoch"])
    topics = {e.key for e in tree if e.key.count("/") == 3 and e.key.startswith("/brokers/topics/") and e.value}
    states = {e.key for e in tree if e.key.endswith("/state")}
    moving = {k for k in topics if cluster.get(k).get("adding_replicas") or cluster.get(k).get("removing_replicas")}
    cluster.another(1)
    cluster.run()
    described = cluster.controller.describe()
    assert described.controller_epoch == epoch + 1
    assert (described.topics, described.partitions, described.findings) == (len(topics), len(states), {})
    listing = cluster.done(cluster.controller.admin.list_partition_reassignments())
    assert len(listing) == (4 if "moving" in name else 0)
    assert {tp.topic for tp in listing} == {key.rpartition("/")[2] for key in moving}
    for tp, move in listing.items():
        for broker in [b for b in move.target_replicas if b not in cluster.state(tp.topic, tp.partition)["isr"]]:
            cluster.done(cluster.isr([*cluster.state(tp.topic, tp.partition)["isr"], broker], tp.topic, tp.partition))
        assert cluster.partition(tp.topic, tp.partition).replicas == move.target_replicas
    assert cluster.controller.describe().reassigning_partitions == 0


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
