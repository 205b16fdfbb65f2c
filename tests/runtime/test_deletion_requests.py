"""A request to delete: one that waits, one that was never seen, one that may not be obeyed any more, one of
which a small commit takes only a part."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import HostResponse, NewTopic, Settings, StopReplicaRequest, UpdateMetadataRequest
from kedge.controller.check import inspect
from kedge.controller.codec import keys
from kedge.controller.model.values import BROKERS_WITHOUT_INTENT, LEADER_DURING_DELETE
from kedge.stores.base import Put
from kedge.stores.faults import DropEvent, Rule
from tests.runtime.test_deletion import ASKED, CONFIG, STATE, TOPIC, delete, left, refusing
from tests.runtime.test_dispatcher import with_hand
from tests.runtime.world import Cluster, cluster_of_three


def waiting() -> Cluster:
    """Topic t cannot be read, and a tool asks for its deletion."""
    cluster = cluster_of_three()
    cluster.controllers.pop().close()
    cluster.put(TOPIC, b"{broken")
    cluster.another(2)
    cluster.run()
    cluster.put(ASKED, b"")
    cluster.wait(500)
    assert cluster.has(ASKED)
    return cluster


def successor(cluster: Cluster, **more: Any) -> None:
    cluster.controllers.pop().close()
    cluster.another(3, **more)
    cluster.wait(1000)


def mend_and_join(cluster: Cluster, key: str, value: bytes, broker_id: int) -> None:
    """Both are seen in one look."""
    entry = cluster.other.get(key, timeout_s=1)
    assert entry is not None
    cluster.other.commit([Put(key, value, entry.version)], timeout_s=1)
    cluster.join(broker_id)


def test_who_comes_back_while_the_topic_is_mended_deletes_its_log() -> None:
    """The topic was stopped before; its intents look void as long as the order is not known again."""
    cluster = cluster_of_three()
    topic = cluster.keys()[TOPIC]
    cluster.leave(1)
    delete(cluster)
    cluster.wait(500)
    assert cluster.state()["leader"] == LEADER_DURING_DELETE
    cluster.controllers.pop().close()
    cluster.put(TOPIC, b"{broken")
    cluster.another(2)
    cluster.run()
    cluster.host.told.clear()
    mend_and_join(cluster, TOPIC, topic, 1)
    cluster.wait(2000)
    assert cluster.host.to(1, StopReplicaRequest)
    assert left(cluster) == []


# --- requests that wait


def test_a_request_that_waited_for_a_topic_that_goes_is_removed() -> None:
    """The next topic of the name stays: through other deletions, and through a takeover."""
    cluster = waiting()
    cluster.delete(TOPIC)
    cluster.wait(6000)
    assert not cluster.has(ASKED)
    cluster.create("t", (1, 2))
    cluster.create("other", (1, 2))
    delete(cluster, "other")
    cluster.wait(1000)
    successor(cluster)
    assert cluster.partition().replicas == (1, 2)
    assert left(cluster, "other") == []


def test_a_topic_made_right_after_one_that_could_not_be_read_went_stays() -> None:
    """The request of old stands at that moment: it goes first."""
    cluster = waiting()
    cluster.delete(TOPIC)
    cluster.clock.advance(6000)
    made = cluster.controller.admin.create_topics({"t": NewTopic(replica_assignments=((1, 2),))})["t"]
    cluster.wait(6000)
    assert made.result(0).assignments == ((1, 2),)
    assert not cluster.has(ASKED)
    assert cluster.partition().replicas == (1, 2)


def test_unseen_request_is_no_request_for_the_topic_made_since() -> None:
    """Its hint was lost: the commit of the new topic meets the key, which is refused and goes with that commit."""
    cluster = Cluster()
    cluster.join(1, 2, 3)
    cluster.store.play([Rule(DropEvent(), "event", ASKED)])
    cluster.put(ASKED, b"")
    cluster.wait(500)
    assert cluster.has(ASKED)
    cluster.create("t", (1, 2))
    assert cluster.store.errors == {"Conflict": 1}
    assert not cluster.has(ASKED)
    successor(cluster)
    assert cluster.partition().replicas == (1, 2)
    delete(cluster)
    cluster.wait(1000)
    assert left(cluster) == []


# --- deletion is switched off


def test_a_deletion_of_which_the_topic_key_alone_is_left_is_finished() -> None:
    cluster = refusing(3)
    delete(cluster)
    cluster.controllers.pop().close()
    cluster.delete(STATE)
    cluster.host.answer = lambda _: HostResponse()
    cluster.another(3, settings=Settings(delete_topic_enable=False))
    cluster.wait(20_000)
    assert left(cluster) == []


# --- many holders, small commits


def wide() -> Cluster:
    """Topic t with one partition on twelve brokers, over a store that takes eight keys at once."""
    cluster = Cluster(options={"commit_ops_max": 8})
    cluster.join(*range(1, 13))
    cluster.create("t", tuple(range(1, 13)))
    return cluster


@pytest.mark.parametrize("seen", [8, 4])
def test_takeover_sends_to_holders_that_heard_nothing(seen: int) -> None:
    """The state key names them until their intents are written; nothing else goes before."""
    cluster = wide()
    cluster.controller.admin.delete_topics(["t"])
    while len(cluster.state().get(BROKERS_WITHOUT_INTENT, ())) != seen:
        assert cluster.controller.poll_once()
    assert cluster.state()["leader"] == LEADER_DURING_DELETE
    told = {int(key.split("/")[3]) for key in cluster.keys(keys.REPLICA_DELETIONS)}
    assert told.isdisjoint(cluster.state()[BROKERS_WITHOUT_INTENT])
    cluster.controllers.pop().close()
    cluster.another(2)
    cluster.wait(1000)
    assert left(cluster) == []
    assert {r.broker_id for r in cluster.host.told if isinstance(r, StopReplicaRequest)} == set(range(1, 13))


# --- what it costs, what it leaves


def test_slow_broker_gets_only_what_is_deleted() -> None:
    cluster, executor = with_hand()
    cluster.create("u", (1, 2))  # the call to 6 does not return
    while executor.calls and any(broker != 6 for broker, _ in executor.calls):
        executor.work(1, 2, 3, 4, 5)
        cluster.run()
    cluster.controller.admin.delete_topics(["t"])
    for _ in range(20):
        cluster.run()
        executor.work(1, 2, 3, 4, 5)
    assert not cluster.has(TOPIC)
    cluster.host.told.clear()
    for _ in range(5):
        executor.work()
        cluster.run()
    (late,) = [r for r in cluster.host.to(6, UpdateMetadataRequest) if any(p.topic == "t" for p in r.partitions)]
    assert [(p.topic, p.leader) for p in late.partitions] == [("t", LEADER_DURING_DELETE)]
    assert not any(r.full for r in cluster.host.told if isinstance(r, UpdateMetadataRequest))


def test_partition_that_was_never_sent_is_deleted_without_a_request() -> None:
    """It had no state: there is nothing to take back."""
    cluster = cluster_of_three()
    cluster.put(keys.topic("odd"), {"version": 1, "partitions": {"0": [77]}})
    cluster.wait(500)
    cluster.host.told.clear()
    delete(cluster, "odd")
    cluster.wait(1000)
    assert left(cluster, "odd") == []
    assert not any(r.full or r.partitions for r in cluster.host.told if isinstance(r, UpdateMetadataRequest))


def test_keys_of_a_topic_removed_without_a_leader_are_found_by_check() -> None:
    """Its partitions are unknown: the request is removed, the rest is for a person to look at."""
    cluster = refusing(3)
    delete(cluster)
    cluster.controllers.pop().close()
    cluster.delete(TOPIC)
    cluster.host.answer = lambda _: HostResponse()
    cluster.another(2)
    cluster.wait(20_000)
    assert left(cluster) == [STATE, CONFIG]
    found = inspect(cluster.other.snapshot("/", timeout_s=1).entries).at_least("warning")
    assert {finding.kind for finding in found} >= {"orphan-topic", "orphan-config"}
    cluster.create("t", (1, 2))
    assert cluster.partition().isr == (1, 2)
