"""Another client writes our keys: the batch is undone, what is there is adopted, everything is decided again."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import pytest

from kedge import AlterReassignmentsOptions, HostResponse, NewPartitions, NewTopic, Settings, TopicPartition
from kedge.controller.model.errors import NotController, RequestTimedOut, TopicAlreadyExists
from kedge.controller.model.events import KeyRead
from kedge.controller.model.host import LeaderAndIsrRequest, UpdateMetadataRequest
from kedge.stores import MemoryStore
from kedge.stores.base import Commit, Op, Put
from kedge.stores.faults import Call, DropEvent, FailBefore, Fault, LoseReply, Rule
from tests.runtime.world import Cluster, Counting, cluster_of_three

STATE = "/brokers/topics/t/partitions/0/state"
TOPIC = "/brokers/topics/t"


class Meddling(Counting):
    """A store on which another client writes one key just before each of our commits that touch it."""

    key = ""
    times = 0

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        if self.times and any(op.key == self.key for op in ops):
            self.times -= 1
            other = self.inner.another_session()
            entry = other.get(self.key, timeout_s=1)
            assert entry is not None
            other.commit([Put(self.key, entry.value, entry.version)], timeout_s=1)
            other.close()
        return super().commit(ops, timeout_s=timeout_s)


def meddled(key: str, times: int, **settings: Any) -> tuple[Cluster, Meddling]:
    cluster = Cluster(start=False, **settings)
    store = Meddling(MemoryStore(cluster.server))
    cluster.another(1, store)
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create("t", (1, 2, 3))
    cluster.create("u", (2, 3, 1))
    store.key, store.times = key, times
    return cluster, store


def test_of_a_foreign_state_key_isr_and_unknown_fields_are_adopted_and_the_rest_is_written_back() -> None:
    """An old broker writes the key between load and commit and drops what it does not know."""
    cluster = cluster_of_three()
    cluster.done(cluster.move([4, 5, 6]))
    epoch = cluster.state()["leader_epoch"]
    foreign = {
        "controller_epoch": 1,
        "leader": 1,
        "version": 1,
        "leader_epoch": epoch,
        "isr": [1, 2],
        "theirs": {"a": 1},
    }
    cluster.put(STATE, foreign)
    cluster.done(cluster.move([5, 6, 4]))
    state = cluster.state()
    assert (state["isr"], state["targetReplicas"], state["theirs"]) == ([1, 2], [5, 6, 4], {"a": 1})
    assert state["reassignment"]["origin"] == [1, 2, 3]
    assert state["leader_epoch"] == epoch + 1


def test_batch_in_conflict_is_decided_again_as_a_whole() -> None:
    """Requests for other partitions of the same batch are answered as if nothing had been."""
    cluster = cluster_of_three()
    cluster.create("u", (2, 3, 1))
    cluster.put(STATE, {**cluster.state(), "isr": [1, 3]})
    both = [cluster.move([4, 5, 6], "u"), cluster.move([4, 5, 6], "t")]
    assert [cluster.done(future).target_replicas for future in both] == [(4, 5, 6), (4, 5, 6)]
    assert cluster.state("u")["targetReplicas"] == [4, 5, 6]
    assert cluster.state("t")["isr"] == [1, 3]
    assert cluster.store.errors == {"Conflict": 1}
    first, second = [set(call.keys) for call in cluster.store.calls if call.name == "commit"][-2:]
    assert first == second >= {STATE, "/brokers/topics/u/partitions/0/state"}


def test_a_deleted_state_key_is_written_again() -> None:
    """Its generation restarts with the key."""
    cluster = cluster_of_three()
    cluster.delete(STATE)
    cluster.done(cluster.move([4, 5, 6]))
    assert cluster.state()["targetReplicas"] == [4, 5, 6]
    assert cluster.done(cluster.isr([1, 2, 3, 4])).partition_epoch == 1


def test_a_state_key_that_became_unreadable_is_written_over() -> None:
    """What we know of the partition is the truth; the finding goes to the journal."""
    cluster = cluster_of_three()
    cluster.put(STATE, b"{broken")
    cluster.done(cluster.move([4, 5, 6]))
    assert cluster.state()["targetReplicas"] == [4, 5, 6]


@pytest.mark.parametrize("by_hand", [b"{broken", None])
def test_the_leader_hears_of_the_partition_epoch_of_a_key_that_was_written_again(by_hand: bytes | None) -> None:
    """Else no leader may change the isr until another change of the partition. What a leader says of it is where
    such a key is noticed."""
    cluster = cluster_of_three()
    state = cluster.state()
    if by_hand is None:
        cluster.delete(STATE)
    else:
        cluster.put(STATE, by_hand)
    cluster.host.told.clear()
    said = (state["leader"], state["leader_epoch"], 0, [1, 2], cluster.epoch(1))
    asked = cluster.controller.alter_isr(TopicPartition("t", 0), *said)
    cluster.wait(1000)
    assert asked.done()
    partition = cluster.partition()
    known = cluster.done(cluster.controller.query(lambda view: view.partition_epoch(partition)))
    for broker_id in (1, 2, 3):
        (told,) = cluster.host.to(broker_id, LeaderAndIsrRequest)[-1].partitions
        assert told.partition_epoch == known
    assert cluster.host.to(6, UpdateMetadataRequest)[-1].partitions[0].partition_epoch == known


def test_replicas_changed_by_another_client_in_a_topic_key_are_overwritten() -> None:
    """New partitions and unknown fields of the same write are kept."""
    cluster = cluster_of_three()
    key = cluster.get(TOPIC)
    key["partitions"] = {"0": [4, 5, 6], "1": [2, 3]}
    key["theirs"] = 7
    cluster.put(TOPIC, key)
    cluster.run()
    assert cluster.get(TOPIC)["partitions"] == {"0": [1, 2, 3], "1": [2, 3]}
    assert cluster.get(TOPIC)["theirs"] == 7
    assert cluster.state("t", 1)["leader"] == 2


def test_a_foreign_topic_key_met_in_a_commit_is_adopted_and_the_request_decided_on_top() -> None:
    """No hint came before the commit: the conflict itself makes us look."""
    cluster = cluster_of_three()
    cluster.store.play([])
    result = cluster.controller.admin.create_partitions({"t": NewPartitions(3)})
    key = cluster.get(TOPIC)
    key["partitions"]["1"] = [6, 5, 4]
    cluster.put(TOPIC, key)
    cluster.done(result["t"])
    partitions = cluster.get(TOPIC)["partitions"]
    assert partitions["1"] == [6, 5, 4]
    assert len(partitions) == 3


def test_a_deleted_topic_key_is_written_again() -> None:
    """Deleting a topic goes through its admin key."""
    cluster = cluster_of_three()
    cluster.delete(TOPIC)
    cluster.run()
    assert cluster.get(TOPIC)["partitions"] == {"0": [1, 2, 3]}


def test_topic_that_another_client_created_first_is_found_and_the_request_refused() -> None:
    """The conflict is on the topic key, which we thought absent."""
    cluster = cluster_of_three()
    future = cluster.controller.admin.create_partitions({"t": NewPartitions(2)})["t"]
    cluster.done(future)
    theirs = {"version": 1, "partitions": {"0": [4, 5]}}
    cluster.put("/brokers/topics/new", theirs)
    assert isinstance(
        cluster.error(cluster.controller.admin.create_topics({"new": NewTopic(1, 1)})["new"]), TopicAlreadyExists
    )
    assert cluster.state("new")["leader"] == 4


def test_small_keys_are_written_over_at_the_version_that_they_have() -> None:
    """The admission of a broker, written and deleted by another client."""
    cluster = cluster_of_three()
    cluster.put("/kedge/brokers/4", b"nonsense")
    cluster.delete("/kedge/brokers/5")
    cluster.leave(4, 5)
    cluster.join(4, 5)
    assert cluster.get("/kedge/brokers/4") == {"broker_epoch": cluster.epoch(4)}
    assert cluster.get("/kedge/brokers/5") == {"broker_epoch": cluster.epoch(5)}


def test_removed_key_of_intents_is_no_obstacle() -> None:
    """The acknowledgement finds it gone; the next commit goes through."""
    cluster = cluster_of_three()
    cluster.host.answer = lambda request: 1 / 0 if type(request).__name__ == "StopReplicaRequest" else _fine()
    cluster.done(cluster.move([4, 5, 6]))
    cluster.done(cluster.isr([1, 2, 3, 4, 5, 6]))
    keys = [key for key in cluster.keys("/admin/replica_deletions") if key]
    assert len(keys) == 3
    cluster.delete(keys[0])
    cluster.host.answer = lambda _: _fine()
    cluster.wait(20_000, 500)
    assert cluster.keys("/admin/replica_deletions") == {}
    assert cluster.controller.describe().replicas_to_delete == 0


def _fine() -> HostResponse:
    return HostResponse()


def test_a_reply_lost_with_a_foreign_write_behind_it_is_applied_and_the_write_adopted() -> None:
    """The keys are read again for their versions; what is not ours is a foreign change."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(LoseReply(), key=STATE, nth=1)])
    future = cluster.move([4, 5, 6])
    cluster.controller.poll_once()  # sent, and the answer lost
    cluster.put(STATE, {**cluster.state(), "isr": [1, 2]})
    assert cluster.done(future).target_replicas == (4, 5, 6)
    assert cluster.partition().isr == (1, 2)
    entry = cluster.other.get(STATE, timeout_s=1)
    assert entry is not None
    assert cluster.done(cluster.isr([1, 2, 4])).partition_epoch == entry.generation + 1


