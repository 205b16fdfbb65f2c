"""Keys on real stores that cannot be read: broken, too large, forbidden."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from kazoo.security import ACL, OPEN_ACL_UNSAFE, make_acl

from kedge import Description, NewTopic, TopicPartition
from tests.real.cluster import CALL_S, Cluster
from tests.real.remote import RemoteNode
from tests.real.served import ROOT, Served, kazoo, serve

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

SESSION_S = 3.0
STATE = "/brokers/topics/t/partitions/0/state"
TOPIC = "/brokers/topics/u"
CONFIG = "/config/topics/t"
PLAN = "/admin/reassign_partitions"
NOTICE = "/isr_change_notification/isr_change_0000000007"
BAD = (STATE, TOPIC, CONFIG)
ALSO_BAD = (PLAN, NOTICE)
HUGE_BYTES = 1_040_000  # what a ZooKeeper just takes, above what a store of ours does
FORBIDDEN = [make_acl("world", "anyone", admin=True, delete=True)]
NO_CONFIG = b'{"version":1,"config":{}}'


def no_json(key: str) -> bytes:
    return b"{oops" + key.encode()


def huge(key: str) -> bytes:
    """Too large to be written back, and not even of the key's kind."""
    return json.dumps({"version": 1, "key": key, "padding": "x" * HUGE_BYTES}).encode()


def stands(cluster: Cluster) -> dict[str, bytes]:
    """What the keys hold."""
    entries = cluster.store.get_many(BAD, timeout_s=CALL_S)
    return {entry.key: entry.value for entry in entries if entry is not None}


@contextlib.contextmanager
def begun(served: Served, folder: Path) -> Iterator[tuple[Cluster, list[TopicPartition]]]:
    """A cluster with three topics, and the partitions that stay untouched."""
    with Cluster(served, folder, controllers=1, brokers=3, session_s=SESSION_S) as cluster:
        t = cluster.create_topic("t", [[1, 2], [2, 1]], records=1)
        cluster.create_topic("u", [[1, 2]], records=1)
        good = cluster.create_topic("good", [[1, 2], [2, 3]], records=1)
        cluster.ask("create_topics", {"configured": NewTopic(1, 1)})
        yield cluster, [t[1], *good]


def moved(cluster: Cluster, tps: list[TopicPartition], target: tuple[int, int]) -> None:
    """They are moved to `target`, wherever they were."""
    targets = dict.fromkeys(tps, target)
    cluster.reassign(targets)
    cluster.until(lambda: cluster.settled(targets), f"moves to {target}")


def named(cluster: Cluster, key: str) -> bool:
    """Whether `describe` names the key, or its kind."""
    described: Description = cluster.ask("describe")
    return any(key in subject or key in said for subject, said in described.findings.items())


def is_bad(cluster: Cluster, key: str) -> bool:
    """Whether what was put there stands there still."""
    entry = cluster.store.get(key, sync=True, timeout_s=CALL_S)
    return entry is not None and (entry.value.startswith(b"{oops") or len(entry.value) >= HUGE_BYTES)


@pytest.mark.parametrize("bad", [no_json, huge])
def test_keys_broken_under_a_controller_affect_nothing_else(
    served: Served, tmp_path: Path, bad: Callable[[str], bytes]
) -> None:
    """Each that is looked at is reported, or written again as it should be; the controller leads on. A state key is
    looked at when something is asked of its partition."""
    with begun(served, tmp_path) as (cluster, others):
        epoch = cluster.epoch
        for key in (*BAD, *ALSO_BAD):
            served.put(key, bad(key))
        moved(cluster, others, (3, 1))
        cluster.note({TopicPartition("t", 0): (3, 2)})
        cluster.send("alter_partition_reassignments", {TopicPartition("t", 0): (3, 2)})
        cluster.until(
            lambda: all(named(cluster, key) or not is_bad(cluster, key) for key in BAD), "each is one or the other"
        )
        cluster.until(lambda: named(cluster, PLAN) or not is_bad(cluster, PLAN), "so is the plan")
        cluster.until(lambda: not is_bad(cluster, NOTICE), "the notice is removed")
        assert cluster.epoch == epoch


@pytest.mark.parametrize("bad", [no_json, huge])
def test_broken_keys_that_a_takeover_finds_hurt_nothing_else(
    served: Served, tmp_path: Path, bad: Callable[[str], bytes]
) -> None:
    """All are reported; mended, they are keys like any other."""
    with begun(served, tmp_path) as (cluster, others):
        served.put(CONFIG, NO_CONFIG)
        cluster.leader_node.kill()
        was = stands(cluster)
        for key in (*BAD, *ALSO_BAD):
            served.put(key, bad(key))
        next(iter(cluster.remotes.values())).start()
        cluster.until(lambda: cluster.active is not None, "the next one leads")
        cluster.until(lambda: all(named(cluster, key) for key in BAD), "all of them are reported")
        moved(cluster, others, (3, 1))
        for key in BAD:
            served.put(key, was[key])
        cluster.until(lambda: not any(named(cluster, key) for key in BAD), "no finding is left of them")
        moved(cluster, [TopicPartition("t", 0), TopicPartition("u", 0)], (3, 2))
        cluster.until_converged()


@pytest.fixture
def zookeeper() -> Iterator[Served]:
    with serve("zookeeper") as served:
        yield served


@pytest.mark.parametrize("key", ["/brokers/ids/1", STATE, "/brokers/topics/t"])
def test_a_controller_that_may_not_read_a_key_stands_by(zookeeper: Served, tmp_path: Path, key: str) -> None:
    """It says so, changes nothing, and leads once it may; no broker died meanwhile. By ZooKeeper's ACLs, which belong
    to single keys."""
    with Cluster(zookeeper, tmp_path, controllers=1, brokers=3, session_s=SESSION_S) as cluster:
        cluster.create_topic("t", [[1, 2], [2, 1]], records=1)
        node = next(iter(cluster.remotes.values()))
        node.kill()
        forbid(zookeeper, [key], FORBIDDEN)
        node.start()
        cluster.until(lambda: key in described(cluster, node).findings.get("election", ""), "it stands by")
        assert cluster.active is None
        forbid(zookeeper, [key], OPEN_ACL_UNSAFE)
        cluster.until(lambda: cluster.active is not None, "it leads")
        cluster.until(lambda: cluster.ask("describe").live_brokers == (1, 2, 3), "all are live")
        assert leads(cluster) == (1, [1, 2])
        assert leads(cluster, 1) == (2, [2, 1])
        cluster.until_converged()


def leads(cluster: Cluster, partition: int = 0) -> tuple[int, list[int]]:
    """Who leads t, and who is in sync, as the store says."""
    entry = cluster.store.get(f"/brokers/topics/t/partitions/{partition}/state", sync=True, timeout_s=CALL_S)
    found = {} if entry is None else json.loads(entry.value)
    return found.get("leader", -1), found.get("isr", [])


def described(cluster: Cluster, node: RemoteNode) -> Description:
    """What a controller says of itself that need not be the active one."""
    assert node.controller is not None
    future = node.controller.ask("describe")
    cluster.until(future.done, "it answers")
    found: Description = future.result()
    return found


def forbid(zookeeper: Served, paths: Sequence[str], acl: list[ACL]) -> None:
    with kazoo(zookeeper.place.partition("://")[2].partition("/")[0]) as raw:
        for key in paths:
            raw.set_acls(ROOT + key, acl)
