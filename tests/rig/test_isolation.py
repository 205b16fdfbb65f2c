"""A fault of one replica on live brokers, in its log or its settings: clients of the others do not notice it."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from weakref import WeakSet

import attrs
import pytest

from kedge import TopicPartition
from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    UpdateMetadataRequest,
)
from kedge.controller.model.logs import Appended, Batch, Fetched, FetchFrom, LogError
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.rig import Broker, NodeClock, VirtualClock
from kedge.controller.rig.server import write
from kedge.controller.simulated.isolation import Isolated
from kedge.controller.simulated.log import Log, Run
from kedge.controller.simulated.replica import Replica, Role
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import DEADLINE_S

BROKEN, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
FAULT = LogError.KAFKA_STORAGE_ERROR


class Unreadable(Log):
    """A log on a disk that fails."""

    @property
    def end_offset(self) -> int:
        raise OSError(errno.EIO, "the disk fails")


class Uncopied(Log):
    """One that takes records, and does not give them to followers."""

    def read(self, offset: int, bytes_max: int | None = None) -> list[Run]:
        raise OSError(errno.EIO, f"the disk fails at {offset}, {bytes_max}")


def replica_of(living: Living, broker: int) -> Replica:
    """That of BROKEN, as soon as the broker has it."""
    until(lambda: living.cluster.brokers[broker].replica(BROKEN) is not None)
    found = living.cluster.brokers[broker].replica(BROKEN)
    assert found is not None
    return found


@contextmanager
def failing(living: Living, broker: int, kind: type[Log] = Unreadable) -> Iterator[None]:
    """The broker's log of BROKEN is of this kind meanwhile."""
    log = replica_of(living, broker).log
    with living.cluster.lock:
        log.__class__ = kind
    yield
    with living.cluster.lock:
        log.__class__ = Log


def append(living: Living, tp: TopicPartition, acks: int = -1) -> Future[Appended]:
    return living.cluster.logs.append(None, tp, Batch(b"x" * 50, 1, 0), acks=acks, timeout_ms=30_000)


def error_of(living: Living, tp: TopicPartition, acks: int = -1) -> LogError:
    return append(living, tp, acks).result(DEADLINE_S).error


def fetch(living: Living, *tps: TopicPartition) -> Future[dict[TopicPartition, Fetched]]:
    """From the first record on; it waits until there is one."""
    wanted = {tp: FetchFrom(0, 1000) for tp in tps}
    return living.cluster.logs.fetch(None, wanted, bytes_max=1000, bytes_min=1, wait_ms=30_000)


def in_sync(living: Living, tp: TopicPartition) -> set[int]:
    found = living.cluster.controller.query(lambda view: view.partition(tp.topic, tp.partition)).result(DEADLINE_S)
    return set() if found is None else set(found.isr)


