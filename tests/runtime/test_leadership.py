"""One leads, the others stand by; the loser is fenced, and each waiting caller gets an answer."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from kedge import NewTopic, NotController, TopicPartition
from kedge.controller.codec.keys import REASSIGN_PARTITIONS
from kedge.stores import MemoryStore, MetadataStore
from kedge.stores.base import Entry
from kedge.stores.faults import DropEvent, FaultStore, Rule
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY
from tests.runtime.world import Cluster, actives, cluster_of_three


def three() -> Cluster:
    cluster = cluster_of_three()
    for node_id in (2, 3):
        cluster.another(node_id)
    cluster.run()
    cluster.controller = cluster.controllers[0]
    return cluster


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
