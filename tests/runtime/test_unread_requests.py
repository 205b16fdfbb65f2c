"""Topics, states, requests of others and intents that may not be read: the other rows of
`controller.keys.unreadable`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.codec import keys
from controller.runtime.journal import Journal, MemorySink
from kedge import StorageError
from tests.runtime.guarded import GuardedCluster
from tests.runtime.plans import plan
from tests.runtime.world import failing

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


def test_a_state_that_somebody_wrote_and_forbade_holds_up_its_own_partition_alone() -> None:
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


def test_a_request_to_delete_that_may_not_be_read_is_not_begun() -> None:
    """It could not be removed in the end. Nor is another request for the same, and a finding says so."""
    cluster = with_topic()
    cluster.rewrite(REQUEST, b"")
    cluster.forbid(REQUEST)
    cluster.succeed()
    assert is_whole(cluster)
    assert "not begun" in cluster.findings()[REQUEST]
    assert isinstance(delete(cluster), StorageError)
    cluster.allow(REQUEST)
    assert cluster.keys("/brokers/topics") == {}
    assert not cluster.has(REQUEST)
    assert cluster.findings() == {}


def test_a_request_that_comes_while_it_runs_and_may_not_be_read_is_not_begun() -> None:
    """Neither by the hint at it, nor by a request that meets it."""
    cluster = with_topic()
    cluster.forbid(REQUEST)
    cluster.rewrite(REQUEST, b"")
    assert isinstance(delete(cluster), StorageError)
    assert is_whole(cluster)
    cluster.allow(REQUEST)
    assert not cluster.has(TOPIC)


def test_no_topic_is_made_that_a_request_asks_to_delete_which_may_not_be_read() -> None:
    """It would be deleted as soon as that can be."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.rewrite(REQUEST, b"")
    cluster.forbid(REQUEST)
    with pytest.raises(StorageError):
        cluster.create("t")
    cluster.allow(REQUEST)
    assert not cluster.has(REQUEST)
    cluster.create("t")
    assert cluster.state()["leader"] == 1


@pytest.mark.parametrize("takes_over", [True, False])
def test_a_deletion_that_was_begun_ends_though_its_request_may_not_be_read(takes_over: bool) -> None:
    """All but the request itself goes, and that once it can be read."""
    cluster = half_deleted()
    cluster.forbid(REQUEST)
    if takes_over:
        cluster.succeed()
    else:  # somebody wrote it: the version that was known is no more
        cluster.rewrite(REQUEST, b"theirs")
        cluster.run()
    cluster.join(2)
    assert cluster.keys("/brokers/topics") == {}
    assert cluster.controller.describe().deleting_topics == ()
    assert cluster.has(REQUEST)
    with pytest.raises(StorageError):
        cluster.create("t")
    cluster.allow(REQUEST)
    assert not cluster.has(REQUEST)
    cluster.create("t")
    assert cluster.findings() == {}


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
    cluster.allow(STATE)
    assert cluster.keys("/brokers/topics") == {}
    assert not cluster.has(REQUEST)
    assert cluster.findings() == {}


@pytest.mark.parametrize("takes_over", [True, False])
def test_settings_that_may_not_be_read_stay_when_their_topic_is_deleted(takes_over: bool) -> None:
    """They are all that stays."""
    cluster = with_topic()
    cluster.forbid(CONFIG)
    if takes_over:
        cluster.succeed()
    else:
        cluster.rewrite(CONFIG, b"{}")
        cluster.run()
    assert delete(cluster) is None
    assert cluster.keys("/brokers/topics") == {}
    assert not cluster.has(REQUEST)
    assert cluster.has(CONFIG)


# --- orders of others


def test_a_notice_that_may_not_be_read_holds_up_no_other_and_is_a_finding() -> None:
    """It is worked off once it can be read."""
    cluster = with_topic()
    cluster.forbid(NOTICES[0])
    for notice in NOTICES:
        cluster.put(notice, {"version": 1, "partitions": [{"topic": "t", "partition": 0}]})
    cluster.wait(2_000, 500)
    assert cluster.has(NOTICES[0])
    assert not cluster.has(NOTICES[1])
    assert NOTICES[0] in cluster.findings()
    cluster.allow(NOTICES[0])
    assert not cluster.has(NOTICES[0])
    assert cluster.findings() == {}


