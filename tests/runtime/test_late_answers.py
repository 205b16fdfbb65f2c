"""Answers of brokers that come late: after a newer intent, after the end of the term that asked."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.controller.codec import keys
from kedge.controller.model.host import LeaderAndIsrRequest, StopReplicaRequest
from tests.runtime.test_dispatcher import HandExecutor, settle, with_hand
from tests.runtime.world import Cluster


def moved(cluster: Cluster, executor: HandExecutor, target: Sequence[int], *working: int) -> None:
    """A whole move of t-0, of which the brokers `working` hear."""
    cluster.done(cluster.move(target))
    state = cluster.state()
    if not set(target) <= set(state["isr"]):
        cluster.done(cluster.isr([*state["isr"], *(b for b in target if b not in state["isr"])]))
    executor.work(*working)
    cluster.run()
    assert cluster.partition().replicas == tuple(target)


def test_a_late_acknowledgement_of_an_older_intent_leaves_the_newer_one_open() -> None:
    """Broker 3 deletes its replica late: meanwhile it became a member again, and was removed again. What it copied in
    between has to go, so the answer to the older request does not close the newer intent."""
    cluster, executor = with_hand()
    moved(cluster, executor, [1, 2], 1, 2)
    older = cluster.partition().leader_epoch
    moved(cluster, executor, [1, 2, 3], 1, 2)
    moved(cluster, executor, [1, 2], 1, 2)
    newer = cluster.partition().leader_epoch
    executor.work(3)  # the first call returns only now
    assert [p.leader_epoch for r in cluster.host.to(3, StopReplicaRequest) for p in r.partitions] == [older]
    while cluster.controller.poll_once():
        pass
    assert cluster.controller.describe().replicas_to_delete == 1
    assert len(cluster.keys(keys.REPLICA_DELETIONS)) == 1
    settle(cluster, executor)
    told = [p.leader_epoch for r in cluster.host.to(3, StopReplicaRequest) for p in r.partitions]
    assert (told[0], told[-1]) == (older, newer)
    assert cluster.controller.describe().replicas_to_delete == 0
    assert cluster.keys(keys.REPLICA_DELETIONS) == {}


def test_a_late_acknowledgement_of_a_former_topic_closes_no_intent_of_the_next() -> None:
    """Both topics have the same name, replicas and leader epochs: only their ids differ."""
    cluster, executor = with_hand()
    others = (1, 2, 4, 5, 6)

    def go_on() -> None:
        for _ in range(10):
            cluster.run()
            executor.work(*others)

    moved(cluster, executor, [1, 2], 1, 2)  # the call to 3 does not return
    cluster.controller.admin.delete_topics(["t"])
    go_on()
    cluster.leave(3)
    forgotten = cluster.controller.admin.forget_broker(3)
    go_on()
    cluster.wait(1_000)
    go_on()
    assert forgotten.result(0) is None
    assert not cluster.has(keys.topic("t"))
    cluster.join(3)
    cluster.create()
    go_on()
    moved(cluster, executor, [1, 2], *others)
    assert cluster.controller.describe().replicas_to_delete == 1
    executor.work(3)
    while cluster.controller.poll_once():
        pass
    assert cluster.controller.describe().replicas_to_delete == 1


def reelected(cluster: Cluster) -> None:
    """The controller's session ends, and the same controller leads again."""
    before = cluster.controller.controller_epoch
    cluster.store.expire()
    for _ in range(20):
        cluster.clock.advance(100)
        cluster.run()
        if cluster.controller.is_active and cluster.controller.controller_epoch != before:
            return
    raise AssertionError("nobody was elected again")


def test_an_answer_of_a_former_term_does_not_end_the_round_of_the_present_one() -> None:
    """The same controller lost its session and leads again. A call of its former term returns while the present term's
    call to the same broker is under way: no other call begins before that one has returned, too."""
    cluster, executor = with_hand()
    cluster.done(cluster.move([4, 5, 6]))
    (former,) = [call for broker, call in executor.calls if broker == 1]
    reelected(cluster)
    former_and_present = [call for broker, call in executor.calls if broker == 1]
    assert former_and_present[0] is former
    assert len(former_and_present) == 2
    executor.calls = [(broker, call) for broker, call in executor.calls if call is not former]
    former()
    cluster.done(cluster.move([5, 4, 6]))
    cluster.run()
    assert len([call for broker, call in executor.calls if broker == 1]) == 1
    settle(cluster, executor)
    last = cluster.host.to(1, LeaderAndIsrRequest)[-1]
    assert last.controller_epoch == cluster.controller.controller_epoch
    assert cluster.findings() == {}


def test_what_a_broker_answered_to_a_former_term_closes_no_intent() -> None:
    """The present term tells the broker to delete its replica by itself, and takes no other answer."""
    cluster, executor = with_hand()
    moved(cluster, executor, [1, 2], 1, 2)
    (former,) = [call for broker, call in executor.calls if broker == 3]
    reelected(cluster)
    executor.calls = [(broker, call) for broker, call in executor.calls if call is not former]
    former()
    cluster.run()
    assert len(cluster.keys(keys.REPLICA_DELETIONS)) == 1
    settle(cluster, executor)
    assert cluster.keys(keys.REPLICA_DELETIONS) == {}
    former_epoch, epoch = [r.controller_epoch for r in cluster.host.to(3, StopReplicaRequest)]
    assert former_epoch < epoch
