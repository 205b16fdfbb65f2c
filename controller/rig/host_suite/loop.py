"""The whole loop: real controllers drive the host through the events of a cluster, and all agree in the end. Every step
is held against the rules for hosts, too (`kedge.controller.rig.hosted.rules`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ...model.errors import ErrorCode
from ...model.values import Replicas, TopicPartition
from ...simulated.network import delivered
from ..hosted.rig import HostRig
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect


@contextlib.contextmanager
def _rig(host: HostUnderTest) -> Iterator[HostRig]:
    rig = HostRig(host)
    try:
        rig.until(lambda: set(rig.live_brokers) == set(rig.brokers), what="all brokers are live")
        yield rig
    finally:
        rig.close()


def _converges(rig: HostRig, also: Callable[[], object] = lambda: True) -> None:
    rig.converge("expected that brokers and store agree, got:", rig.host.wait_ms, also)


def _moved(rig: HostRig, tp: TopicPartition, replicas: Replicas) -> None:
    _converges(rig, lambda: rig.committed.partitions[tp].replicas == replicas)


def _hand_over(rig: HostRig) -> None:
    """The controller that leads dies, its session ends, and the other one takes over: all brokers obeyed it."""
    rig.until(lambda: rig.active is not None, what="a controller leads")
    assert rig.active is not None
    former = rig.active.node_id
    rig.mishaps.expire_session(former)
    rig.mishaps.kill_controller(former)
    rig.until(lambda: _obeyed(rig, former) == set(rig.brokers), what="all brokers obeyed the other controller")


def _obeyed(rig: HostRig, former: int) -> set[int]:
    """The brokers that obeyed another controller than the former one."""
    sent = rig.network.requests
    return {one.broker_id for one in sent if one.controller_id != former and one.outcome == "ok"}


@case("loop")
def a_created_topic_is_led_and_followed(host: HostUnderTest) -> None:
    """Every replica of a new topic has its log and its role."""
    with _rig(host) as rig:
        rig.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        rig.create_topic("payments", [[1], [3]])
        _converges(rig)


@case("loop", Ability.TARGETS)
def a_move_ends_on_its_targets(host: HostUnderTest) -> None:
    """The targets have the partition, the former replicas have deleted it, and others are not affected."""
    with _rig(host) as rig:
        tp, other = rig.create_topic("orders", [[1, 2], [1, 3]])
        _converges(rig)
        rig.reassign({tp: [3]})
        _moved(rig, tp, (3,))
        expect(f"the replicas of {other}, which does not move", rig.committed.partitions[other].replicas, (1, 3))
        rig.reassign({tp: [2, 1]})
        _moved(rig, tp, (2, 1))


@case("loop", Ability.TARGETS, Ability.RECORDS, Ability.COPIES, Ability.ISR)
def a_move_takes_the_records_along(host: HostUnderTest) -> None:
    """The records that the leader took before the move are on the targets after it."""
    with _rig(host) as rig:
        (tp,) = rig.create_topic("orders", [[1, 2]])
        _converges(rig)
        leader = rig.committed.partitions[tp].leader
        expect(f"records that broker {leader} takes", rig.append(leader, tp, 7), 7)
        rig.reassign({tp: [3]})
        _moved(rig, tp, (3,))
        ((place, _),) = rig.partitions
        held = rig.brokers[3].held(place)
        expect("records on the target", None if held is None else held.end_offset, 7)


@case("loop")
def a_broker_that_is_registered_again_serves_again(host: HostUnderTest) -> None:
    """A new broker epoch is a death and a birth: others lead meanwhile, and the broker is in sync again in the end."""
    with _rig(host) as rig:
        rig.create_topic("orders", [[1, 2, 3], [2, 3, 1]])
        _converges(rig)
        for broker in (1, 2):
            rig.unregister(broker, at_once=True)
            rig.register(broker)
            _converges(rig)


@case("loop", Ability.RESTART)
def a_broker_that_is_restarted_serves_again(host: HostUnderTest) -> None:
    """The same for a process that ended and started again with its logs."""
    with _rig(host) as rig:
        rig.create_topic("orders", [[1, 2, 3], [2, 3, 1]])
        _converges(rig)
        for broker in (1, 2, 3):
            rig.kill(broker, at_once=True)
            rig.start(broker)
            _converges(rig)


@case("loop", Ability.TARGETS)
def a_move_goes_on_under_another_controller(host: HostUnderTest) -> None:
    """A controller that takes over right after a move was accepted completes it."""
    with _rig(host) as rig:
        (tp,) = rig.create_topic("orders", [[1, 2]])
        _converges(rig)
        rig.reassign({tp: [3, 1]})
        _hand_over(rig)
        _moved(rig, tp, (3, 1))


@case("loop")
def what_a_former_controller_sent_changes_nothing(host: HostUnderTest) -> None:
    """All requests of a deposed controller, repeated with the oldest last, are refused with 11."""
    with _rig(host) as rig:
        rig.create_topic("orders", [[1, 2, 3], [2, 3, 1]])
        _converges(rig)
        former = [sent.request for sent in rig.network.requests]
        _hand_over(rig)
        _converges(rig)
        for request in reversed(former):
            answer = delivered(rig.brokers[request.broker_id], request)
            expect(f"the error for {request}", answer.error, ErrorCode.STALE_CONTROLLER_EPOCH)
        rig.run(host.quiet_ms)
        _converges(rig)


@case("loop", Ability.FAILURE, Ability.TARGETS)
def callbacks_that_raise_only_take_longer(host: HostUnderTest) -> None:
    """In whichever callback a broker fails, the callback is repeated and all agree in the end."""
    with _rig(host) as rig:
        (tp,) = rig.create_topic("orders", [[1, 2]])
        _converges(rig)
        for target in ((3,), (1, 2), (2, 3)):
            for broker in (1, 2, 3):
                rig.fail_next(broker)
            rig.reassign({tp: target})
            _moved(rig, tp, target)


@case("loop", Ability.DISKS)
def a_lost_disk_is_taken_out_and_comes_back(host: HostUnderTest) -> None:
    """A replica whose disk is gone leaves the isr or the lead, and is in sync again once the disk was replaced."""
    with _rig(host) as rig:
        (tp,) = rig.create_topic("orders", [[1, 2, 3]])
        _converges(rig)
        ((place, _),) = rig.partitions
        rig.lose_disk(1, place)
        rig.until(
            lambda: rig.committed.partitions[tp].leader in {2, 3}, timeout_s=host.wait_ms / 1000, what="2 or 3 leads"
        )
        rig.replace_disk(1)
        _converges(rig)