def test_a_change_of_settings_that_may_not_be_read_is_passed_over() -> None:
    """The settings themselves are watched."""
    cluster = with_topic()
    change = f"{keys.CONFIG_CHANGES}/config_change_0000000001"
    cluster.forbid(change)
    cluster.put(change, {"version": 2, "entity_path": "topics/t"})
    cluster.run()
    assert "passed over" in cluster.findings()[change]


def test_a_plan_that_a_takeover_may_not_read_is_begun_once_it_can_be() -> None:
    """Until then it is left alone, though nothing moves."""
    cluster = with_topic()
    cluster.put(keys.REASSIGN_PARTITIONS, plan({("t", 0): (4, 1, 2)}))
    cluster.forbid(keys.REASSIGN_PARTITIONS)
    cluster.succeed()
    cluster.wait(5_000, 500)
    assert cluster.has(keys.REASSIGN_PARTITIONS)
    assert keys.REASSIGN_PARTITIONS in cluster.findings()
    cluster.allow(keys.REASSIGN_PARTITIONS)
    assert cluster.partition().target_replicas == (4, 1, 2)


def test_a_plan_that_may_not_be_read_any_more_is_gone_on_with() -> None:
    """What is known of it stays in force, and its key goes when its moves end."""
    cluster = with_topic()
    cluster.put(keys.REASSIGN_PARTITIONS, plan({("t", 0): (4, 1, 2)}))
    cluster.run()
    cluster.forbid(keys.REASSIGN_PARTITIONS)
    cluster.done(cluster.isr((3, 1, 2, 4)))
    cluster.wait(2_000, 500)
    assert cluster.partition().replicas == (4, 1, 2)
    assert not cluster.has(keys.REASSIGN_PARTITIONS)


def test_intents_that_may_not_be_read_are_worked_off_by_whoever_can() -> None:
    """A finding says that nobody deletes the replicas meanwhile."""
    cluster = with_topic()
    cluster.host.answer = failing(3)
    cluster.done(cluster.move([4, 1, 2]))
    cluster.done(cluster.isr((3, 1, 2, 4)))
    cluster.wait(1_000)
    (key,) = cluster.keys(keys.REPLICA_DELETIONS)
    cluster.forbid(key)
    cluster.succeed()
    assert "takes over" in cluster.findings()[key]
    assert cluster.controller.describe().replicas_to_delete == 0
    cluster.guarded.forbidden.clear()
    cluster.succeed()
    assert cluster.controller.describe().replicas_to_delete == 1


# --- what is left alone is not written in vain


def conflicts(sink: MemorySink) -> list[str]:
    """The keys that were met otherwise than they were known to stand."""
    rows = [json.loads(line) for line in sink.lines]
    return [row["detail"]["key"] for row in rows if row["event"] == "Conflict"]


def test_a_topic_that_somebody_wrote_and_forbade_is_not_written() -> None:
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


def test_a_plan_that_somebody_wrote_and_forbade_does_not_stop_its_moves() -> None:
    """They end; the key is removed once it can be read."""
    cluster = with_topic()
    cluster.put(keys.REASSIGN_PARTITIONS, plan({("t", 0): (4, 1, 2)}))
    cluster.run()
    cluster.forbid(keys.REASSIGN_PARTITIONS)
    cluster.put(keys.REASSIGN_PARTITIONS, plan({("t", 0): (4, 2, 1)}))
    cluster.run()
    assert cluster.partition().target_replicas == (4, 1, 2)
    epoch = cluster.controller.describe().controller_epoch
    cluster.done(cluster.isr((3, 1, 2, 4)))
    cluster.allow(keys.REASSIGN_PARTITIONS)
    cluster.wait(15_000, 500)
    assert cluster.partition().replicas == (4, 1, 2)
    assert not cluster.has(keys.REASSIGN_PARTITIONS)
    assert cluster.controller.describe().controller_epoch == epoch
