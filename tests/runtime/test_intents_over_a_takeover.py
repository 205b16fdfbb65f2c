"""Delete intents in the store: their keys do not collide, and a takeover acts on those alone that still hold."""

from __future__ import annotations

import json

from kedge import HostResponse, TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.host import StopReplicaRequest
from kedge.stores.recipes import TOKEN_KEY
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


def test_keys_of_intents_do_not_collide_after_the_token_was_removed() -> None:
    """Broker 3 is down and has to delete a replica. With the token the count of commits went; a new intent gets a key
    of its own, above those that are there, however low the numbers of the commits are."""
    cluster = cluster_of_three()
    cluster.create("u", (1, 2, 3))
    cluster.create("v", (1, 2, 3))
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.done(cluster.move([1, 2], "t"))
    (older,) = intents(cluster, 3)
    without_token(cluster)
    cluster.another(2)
    cluster.run()
    numbers = [older]
    for name in ("u", "v"):
        cluster.done(cluster.move([1, 2], name))
        numbers.append(max(intents(cluster, 3)))
    assert intents(cluster, 3) == dict(zip(numbers, ([("t", 0)], [("u", 0)], [("v", 0)]), strict=True))
    assert numbers == sorted(set(numbers))
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(30_000, 500)
    assert intents(cluster, 3) == {}


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
