"""Delete intents: their keys, what a takeover makes of them, and answers of brokers that come late."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kedge import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, TopicPartition
from kedge.controller.codec import keys
from kedge.stores.recipes import TOKEN_KEY
from tests.runtime.test_dispatcher import HandExecutor, settle, with_hand
from tests.runtime.world import Cluster, cluster_of_three, failing


def intents(cluster: Cluster, broker: int) -> dict[int, list[tuple[str, int]]]:
    """What the keys of a broker hold, by their number: topic and partition of each."""
    found = cluster.keys(f"{keys.REPLICA_DELETIONS}/{broker}")
    return {
        int(key.rpartition("/")[2]): [(one["topic"], one["partition"]) for one in json.loads(value)["replicas"]]
        for key, value in found.items()
    }


def stopped(cluster: Cluster, broker: int) -> list[TopicPartition]:
    """What the broker was ordered to delete."""
    told = cluster.host.to(broker, StopReplicaRequest)
    return [TopicPartition(p.topic, p.partition) for request in told for p in request.partitions]


def without_token(cluster: Cluster) -> None:
    """The commit token is removed without a leader; numbers of commits restart."""
    while cluster.controllers:
        cluster.controllers.pop().close()
    cluster.delete(TOKEN_KEY)


def test_no_new_key_of_intents_meets_any_of_the_older_ones() -> None:
    """The very numbers that the next commits get are taken by keys that are left of before."""
    cluster = cluster_of_three()
    topic_id = cluster.get(keys.topic("t"))["topic_id"]
    without_token(cluster)
    one = {"topic": "t", "topic_id": topic_id, "partition": 7, "leader_epoch": 0}
    taken = range(1, 40)
    for seq in taken:
        cluster.put(keys.replica_deletions(3, seq), {"version": 1, "replicas": [{**one, "partition": seq + 10}]})
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.another(2)
    cluster.run()
    commits = cluster.store.errors["Conflict"]
    cluster.done(cluster.move([1, 2]))
    assert cluster.store.errors["Conflict"] == commits
    found = intents(cluster, 3)
    assert {seq: found[seq] for seq in taken} == {seq: [("t", seq + 10)] for seq in taken}
    assert [("t", 0)] in found.values()
    assert len(found) == len(taken) + 1


def two_in_one_key() -> Cluster:
    """Broker 3 has to delete t-0 and t-1, by one commit, and does not."""
    cluster = cluster_of_three()
    cluster.create("u", (1, 2, 3), (1, 2, 3))
    cluster.host.answer = failing(3, StopReplicaRequest)
    both = [cluster.move([1, 2], "u", partition) for partition in (0, 1)]
    for future in both:
        cluster.done(future)
    assert list(intents(cluster, 3).values()) == [[("u", 0), ("u", 1)]]
    return cluster


def test_of_two_intents_in_a_key_that_of_a_target_is_not_sent_after_a_takeover() -> None:
    """Broker 3 becomes a target of u-0 again. The key stays for u-1, so a takeover finds both intents in it."""
    cluster = two_in_one_key()
    cluster.done(cluster.move([1, 2, 3], "u", 0))
    assert list(intents(cluster, 3).values()) == [[("u", 0), ("u", 1)]]
    cluster.host.told.clear()
    cluster.host.answer = lambda _: HostResponse()
    cluster.succeed()
    cluster.wait(2000)
    assert stopped(cluster, 3) == [TopicPartition("u", 1)]
    assert intents(cluster, 3) == {}
    assert cluster.partition("u", 0).move is not None
    cluster.done(cluster.isr([1, 2, 3], "u", 0))
    assert cluster.partition("u", 0).replicas == (1, 2, 3)


def test_of_two_intents_for_one_replica_a_takeover_goes_on_with_the_newer_one() -> None:
    """The one of the later leader epoch, in whichever key it is: a broker refuses an order that is older than its
    replica. Both keys go."""
    cluster = cluster_of_three()
    topic_id = cluster.get(keys.topic("t"))["topic_id"]
    for broker, epochs in ((5, (3, 7)), (6, (7, 3))):
        for seq, epoch in zip((901, 902), epochs, strict=True):
            one = {"topic": "t", "topic_id": topic_id, "partition": 0, "leader_epoch": epoch}
            cluster.put(keys.replica_deletions(broker, seq), {"version": 1, "replicas": [one]})
    cluster.host.told.clear()
    cluster.succeed()
    cluster.wait(1000)
    for broker in (5, 6):
        assert [p.leader_epoch for r in cluster.host.to(broker, StopReplicaRequest) for p in r.partitions] == [7]
        assert intents(cluster, broker) == {}


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
