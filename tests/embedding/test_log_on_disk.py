"""The example of a host with logs on disk: the suite for hosts, the script, and what its log does after a crash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from examples.log_on_disk.__main__ import TP, Cluster
from examples.log_on_disk.log import HEADER, Log
from examples.log_on_disk.replica import Replica
from examples.log_on_disk.under_test import DiskBrokers
from kedge import ErrorCode, NewTopic
from kedge.controller.rig.host_suite import CASES, Case, Role
from kedge.controller.rig.host_suite.stage import LEADER_EPOCH, PARTITION_EPOCH, SECOND, Stage, deletion, metadata, said
from kedge.controller.rig.host_suite.stage import TP as STAGE_TP
from tests.kit.commands import run_example

SECONDS_MAX = 120
SEEDS, ACTIONS = 10, 300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_example_passes_the_suite_for_hosts(case: Case) -> None:
    host = DiskBrokers()
    assert not case.lacks(host)
    case.run(host)


@pytest.mark.slow
def test_script_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    printed = run_example("log_on_disk", tmp_path, seconds_max=SECONDS_MAX)
    held = "holds ['one', 'two', 'three', 'four', 'five', 'six']"
    assert printed.splitlines()[-3:] == [f"broker-{broker} {held}" for broker in (2, 3, 4)]
    assert sorted(path.parents[1].name for path in tmp_path.glob("*/orders-0.*/records")) == [
        "broker-2",
        "broker-3",
        "broker-4",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_acknowledged_is_lost_in_crashes(tmp_path: Path, seed: int) -> None:
    """Brokers are killed and restarted at any moment, also within a copy; in the end all logs are equal."""
    chance = random.Random(seed)
    cluster = Cluster(tmp_path)
    running = cluster.brokers.running
    cluster.until(lambda: cluster.controller.is_active)
    cluster.start(1, 2, 3)
    cluster.until(lambda: len(cluster.controller.describe().live_brokers) == 3)
    created = cluster.controller.admin.create_topics({TP.topic: NewTopic(replica_assignments=[[1, 2, 3]])})
    cluster.until(lambda: created[TP.topic].done() and cluster.in_sync() == [1, 2, 3])
    waiting: list[tuple[Replica, int, int, bytes]] = []
    for number in range(ACTIONS):
        leader, broker_id = cluster.leader(), chance.choice((1, 2, 3))
        if chance.random() < 0.1 and broker_id in running:
            cluster.kill(broker_id)
        elif chance.random() < 0.4 and broker_id not in running:
            cluster.start(broker_id)
        elif chance.random() < 0.5 and leader is not None:
            end = running[leader.broker].append(TP, [b"%d" % number])
            assert end is not None
            waiting.append((leader, leader.leader_epoch, end, b"%d" % number))
        elif broker_id in running:
            running[broker_id].step()
        cluster.controller.poll_once(0)
        for one in list(waiting):
            replica, epoch, end, payload = one
            if replica.leads and replica.leader_epoch == epoch and replica.high_watermark >= end:
                cluster.acknowledged.append(payload)
                waiting.remove(one)
    cluster.start(*({1, 2, 3} - running.keys()))
    cluster.until(lambda: cluster.in_sync() == [1, 2, 3])
    cluster.write(b"last")
    cluster.controller.close()
    logs = [Log(path).read(0, ACTIONS + 1) for path in tmp_path.glob(f"*/{TP}.*")]
    assert len(logs) == 3
    assert logs[0] == logs[1] == logs[2]
    kept = [payload for _, payload in logs[0]]
    assert [payload for payload in kept if payload in cluster.acknowledged] == cluster.acknowledged


def test_leader_learns_the_isr_by_metadata() -> None:
    """The answer to `alter_isr` may be lost, and a later controller may change the ISR."""
    host = DiskBrokers()
    stage = Stage(host)
    stage.tell(1, said(isr=(1, 2)))
    stage.inform(1, metadata(isr=(1,), partition_epoch=PARTITION_EPOCH + 1))
    stage.inform(1, metadata(isr=(1, 3), partition_epoch=PARTITION_EPOCH))
    assert stage.holds(1).isr == (1,)
    host.close()


def test_followers_copy_within_one_leader_epoch() -> None:
    """The former leader has not heard of the new epoch, and may have records that will be truncated."""
    host = DiskBrokers()
    stage = Stage(host)
    stage.tell(1, said())
    host.append(1, STAGE_TP, 5)
    stage.tell(2, said(leader_epoch=LEADER_EPOCH + 1))
    assert stage.stays(2).end_offset == 0
    stage.tell(1, said(leader_epoch=LEADER_EPOCH + 1))
    stage.becomes(2, "has 5 records", lambda held: held.end_offset == 5)
    host.close()


def test_high_watermark_waits_for_the_isr_that_was_asked_for() -> None:
    """The controller may have committed it, though the answer has not arrived."""
    host = DiskBrokers()
    stage = Stage(host)
    stage.tell(1, said(replicas=(1, 2), isr=(1,)))
    stage.tell(2, said(replicas=(1, 2), isr=(1,)))
    host.append(1, STAGE_TP, 5)
    stage.eventually("the leader asks", lambda: stage.updater.unanswered)
    host.append(1, STAGE_TP, 1)
    leader = host.broker(1).leading(STAGE_TP)
    assert leader is not None
    assert (leader.log.end_offset, leader.high_watermark) == (6, 5)
    host.close()


def test_broker_starts_with_a_disk_that_fails() -> None:
    """It answers KAFKA_STORAGE_ERROR for that partition, and serves the others."""
    host = DiskBrokers()
    stage = Stage(host)
    stage.tell(1, said(), said(SECOND))
    host.lose_disk(1, STAGE_TP)
    host.restart(1)
    assert stage.tell(1, said(), said(SECOND)) == {STAGE_TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert stage.stop(1, deletion()) == {STAGE_TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert stage.holds(1, SECOND).role is Role.LEADER
    host.close()


def test_offline_partition_is_not_served() -> None:
    """KIP-694: a read-only one takes no records, an offline one gets no log."""
    host = DiskBrokers()
    stage = Stage(host)
    stage.tell(1, said(status_code=-1), said(SECOND, status_code=1))
    assert stage.holds(1).role is Role.LEADER
    assert host.append(1, STAGE_TP, 1) == 0
    assert stage.held(1, SECOND) is None
    stage.tell(1, said(status_code=1, partition_epoch=PARTITION_EPOCH + 1))
    assert stage.holds(1).role is Role.IDLE
    host.close()


# --- the log


def test_log_is_read_back_after_a_restart(tmp_path: Path) -> None:
    records = [(0, b"a"), (0, b""), (2, b"ccc")]
    Log(tmp_path).append(records)
    again = Log(tmp_path)
    assert (again.read(0, 10), again.read(1, 1), again.read(3, 1)) == (records, records[1:2], [])
    assert (again.end_offset, again.last_epoch) == (3, 2)
    assert [again.end_of_epoch(epoch) for epoch in (-1, 0, 1, 2)] == [(-1, 0), (0, 2), (0, 2), (2, 3)]


@pytest.mark.parametrize("cut", range(1, HEADER.size + 4))
def test_torn_record_is_cut_off(tmp_path: Path, cut: int) -> None:
    """However much of the last record a crash left, the records before it stay, and the next one follows them."""
    log = Log(tmp_path)
    log.append([(0, b"kept"), (1, b"torn")])
    with log.file.open("r+b") as file:
        file.truncate(log.file.stat().st_size - cut)
    again = Log(tmp_path)
    assert again.read(0, 10) == [(0, b"kept")]
    again.append([(2, b"next")])
    assert Log(tmp_path).read(0, 10) == [(0, b"kept"), (2, b"next")]


def test_damaged_record_is_cut_off(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.append([(0, b"kept"), (0, b"bad")])
    with log.file.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    assert Log(tmp_path).read(0, 10) == [(0, b"kept")]


def test_truncation_lasts(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.append([(0, b"a"), (0, b"b"), (1, b"c")])
    assert (log.truncate(1), log.truncate(1), log.truncate(9)) == (2, 0, 0)
    log.append([(2, b"d")])
    assert Log(tmp_path).read(0, 10) == [(0, b"a"), (2, b"d")]


@pytest.mark.parametrize(
    "follower,leader,end",
    [
        ([0, 0, 0], [0, 0, 1], 2),
        ([0, 1, 1], [0, 2], 1),
        ([0, 0], [0, 0, 0], 2),
        ([3], [0, 1], 0),
        ([0, 2], [1], 0),
        ([], [0], 0),
    ],
)
def test_logs_are_equal_up_to_the_common_epoch(
    tmp_path: Path, follower: list[int], leader: list[int], end: int
) -> None:
    """As KIP-101 and KIP-279 have it; each number is the leader epoch of a record."""
    ours, theirs = Log(tmp_path / "ours"), Log(tmp_path / "theirs")
    ours.append((epoch, b"") for epoch in follower)
    theirs.append((epoch, b"") for epoch in leader)
    assert ours.common_end(theirs.end_of_epoch) == end
