"""Keys that others put for the controller: read at takeover and on a hint, worked off, deleted by a fenced commit."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from kedge import Journal, MemorySink, Settings
from kedge.controller.codec import keys
from kedge.stores.base import ABSENT, Put
from tests.runtime.world import Cluster, cluster_of_three

PREFERRED = keys.PREFERRED_ELECTION
ISR = f"{keys.ISR_CHANGES}/isr_change_0000000007"
LOG_DIR = f"{keys.LOG_DIR_EVENTS}/log_dir_event_0000000003"
STATE = "/brokers/topics/t/partitions/0/state"


ONE_BY_ONE = Settings(commit_decisions_max=1)


def named(*partitions: tuple[str, int]) -> dict[str, Any]:
    return {"version": 1, "partitions": [{"topic": topic, "partition": number} for topic, number in partitions]}


def led_by_another(**more: Any) -> Cluster:
    """t-0 on 1, 2, 3 is led by 2, and 1 is in sync."""
    cluster = cluster_of_three(**more)
    cluster.leave(1)
    cluster.join(1)
    cluster.done(cluster.isr([2, 3, 1]))
    assert cluster.state()["leader"] == 2
    return cluster


def test_the_preferred_key_elects_and_goes() -> None:
    cluster = led_by_another()
    cluster.put(PREFERRED, named(("t", 0)))
    cluster.run()
    assert cluster.state()["leader"] == 1
    assert not cluster.has(PREFERRED)


def test_the_preferred_key_is_read_at_takeover() -> None:
    cluster = led_by_another()
    cluster.controllers.pop().close()
    cluster.put(PREFERRED, named(("t", 0)))
    cluster.another(2)
    cluster.run()
    assert (cluster.state()["leader"], cluster.has(PREFERRED)) == (1, False)


def test_unknown_partitions_are_passed_over_with_a_logged_reason(caplog: pytest.LogCaptureFixture) -> None:
    """The known ones are elected, and the journal has the reasons."""
    sink = MemorySink()
    cluster = led_by_another()
    cluster.controllers.pop().close()
    cluster.another(2, journal=Journal(sink))
    with caplog.at_level(logging.WARNING):
        cluster.put(PREFERRED, named(("t", 0), ("t", 9), ("nowhere", 0)))
        cluster.run()
    assert (cluster.state()["leader"], cluster.has(PREFERRED)) == (1, False)
    assert [m for m in caplog.messages if "passed over" in m] == [
        f"{PREFERRED}: passed over: there is no partition {name}" for name in ("t-9", "nowhere-0")
    ]
    (row,) = [row for row in map(json.loads, sink.lines) if row.get("detail", {}).get("removed")]
    assert row["detail"]["passed_over"] == ["there is no partition t-9", "there is no partition nowhere-0"]
    assert cluster.findings() == {}


def test_of_very_many_unknown_partitions_a_few_are_named(caplog: pytest.LogCaptureFixture) -> None:
    cluster = led_by_another()
    with caplog.at_level(logging.WARNING):
        cluster.put(PREFERRED, named(("t", 0), *(("x" * 200, number) for number in range(3_000))))
        cluster.run()
    said = [m for m in caplog.messages if "passed over" in m]
    assert len(said) == 21
    assert said[-1].endswith("and 2980 more")
    assert max(map(len, said)) < 200
    assert (cluster.state()["leader"], cluster.has(PREFERRED)) == (1, False)


BROKEN: list[Any] = [b"", b"{", [], {}, named() | {"partitions": {}}, named() | {"partitions": [{}]}, named(("t", -1))]


@pytest.mark.parametrize("value", BROKEN)
@pytest.mark.parametrize("key", [PREFERRED, ISR, LOG_DIR])
def test_a_broken_key_is_a_finding_and_removed(key: str, value: Any) -> None:
    """Nothing is elected; the finding goes with the next good one."""
    cluster = led_by_another()
    cluster.put(key, value)
    cluster.run()
    assert not cluster.has(key)
    (finding,) = cluster.findings().values()
    assert finding.startswith(f"{key} was removed, since it cannot be read")
    assert cluster.state()["leader"] == 2
    good = {LOG_DIR: {"version": 1, "broker": 1, "event": 1}}.get(key, named(("t", 0)))
    cluster.put(key, good)
    cluster.run()
    assert (cluster.has(key), cluster.findings()) == (False, {})


def test_key_that_is_put_again_meanwhile_is_processed_with_its_new_value() -> None:
    """The commit that would have removed it is in conflict; no request is lost."""
    cluster = led_by_another(settings=ONE_BY_ONE)
    cluster.create("u", (4, 5))
    cluster.leave(4)
    cluster.join(4)
    cluster.done(cluster.isr([5, 4], "u"))
    cluster.put(PREFERRED, named(("t", 0)))
    while cluster.state()["leader"] == 2:
        cluster.controller.poll_once()
    cluster.put(PREFERRED, named(("u", 0)))
    cluster.run()
    assert cluster.store.errors["Conflict"] == 1
    assert (cluster.state("u")["leader"], cluster.has(PREFERRED)) == (4, False)


def test_key_that_another_client_removed_meanwhile_is_done() -> None:
    cluster = led_by_another(settings=ONE_BY_ONE)
    cluster.put(PREFERRED, named(("t", 0)))
    while cluster.state()["leader"] == 2:
        cluster.controller.poll_once()
    cluster.delete(PREFERRED)
    cluster.run()
    assert cluster.findings() == {}
    cluster.put(PREFERRED, named(("t", 0)))
    cluster.run()
    assert not cluster.has(PREFERRED)


def test_a_key_that_others_keep_writing_is_worked_off_when_they_stop() -> None:
    """It is left alone for a while; nothing else waits for it."""
    cluster = led_by_another(settings=ONE_BY_ONE)
    for _ in range(8):
        cluster.put(PREFERRED, named(("t", 0)))
        cluster.controller.poll_once()
    assert cluster.done(cluster.move([4, 5], "t")).target_replicas == (4, 5)
    cluster.wait(3_000)
    assert not cluster.has(PREFERRED)


def test_a_crash_before_the_key_is_deleted_only_reads_it_again() -> None:
    """The election is done once, the key goes with the next controller."""
    cluster = led_by_another(settings=ONE_BY_ONE)
    epoch = cluster.state()["leader_epoch"]
    cluster.put(PREFERRED, named(("t", 0)))
    while cluster.state()["leader"] == 2:
        cluster.controller.poll_once()
    assert cluster.has(PREFERRED)
    cluster.controllers.pop().close()
    cluster.another(2)
    cluster.run()
    assert (cluster.has(PREFERRED), cluster.state()["leader_epoch"]) == (False, epoch + 1)


def test_an_isr_that_an_old_leader_wrote_itself_is_taken_over() -> None:
    """The notification names the partition; it is deleted after the key was read, and unknown ones are passed over."""
    cluster = cluster_of_three()
    state = cluster.state()
    cluster.put(STATE, {**state, "isr": [1, 2]})
    cluster.run()
    assert cluster.partition().isr == (1, 2, 3)
    cluster.put(ISR, named(("t", 0), ("nowhere", 3)))
    cluster.run()
    assert cluster.partition().isr == (1, 2)
    assert not cluster.has(ISR)
    assert cluster.state()["isr"] == [1, 2]


def test_notifications_put_without_a_leader_are_read_at_takeover() -> None:
    cluster = cluster_of_three()
    cluster.controllers.pop().close()
    cluster.put(STATE, {**cluster.state(), "isr": [1, 3]})
    cluster.put(ISR, named(("t", 0)))
    cluster.put(LOG_DIR, {"version": 1, "broker": 9, "event": 1})
    cluster.another(2)
    cluster.run()
    assert cluster.partition().isr == (1, 3)
    assert not cluster.has(ISR)
    assert not cluster.has(LOG_DIR)


def test_what_is_worked_off_is_not_read_twice_for_a_second_hint() -> None:
    """Two hints and a Resync for one key are one election."""
    cluster = led_by_another()
    epoch = cluster.state()["leader_epoch"]
    cluster.put(PREFERRED, named(("t", 0)))
    for _ in range(3):
        cluster.store.force_resync()
        cluster.controller.poll_once()
    cluster.run()
    assert cluster.state()["leader_epoch"] == epoch + 1
    assert not cluster.has(PREFERRED)


def test_a_key_below_a_notification_is_left_alone() -> None:
    cluster = cluster_of_three()
    cluster.other.commit([Put(f"{keys.ISR_CHANGES}/x/y", b"{", ABSENT)], timeout_s=1)
    cluster.store.force_resync()
    cluster.run()
    assert cluster.has(f"{keys.ISR_CHANGES}/x/y")
    assert cluster.findings() == {}


def test_what_was_read_of_a_key_before_we_wrote_it_is_not_news() -> None:
    """Two notifications name one partition: its key is read for each, and written back after the first."""
    cluster = cluster_of_three(settings=Settings(commit_decisions_max=1))
    state = "/brokers/topics/t/partitions/0/state"
    cluster.put(state, {**cluster.state(), "isr": [1, 2]})
    for number in (1, 2):
        named = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
        cluster.put(f"{keys.ISR_CHANGES}/isr_change_000000000{number}", named)
    cluster.run()
    entry = cluster.other.get(state, timeout_s=1)
    assert entry is not None
    partition = cluster.partition()
    assert partition.isr == (1, 2)
    assert cluster.done(cluster.controller.query(lambda view: view.partition_epoch(partition))) == entry.generation
    assert cluster.store.errors["Conflict"] == 0
