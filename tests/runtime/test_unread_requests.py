"""Topics and partitions whose keys may not be read, and nothing else is held up by them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedge import StorageError
from kedge.controller.codec import keys
from kedge.controller.model.host import StopReplicaRequest
from kedge.controller.runtime.journal import Journal, MemorySink
from tests.runtime.guarded import GuardedCluster

TOPIC, STATE, CONFIG = keys.topic("t"), keys.state("t", 0), keys.topic_config("t")
REQUEST = keys.delete_topic("t")
NOTICES = tuple(f"{keys.ISR_CHANGES}/isr_change_000000000{number}" for number in (1, 2))


def with_topic(**controller: Any) -> GuardedCluster:
    """t-0 on 3, 1, 2 and t-1 on 1, 2, 3; all in sync."""
    cluster = GuardedCluster(1, 2, 3, 4, **controller)
    cluster.create("t", (3, 1, 2), (1, 2, 3), **{"retention.ms": "5"})
    return cluster


def delete(cluster: GuardedCluster) -> BaseException | None:
    return cluster.error(cluster.controller.admin.delete_topics(["t"])["t"])


def is_whole(cluster: GuardedCluster) -> bool:
    return cluster.has(TOPIC) and cluster.state()["leader"] == 3


def half_deleted(**controller: Any) -> GuardedCluster:
    """The partitions of t are stopped; 2 has not deleted its logs."""
    cluster = with_topic(**controller)
    cluster.leave(2)
    assert delete(cluster) is None
    assert cluster.state()["leader"] == -2
    return cluster


# --- topics and states


def test_a_state_that_a_takeover_may_not_read_is_left_as_it_is() -> None:
    """Whatever happens to its leader; the partitions beside it go on."""
    cluster = with_topic()
    before = cluster.value(STATE)
    cluster.forbid(STATE)
    cluster.succeed()
    cluster.leave(3)
    cluster.wait(6_000, 500)
    assert cluster.value(STATE) == before
    assert cluster.state("t", 1)["isr"] == [1, 2]
    assert isinstance(cluster.error(cluster.move([4, 1, 2])), StorageError)
    cluster.allow(STATE)
    assert (cluster.state()["leader"], cluster.state()["isr"], cluster.findings()) == (1, [1, 2], {})


@pytest.mark.parametrize("key", [TOPIC, STATE])
def test_what_is_known_stays_in_force_when_its_key_may_not_be_read_any_more(key: str) -> None:
    """A hint has it read; a leader that dies is replaced as ever, by the version that is known."""
    cluster = with_topic()
    cluster.forbid(key)
    cluster.put(NOTICES[0], {"version": 1, "partitions": [{"topic": "t", "partition": 0}]})
    cluster.rewrite(keys.topic("other"), b'{"version":1,"partitions":{"0":[1]}}')
    cluster.run()
    epoch = cluster.controller.describe().controller_epoch
    cluster.leave(3)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (1, [1, 2])
    assert cluster.controller.describe().controller_epoch == epoch


def test_rewritten_and_forbidden_state_holds_up_its_own_partition_alone() -> None:
    """Where it stands is not known: it is not written before it can be read."""
    cluster = with_topic()
    theirs = cluster.value(STATE).replace(b'"isr":[3,1,2]', b'"isr":[3,1]')
    cluster.forbid(STATE)
    cluster.rewrite(STATE, theirs)
    epoch = cluster.controller.describe().controller_epoch
    cluster.leave(3)
    cluster.wait(3_000, 500)
    assert cluster.value(STATE) == theirs
    assert cluster.state("t", 1)["isr"] == [1, 2]
    cluster.guarded.forbidden.clear()
    cluster.wait(20_000, 500)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (1, [1])
    assert cluster.controller.describe().controller_epoch == epoch
    assert cluster.findings() == {}


def test_a_new_topic_is_not_led_over_a_state_of_a_former_one_that_may_not_be_read() -> None:
    """Once it can be, it is written over."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.rewrite(STATE, b'{"version":1,"leader":9,"leader_epoch":9,"controller_epoch":9,"isr":[9]}')
    cluster.forbid(STATE)
    cluster.create("t", (3, 1, 2))
    cluster.wait(2_000, 500)
    assert cluster.state()["leader"] == 9
    assert "t-0" in cluster.findings()
    cluster.allow(STATE)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (3, [3, 1, 2])


# --- deletions


def test_a_topic_of_which_a_state_may_not_be_read_is_not_deleted() -> None:
    """Neither by a call nor by a key, which waits; whose logs would be asked for, and what would remove the key?"""
    cluster = with_topic()
    cluster.forbid(STATE)
    cluster.succeed()
    assert isinstance(delete(cluster), StorageError)
    cluster.rewrite(REQUEST, b"")
    cluster.run()
    assert is_whole(cluster)
    assert cluster.state("t", 1)["leader"] == 1
    cluster.allow(STATE)
    assert cluster.keys("/brokers/topics") == {}
    assert not cluster.has(REQUEST)


def test_a_deletion_that_was_begun_waits_for_a_state_that_may_not_be_read() -> None:
    """And ends once it can be."""
    cluster = half_deleted()
    cluster.forbid(STATE)
    cluster.succeed()
    cluster.join(2)
    assert STATE in cluster.findings()["t-0"]
    assert cluster.host.to(2, StopReplicaRequest)
    cluster.wait(5_000, 500)
    assert cluster.has(REQUEST)
    assert cluster.has(STATE)
    cluster.allow(STATE)
    assert cluster.keys("/brokers/topics") == {}
    assert not cluster.has(REQUEST)
    assert cluster.findings() == {}


# --- what is left alone is not written in vain


def conflicts(sink: MemorySink) -> list[str]:
    """The keys that were met otherwise than they were known to stand."""
    rows = [json.loads(line) for line in sink.lines]
    return [row["detail"]["key"] for row in rows if row["event"] == "Conflict"]


def test_topic_written_and_forbidden_by_another_client_is_not_written() -> None:
    """Its partitions go on; what stands there is looked at once it can be read."""
    sink = MemorySink()
    cluster = with_topic(journal=Journal(sink))
    cluster.forbid(TOPIC)
    theirs = b'{"version":1,"partitions":{"0":[3,1,2],"1":[1,2,3],"2":[1,2,3]}}'
    cluster.rewrite(TOPIC, theirs)
    cluster.leave(3)
    cluster.wait(2_000, 500)
    assert cluster.value(TOPIC) == theirs
    assert cluster.state()["leader"] == 1
    assert conflicts(sink) == []
    cluster.allow(TOPIC)
    assert cluster.state("t", 2)["leader"] == 1
    assert cluster.findings() == {}


def test_a_state_that_a_deletion_waits_for_is_not_written() -> None:
    """Nothing turns in a circle meanwhile."""
    sink = MemorySink()
    cluster = half_deleted(journal=Journal(sink))
    cluster.forbid(STATE)
    cluster.succeed()
    cluster.join(2)
    cluster.wait(5_000, 500)
    assert cluster.has(STATE)
    assert conflicts(sink) == []