def faults(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The beginnings of what was logged with a traceback."""
    return [record.getMessage().partition(";")[0] for record in caplog.records if record.exc_info]


def test_a_setting_that_is_no_number_stops_its_topic_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Another tool writes it to the store while a producer waits, who is answered once it is mended."""
    with Living(copy_rate_bytes_s=1) as living:
        broken, other = living.topic("broken", [[1, 2]])[0], living.topic("other", [[1]])[0]
        logs = living.cluster.logs
        promised = append(living, broken)
        assert logs.bounds(None, broken).result(DEADLINE_S).end_offset == 1
        write(living.cluster.server, "/config/topics/broken", b'{"version":1,"config":{"min.insync.replicas":"two"}}')
        until(lambda: living.cluster.network.settings.get(("topics", "broken")) == {"min.insync.replicas": "two"})
        assert error_of(living, broken) is FAULT
        living.cluster.copying.rate_bytes_s = None
        until(lambda: logs.bounds(None, broken).result(DEADLINE_S).high_watermark == 1)
        waiting = fetch(living, other)
        assert error_of(living, other) is LogError.NONE
        assert waiting.result(DEADLINE_S)[other].size_bytes == 50
        assert not promised.done()
        write(living.cluster.server, "/config/topics/broken", b'{"version":1,"config":{}}')
        assert promised.result(DEADLINE_S).error is LogError.NONE
    assert faults(caplog) == ["broker 1: the replica of broken-0 failed"]


@pytest.mark.slow
@pytest.mark.parametrize("broker, kind", [(2, Unreadable), (1, Uncopied)], ids=["follower", "leader"])
def test_a_follower_that_cannot_copy_leaves_the_isr_and_comes_back(
    caplog: pytest.LogCaptureFixture, broker: int, kind: type[Log]
) -> None:
    """Its own log fails or that of its leader, which goes on without it, as all other replicas of both brokers do."""
    with Living(lag_max_ms=200, retention_bytes=1000) as living:
        living.topic("orders", [[1, 2], [1, 2]])
        with failing(living, broker, kind):
            waiting = fetch(living, OTHER)
            assert error_of(living, BROKEN, acks=1) is LogError.NONE
            until(lambda: in_sync(living, BROKEN) == {1})
            assert {error_of(living, BROKEN) for _ in range(30)} == {LogError.NONE}
            assert error_of(living, OTHER) is LogError.NONE
            assert waiting.result(DEADLINE_S)[OTHER].size_bytes == 50
        until(lambda: in_sync(living, BROKEN) == in_sync(living, OTHER) == {1, 2})
    assert faults(caplog) == ["broker 2: the replica of orders-0 failed"]


def test_a_leader_that_cannot_read_its_log_answers_for_this_partition_alone(caplog: pytest.LogCaptureFixture) -> None:
    with Living() as living:
        living.topic("orders", [[1], [1]])
        logs = living.cluster.logs
        assert error_of(living, OTHER) is LogError.NONE
        with failing(living, 1):
            assert {tp: found.error for tp, found in fetch(living, BROKEN, OTHER).result(DEADLINE_S).items()} == {
                BROKEN: FAULT,
                OTHER: LogError.NONE,
            }
            assert error_of(living, BROKEN) is FAULT
            assert logs.bounds(None, BROKEN).result(DEADLINE_S).error is FAULT
            assert logs.end_of_epoch(None, BROKEN, 0).result(DEADLINE_S).error is FAULT
        assert error_of(living, BROKEN) is LogError.NONE
    assert faults(caplog) == ["broker 1: the replica of orders-0 failed"]


def test_a_replica_that_fails_at_an_order_does_not_keep_the_others_from_obeying() -> None:
    """The next leader cannot read its log: another one leads, and the other partition is led at once."""
    with Living() as living:
        living.topic("orders", [[1, 2, 3], [1, 2, 3]])
        with failing(living, 2):
            living.cluster.kill_broker(1)
            until(lambda: all(error_of(living, tp, acks=1) is LogError.NONE for tp in (BROKEN, OTHER)))
            assert [broker.broker_id for broker in living.cluster.brokers.values() if broker.leads(BROKEN)] == [3]
        living.cluster.restart_broker(2)
        until(lambda: in_sync(living, BROKEN) == {2, 3})


@pytest.mark.slow
def test_a_leader_whose_log_fails_before_its_isr_is_answered_stops_no_step(caplog: pytest.LogCaptureFixture) -> None:
    """It asked to shrink the isr; the controller is held back until the log fails, and its first orders are lost, since
    the leader may hear of the isr by one of them, too."""
    with Living(lag_max_ms=200) as living:
        living.topic("orders", [[1, 2]])
        replica_of(living, 2)  # the follower has heard of it before the controller is held back
        goes_on = threading.Event()
        held = living.cluster.controller.query(lambda _: goes_on.wait(DEADLINE_S))
        with failing(living, 2):
            assert error_of(living, BROKEN, acks=1) is LogError.NONE
            until(lambda: replica_of(living, 1).asked is not None)
            with failing(living, 1):
                living.cluster.network.fates.extend(["lost"] * 3)
                goes_on.set()
                assert held.result(DEADLINE_S)
                until(lambda: replica_of(living, 1).isr == (1,))
                until(lambda: not living.cluster.duties[1].is_asking)
    assert faults(caplog) == ["broker 2: the replica of orders-0 failed", "broker 1: the replica of orders-0 failed"]


def test_metadata_of_other_partitions_is_taken_in_where_one_replica_fails() -> None:
    """It leads, and learns of a newer isr."""
    isolated = partial(Isolated, WeakSet())
    broker = Broker(BrokerRegistration(1), NodeClock(VirtualClock()), epoch=10, isolated=isolated)
    led = LeaderAndIsrPartition("orders", "id", 0, 1, 3, (1, 2), 5, (1, 2), None, True, 0, 0)
    assert not broker.leader_and_isr(LeaderAndIsrRequest(1, 10, 101, 7, False, (led,), ())).errors
    broker.replicas["id", 0].log.__class__ = Unreadable
    known = [PartitionMetadata("orders", "id", p, 1, 3, (1,), 6, (1, 2), (), 0) for p in (0, 1)]
    assert not broker.update_metadata(UpdateMetadataRequest(1, 10, 101, 7, False, (), tuple(known))).error
    assert {tp: said.isr for tp, said in broker.metadata.items()} == {BROKEN: (1,), OTHER: (1,)}


def test_a_replica_whose_log_failed_obeys_and_truncates_at_the_next_try() -> None:
    """The leader epoch that it could not begin is not taken for known, nor the truncation for done."""
    replica = Replica(1, "orders", "id", 0)
    led = LeaderAndIsrPartition("orders", "id", 0, 1, 3, (1, 2), 5, (1, 2), None, True, 0, 0)
    replica.told(led, 0)
    replica.append(4, 0, 10)
    replica.fetched(2, 4, 0)
    replica.log.__class__ = Unreadable
    follows = attrs.evolve(led, leader=2, leader_epoch=4, partition_epoch=6)
    with pytest.raises(OSError, match="the disk fails"):
        replica.told(follows, 0)
    assert (replica.leader_epoch, replica.role) == (3, Role.LEADER)
    replica.log.__class__ = Log
    replica.told(follows, 0)
    assert (replica.leader_epoch, replica.role, replica.epoch_start) == (4, Role.FOLLOWER, 4)
    replica.log.__class__ = Unreadable
    with pytest.raises(OSError, match="the disk fails"):
        replica.truncate_to(Log())
    replica.log.__class__ = Log
    assert replica.truncate_to(Log()) == 4
