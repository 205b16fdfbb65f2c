"""Another client writes our keys: the batch is undone, what is there is adopted, everything is decided again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kedge import (
    NotController,
)
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
