"""The whole loop: a real controller drives the host through the events of a cluster, and both agree in the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ...model.errors import ErrorCode
from ...model.values import Replicas, TopicPartition
from ..committed import CommittedTree
from .base import Ability, HostUnderTest, case, expect
from .cluster import Cluster


@contextlib.contextmanager
def _cluster(host: HostUnderTest) -> Iterator[Cluster]:
    cluster = Cluster(host)
    try:
        yield cluster
    finally:
        cluster.close()


def _reached(tp: TopicPartition, replicas: Replicas) -> Callable[[CommittedTree], bool]:
    def reached(tree: CommittedTree) -> bool:
        p = tree.partitions[tp]
        return (p.replicas, p.move) == (replicas, None) and set(p.isr) == set(replicas)

    return reached


def _all_in_sync(tree: CommittedTree) -> bool:
    return all(set(p.isr) == set(p.replicas) and p.move is None for p in tree.partitions.values())


@case("loop")
def a_created_topic_is_led_and_followed(host: HostUnderTest) -> None:
    """Every replica of a new topic has its log and its role."""
    with _cluster(host) as cluster:
        cluster.create("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        cluster.create("payments", [[1], [3]])
        cluster.converges(_all_in_sync)


@case("loop", Ability.TARGETS)
def a_move_ends_on_its_targets(host: HostUnderTest) -> None:
    """The targets have the partition, the former replicas have deleted it, and others are not affected."""
    with _cluster(host) as cluster:
        tp, other = cluster.create("orders", [[1, 2], [1, 3]])
        cluster.converges(_all_in_sync)
        cluster.reassign(tp, [3])
        cluster.converges(_reached(tp, (3,)))
        expect(f"the replicas of {other}, which does not move", cluster.tree().partitions[other].replicas, (1, 3))
        cluster.reassign(tp, [2, 1])
        cluster.converges(_reached(tp, (2, 1)))


@case("loop", Ability.TARGETS, Ability.RECORDS, Ability.COPIES, Ability.ISR)
def a_move_takes_the_records_along(host: HostUnderTest) -> None:
    """The records that the leader took before the move are on the targets after it."""
    with _cluster(host) as cluster:
        (tp,) = cluster.create("orders", [[1, 2]])
        cluster.converges(_all_in_sync)
        leader = cluster.tree().partitions[tp].leader
        expect(f"records that broker {leader} takes", host.append(leader, tp, 7), 7)
        cluster.reassign(tp, [3])
        cluster.converges(_reached(tp, (3,)))
        held = host.held(3, tp, cluster.topic_id(tp))
        expect("records on the target", None if held is None else held.end_offset, 7)


@case("loop")
def a_broker_that_is_registered_again_serves_again(host: HostUnderTest) -> None:
    """A new broker epoch is a death and a birth: others lead meanwhile, and the broker is in sync again in the end."""
    with _cluster(host) as cluster:
        cluster.create("orders", [[1, 2, 3], [2, 3, 1]])
        cluster.converges(_all_in_sync)
        for broker in (1, 2):
            cluster.register(broker)
            cluster.converges(_all_in_sync)


@case("loop", Ability.RESTART)
def a_broker_that_is_restarted_serves_again(host: HostUnderTest) -> None:
    """The same for a process that ended and started again with its logs."""
    with _cluster(host) as cluster:
        cluster.create("orders", [[1, 2, 3], [2, 3, 1]])
        cluster.converges(_all_in_sync)
        for broker in (1, 2, 3):
            host.restart(broker)
            cluster.register(broker)
            cluster.converges(_all_in_sync)


@case("loop", Ability.TARGETS)
def a_move_goes_on_under_another_controller(host: HostUnderTest) -> None:
    """A controller that takes over right after a move was accepted completes it."""
    with _cluster(host) as cluster:
        (tp,) = cluster.create("orders", [[1, 2]])
        cluster.converges(_all_in_sync)
        cluster.start(102)
        cluster.reassign(tp, [3, 1])
        cluster.hand_over()
        cluster.converges(_reached(tp, (3, 1)))


@case("loop")
def what_a_former_controller_sent_changes_nothing(host: HostUnderTest) -> None:
    """All requests of a deposed controller, repeated with the oldest last, are refused with 11."""
    with _cluster(host) as cluster:
        cluster.create("orders", [[1, 2, 3], [2, 3, 1]])
        cluster.converges(_all_in_sync)
        cluster.start(102)
        former = list(cluster.checking.requests)
        cluster.hand_over()
        cluster.converges(_all_in_sync)
        for request in reversed(former):
            answer = cluster.checking.deliver(request)
            expect(f"the error for {request}", answer.error, ErrorCode.STALE_CONTROLLER_EPOCH)
        cluster.stage.quiet()
        expect("differences between brokers and store", cluster.differences(_all_in_sync), [])


@case("loop", Ability.FAILURE, Ability.TARGETS)
def callbacks_that_raise_only_take_longer(host: HostUnderTest) -> None:
    """In whichever callback a broker fails, the callback is repeated and all agree in the end."""
    with _cluster(host) as cluster:
        (tp,) = cluster.create("orders", [[1, 2]])
        cluster.converges(_all_in_sync)
        for target in ((3,), (1, 2), (2, 3)):
            for broker in (1, 2, 3):
                host.fail_next(broker)
            cluster.reassign(tp, target)
            cluster.converges(_reached(tp, target))


@case("loop", Ability.DISKS)
def a_lost_disk_is_taken_out_and_comes_back(host: HostUnderTest) -> None:
    """A replica whose disk is gone leaves the isr or the lead, and is in sync again once the disk was replaced."""
    with _cluster(host) as cluster:
        (tp,) = cluster.create("orders", [[1, 2, 3]])
        cluster.converges(_all_in_sync)
        host.lose_disk(1, tp)
        cluster.register(1)
        cluster.stage.eventually(
            "2 or 3 leads",
            lambda: cluster.tree().partitions[tp].leader in {2, 3},
            lambda: cluster.tree().partitions[tp],
        )
        host.replace_disk(1)
        cluster.register(1)
        cluster.converges(_all_in_sync)
