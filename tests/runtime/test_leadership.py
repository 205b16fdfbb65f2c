"""One leads, the others stand by; the loser is fenced, and each waiting caller gets an answer."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Final
from weakref import WeakKeyDictionary

import pytest

from kedge import Controller, NewTopic, NotController, TopicPartition
from kedge.controller.codec.keys import REASSIGN_PARTITIONS
from kedge.stores import MemoryStore, MetadataStore
from kedge.stores.base import Conflict, Entry
from kedge.stores.faults import CutOff, DeliverLater, DropEvent, FaultStore, Rule
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY
from tests.runtime.world import Cluster, actives, cluster_of_three

STORES: Final[WeakKeyDictionary[Controller, FaultStore]] = WeakKeyDictionary()


def three() -> Cluster:
    cluster = cluster_of_three()
    STORES[cluster.controller] = cluster.store
    for node_id in (2, 3):
        store = FaultStore(MemoryStore(cluster.server))
        STORES[cluster.another(node_id, store)] = store
    cluster.run()
    cluster.controller = cluster.controllers[0]
    return cluster


def store_of(controller: Controller) -> FaultStore:
    return STORES[controller]


@pytest.mark.checklist(89)
def test_one_leads_and_the_others_say_who() -> None:
    """NOT_CONTROLLER carries the active id; only register, unregister and describe work on a stand-by."""
    cluster = three()
    assert actives(cluster) == [1]
    for stand_by in cluster.controllers[1:]:
        assert stand_by.describe().active_id == 1
        for future in (
            stand_by.admin.list_partition_reassignments(),
            stand_by.admin.create_topics({"x": NewTopic(1, 1)})["x"],
            stand_by.admin.cancel_partition_reassignments(),
            stand_by.query(lambda view: view),
        ):
            error = future.exception(0)
            assert isinstance(error, NotController)
            assert (error.code, error.active_id) == (41, 1)


def test_a_controller_that_closes_hands_over_at_once() -> None:
    """No session has to run out; pending futures fail, the new epoch is higher."""
    cluster = three()
    future = cluster.move([4, 5, 6])
    cluster.controllers.pop(0).close()
    assert isinstance(future.exception(0), NotController)
    cluster.run()
    assert len(actives(cluster)) == 1
    assert cluster.controllers[0].describe().active_id == actives(cluster)[0]
    assert max(c.controller_epoch or 0 for c in cluster.controllers) == 2


def test_controller_that_closes_in_the_answer_to_a_caller_hands_over_at_once() -> None:
    """Nothing is in flight while callers are answered."""
    cluster = three()
    future = cluster.move([4, 5, 6])
    leader = cluster.controllers.pop(0)
    future.add_done_callback(lambda _: leader.close())
    while not future.done():
        leader.poll_once()
    cluster.run()
    assert len(actives(cluster)) == 1


def test_interrupt_while_callers_are_answered_is_followed_by_a_new_term() -> None:
    """What the batch should have begun afterwards is found again by the load."""
    cluster = cluster_of_three()

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    future = cluster.move([4, 5, 6])
    future.add_done_callback(interrupt)
    with pytest.raises(KeyboardInterrupt):
        cluster.run()
    cluster.run()
    assert cluster.controller.controller_epoch == 2
    assert cluster.controller.describe().findings == {}
    assert cluster.state()["targetReplicas"] == [4, 5, 6]


def test_after_an_expired_session_another_one_leads_and_the_zombie_is_demoted() -> None:
    cluster = three()
    future = cluster.move([4, 5, 6])
    store_of(cluster.controllers[0]).expire()
    cluster.run(*cluster.controllers[1:])
    cluster.run()
    assert isinstance(future.exception(0), NotController)
    assert actives(cluster) in ([2], [3])
    assert "targetReplicas" not in cluster.state()


def test_a_leader_that_is_cut_off_counts_itself_lost_when_a_session_would_be() -> None:
    """By its own clock, since the client may hear of it only when it is back; futures fail then, not later."""
    cluster = three()
    leader = cluster.controllers[0]
    store_of(leader).disconnect()
    future = cluster.move([4, 5, 6])
    leader.poll_once()
    half_s = cluster.server.session_timeout_s / 2
    cluster.clock.advance(half_s * 1000 - 1)
    leader.poll_once()
    assert not future.done()
    cluster.clock.advance(1)
    leader.poll_once()
    assert isinstance(future.exception(0), NotController)
    cluster.clock.advance(half_s * 1000)
    cluster.run()
    assert actives(cluster) in ([2], [3])


def test_an_idle_leader_that_is_cut_off_is_lost_too() -> None:
    """Without a commit under way nothing but the clock says so."""
    cluster = three()
    leader = cluster.controllers[0]
    store_of(leader).disconnect()
    leader.poll_once()
    cluster.clock.advance(cluster.server.session_timeout_s * 1000 - 1)
    leader.poll_once()
    assert leader.is_active
    cluster.clock.advance(1)
    leader.poll_once()
    assert not leader.is_active


def test_controller_without_its_store_says_so_until_it_answers() -> None:
    cluster = three()
    leader, stand_by = cluster.controllers[0], cluster.controllers[1]
    for controller in (leader, stand_by):
        store_of(controller).disconnect()
        controller.poll_once()
    cluster.clock.advance(cluster.server.session_timeout_s * 1000 - 1)
    stand_by.poll_once()
    assert not stand_by.is_cut_off
    cluster.clock.advance(1)
    for controller in (leader, stand_by):
        controller.poll_once()
        assert controller.is_cut_off
        assert controller.describe().findings["store"] == "does not answer"
        error = controller.admin.list_partition_reassignments().exception(0)
        assert str(error) == "no controller is active; its store does not answer"
        store_of(controller).reconnect()
    cluster.run()
    for controller in (leader, stand_by):
        assert not controller.is_cut_off
        assert "store" not in controller.describe().findings


def test_a_zombie_that_comes_back_after_its_successor_committed_commits_nothing() -> None:
    """Its commit fails at both fences; what it had decided is gone."""
    cluster = three()
    zombie, heir = cluster.controllers[0], cluster.controllers[1]
    cluster.controllers.pop(2).close()
    store_of(zombie).play([Rule(CutOff(), key="*/state", nth=1)])
    future = cluster.move([4, 5, 6])
    zombie.poll_once()
    cluster.clock.advance(cluster.server.session_timeout_s * 1000)
    cluster.run(heir)
    assert heir.is_active
    cluster.controller = heir
    assert cluster.done(heir.query(lambda view: view.partition("t", 0))).move is None
    store_of(zombie).play([])
    store_of(zombie).reconnect()
    cluster.run()
    assert isinstance(future.exception(0), NotController)
    assert actives(cluster) == [2]
    assert "targetReplicas" not in cluster.state()


def test_a_commit_that_arrives_after_the_end_of_its_term_changes_nothing() -> None:
    cluster = three()
    store = store_of(cluster.controllers[0])
    store.play([Rule(DeliverLater(), key="*/state", nth=1), Rule(CutOff(), "another_session")])
    cluster.move([4, 5, 6])
    cluster.controllers[0].poll_once()  # sent
    cluster.controllers[0].poll_once()  # to be looked up, over a connection that is cut
    cluster.clock.advance(cluster.server.session_timeout_s * 1000)
    cluster.run(*cluster.controllers[1:])
    assert actives(cluster) in ([1, 2], [1, 3])  # the zombie was not asked yet
    store.reconnect()
    (answer,) = store.deliver_late()
    assert isinstance(answer, Conflict)
    assert "targetReplicas" not in cluster.state()


def test_a_controller_that_is_cut_off_while_it_stands_by_rests_until_it_is_back() -> None:
    cluster = Cluster()
    cluster.store.disconnect()
    cluster.run()
    calls = len(cluster.store.calls)
    cluster.wait(500)
    assert len(cluster.store.calls) == calls
    cluster.store.reconnect()
    cluster.run()
    assert cluster.controller.is_active


class Behind(FaultStore):
    """A member of a store that lags: without sync, its reads of the epoch show what stood there when `lags` was set."""

    def __init__(self, inner: MetadataStore) -> None:
        super().__init__(inner)
        self._epoch: Entry | None = None

    def lag(self) -> None:
        """From now on, and no event is heard of any more."""
        self._epoch = super().get(EPOCH_KEY, timeout_s=1)
        self.play([Rule(DropEvent(), "event")])

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """As the store; the epoch as it was."""
        found = super().get(key, sync=sync, timeout_s=timeout_s)
        return found if sync or key != EPOCH_KEY or self._epoch is None else self._epoch


@pytest.mark.parametrize("what", ["refused", "nothing to do"])
def test_a_deposed_leader_on_a_store_that_lags_neither_refuses_nor_does_nothing(what: str) -> None:
    """Its successor has deleted the topic that it still takes for there: neither answer is true any more."""
    cluster = Cluster(start=False)
    store = Behind(MemoryStore(cluster.server))
    zombie = cluster.another(1, store)
    cluster.join(1, 2, 3)
    cluster.create()
    heir = cluster.another(2)
    cluster.run()
    store.lag()
    cluster.delete(LEADER_KEY)
    cluster.run(heir)
    assert actives(cluster) == [1, 2]
    deleted = heir.admin.delete_topics(["t"]).all()
    cluster.run(heir)
    assert deleted.result(0) == {"t": None}
    answer: Future[Any]
    if what == "refused":
        answer = zombie.admin.create_topics({"t": NewTopic(1, 1)})["t"]
    else:
        answer = zombie.admin.alter_partition_reassignments({TopicPartition("t", 0): [1, 2, 3]}).all()
    cluster.run(zombie)
    assert isinstance(answer.exception(0), NotController)
    assert actives(cluster) == [2]


class LosesWhileLoading(FaultStore):
    """Its session ends while a term is loaded: at the first look at the legacy key, late in a load."""

    is_lost = False

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        found = super().get(key, sync=sync, timeout_s=timeout_s)
        if key == REASSIGN_PARTITIONS and not self.is_lost:
            self.is_lost = True
            self.expire()
        return found


def test_a_session_that_is_lost_while_a_term_is_loaded_begins_none() -> None:
    """Nothing is sent or answered under an election that counts no more; the next one is won again."""
    cluster = Cluster(start=False)
    controller = cluster.another(1, LosesWhileLoading(MemoryStore(cluster.server)))
    controller.poll_once()
    assert not controller.is_active
    assert "lost during the load" in controller.describe().findings["election"]
    cluster.wait(1_000)
    assert controller.is_active


def test_a_request_that_changes_nothing_is_answered_once_the_store_says_who_leads() -> None:
    """It is not answered from memory, and writes nothing."""
    cluster = three()
    store, before = store_of(cluster.controllers[0]), cluster.keys()
    store.play([Rule(CutOff(), "get", key="/controller_epoch")])
    future = cluster.move([1, 2, 3])
    cluster.run()
    assert not future.done()
    store.play([])
    store.reconnect()
    cluster.wait(1_000)
    assert cluster.done(future) is not None
    assert cluster.keys() == before


def test_stand_by_learns_from_a_resync_that_the_leader_went() -> None:
    """It stands for election at once, though its time to look by itself has not come."""
    cluster = cluster_of_three()
    store = FaultStore(cluster.other.another_session())
    cluster.another(2, store)
    cluster.run()
    store.play([Rule(DropEvent(), "event")])
    cluster.controllers.pop(0).close()
    cluster.run()
    assert actives(cluster) == []
    store.play([])
    store.force_resync()
    cluster.run()
    assert actives(cluster) == [2]