def test_a_topic_key_written_behind_a_lost_reply_is_adopted() -> None:
    """A version is adopted with its content only, so the foreign partition is not taken for known."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(LoseReply(), key=TOPIC, nth=1)])
    added = cluster.controller.admin.create_partitions({"t": NewPartitions(2)})["t"]
    while len(cluster.get(TOPIC)["partitions"]) == 1:
        cluster.controller.poll_once()  # sent, and the answer lost
    theirs = cluster.get(TOPIC)
    cluster.put(TOPIC, {**theirs, "partitions": {**theirs["partitions"], "2": [3, 1]}})
    cluster.done(added)
    cluster.wait(500)
    assert cluster.partition("t", 2).replicas == (3, 1)


def test_same_bytes_behind_the_lost_reply_of_a_new_key_are_a_foreign_write() -> None:
    """The key was there just once when it was made: another write counts for the partition epoch."""
    cluster = cluster_of_three()
    state = "/brokers/topics/u/partitions/0/state"
    cluster.store.play([Rule(LoseReply(), key=state, nth=1)])
    created = cluster.controller.admin.create_topics({"u": NewTopic(replica_assignments=[[1, 2]])})["u"]
    while (made := cluster.other.get(state, timeout_s=1)) is None:
        cluster.controller.poll_once()  # sent, and the answer lost
    cluster.put(state, made.value)
    cluster.done(created)
    cluster.run()
    entry = cluster.other.get(state, timeout_s=1)
    assert entry is not None
    partition = cluster.partition("u")
    assert cluster.done(cluster.controller.query(lambda view: view.partition_epoch(partition))) == entry.generation


def test_what_a_commit_with_a_lost_reply_left_is_read_once_there_is_contact_again() -> None:
    """The outcome was learned over another session, which found a server first: the same term goes on."""
    cluster = cluster_of_three()
    epoch = cluster.controller.controller_epoch
    cluster.store.play([Rule(LoseReply(), key=STATE, nth=1), Rule(FailBefore(), "get_many", key=STATE)])
    future = cluster.move([4, 5, 6])
    for _ in range(5):
        cluster.controller.poll_once()
    assert not future.done()
    cluster.store.play([])
    assert cluster.done(future).target_replicas == (4, 5, 6)
    assert cluster.controller.controller_epoch == epoch


def test_a_foreign_write_behind_a_lost_reply_that_cannot_be_read_ends_the_term_and_nothing_else() -> None:
    """The commit is applied; the next controller finds both it and the foreign write."""
    cluster = cluster_of_three()
    seen: Counter[str] = Counter()

    def play(call: Call, _: random.Random) -> Iterable[Fault]:
        """Each time that both are tried, the first read says where the key stands, and the second what it holds."""
        seen[call.name] += STATE in call.keys
        if STATE in call.keys and call.name == "get_many" and seen["get_many"] % 2 == 0:
            yield FailBefore()
        if STATE in call.keys and call.name == "commit" and seen["commit"] == 1:
            yield LoseReply()

    cluster.store.play(play)
    future = cluster.move([4, 5, 6])
    cluster.controller.poll_once()
    cluster.put(STATE, {**cluster.state(), "isr": [1, 2]})
    cluster.controller.poll_once()
    cluster.wait(int(cluster.store.session_timeout_s * 500))
    assert isinstance(cluster.error(future), NotController)
    cluster.store.play([])
    cluster.wait(1_000)
    assert cluster.controller.is_active
    assert (cluster.partition().target_replicas, cluster.partition().isr) == ((4, 5, 6), (1, 2))


@pytest.mark.parametrize("key", [STATE, TOPIC])
def test_after_three_conflicts_on_a_key_the_rest_goes_on_and_its_events_wait_and_are_done_in_the_end(key: str) -> None:
    """100 ms, doubling."""
    cluster, store = meddled(key, 5)
    wanted = [cluster.controller.admin.create_partitions({"t": NewPartitions(2)})["t"]]
    if key == STATE:
        wanted = [cluster.move([4, 5, 6], "t")]
    rest = cluster.move([4, 5, 6], "u")
    cluster.done(rest)
    assert not wanted[0].done()
    cluster.wait(100)
    assert not wanted[0].done()  # the fourth
    cluster.wait(1000)
    cluster.done(wanted[0])
    assert store.times == 0


def test_a_request_that_waits_for_a_key_is_answered_at_its_deadline() -> None:
    """Not when its turn comes, which may be seconds later."""
    cluster, _ = meddled(STATE, 1000)
    tp = TopicPartition("t", 0)
    options = AlterReassignmentsOptions(timeout_s=1.0)
    future = cluster.controller.admin.alter_partition_reassignments({tp: [4, 5, 6]}, options)[tp]
    cluster.wait(950)
    assert not future.done()
    cluster.wait(50)
    assert isinstance(future.exception(0), RequestTimedOut)


def test_a_death_is_not_over_while_a_partition_of_it_waits_for_its_key() -> None:
    """So the broker that is back already does not count as live before its absence is decided everywhere."""
    cluster, store = meddled(STATE, 4)
    cluster.leave(1, run=False)
    cluster.join(1)
    assert cluster.get("/kedge/brokers/1") != {"broker_epoch": cluster.epoch(1)}
    assert cluster.state("u")["isr"] == [2, 3]
    cluster.wait(2000)
    assert store.times == 0
    assert cluster.state("t")["leader"] == 2
    assert cluster.get("/kedge/brokers/1") == {"broker_epoch": cluster.epoch(1)}


def test_what_was_read_before_a_conflict_does_not_come_back_after_it() -> None:
    """Two foreign writes of a topic key, one hinted, the other met by the commit: the older reading is dropped."""
    cluster, store = meddled(TOPIC, 1)
    key = cluster.get(TOPIC)
    store.play([Rule(DropEvent(), "event", TOPIC, nth=2)])  # the hint of the second
    cluster.put(TOPIC, {**key, "partitions": {"0": [6, 5, 4]}})
    cluster.run()
    assert store.times == 0
    assert store.errors == {"Conflict": 1}
    assert cluster.get(TOPIC)["partitions"] == {"0": [1, 2, 3]}
    cluster.wait(3000)
    writes = store.commits
    cluster.wait(3000)
    assert store.commits == writes


def test_what_was_read_is_decided_before_our_own_next_commit_makes_it_old() -> None:
    """Requests for the same key wait behind the reading; so there is no conflict at all."""
    cluster = cluster_of_three(settings=Settings(commit_decisions_max=1))
    cluster.put(TOPIC, {**cluster.get(TOPIC), "theirs": 1})
    futures = [cluster.controller.admin.create_partitions({"t": NewPartitions(n)})["t"] for n in (2, 3, 4)]
    for future in futures:
        cluster.done(future)
    assert cluster.get(TOPIC)["theirs"] == 1
    assert not cluster.store.errors


def test_the_journal_and_the_state_agree_after_a_delete_of_all_intents_keys() -> None:
    """A key that we want to delete and that stands at another version is deleted all the same."""
    cluster = cluster_of_three()
    cluster.host.answer = lambda request: 1 / 0 if type(request).__name__ == "StopReplicaRequest" else _fine()
    cluster.done(cluster.move([1, 2]))
    (key,) = cluster.keys("/admin/replica_deletions")
    value = json.loads(cluster.keys()[key])
    cluster.put(key, value)
    cluster.host.answer = lambda _: _fine()
    cluster.wait(20_000, 500)
    assert cluster.keys("/admin/replica_deletions") == {}


@pytest.mark.parametrize("kind", KeyRead.__subclasses__())
def test_of_every_event_that_tells_what_a_key_holds_it_is_known_which_key(kind: type[Any]) -> None:
    """Else what was read before that key was written again would be decided after it."""
    cluster = cluster_of_three()
    term = cluster.controller._loop.term  # noqa: SLF001
    assert term is not None
    said: dict[str, Any] = {"topic": "t", "partition": 0, "name": "1"}
    event = kind(**{field.name: said.get(field.name) for field in attrs.fields(kind)})
    assert term.reconcile.kinds.key_of(event) is not None
