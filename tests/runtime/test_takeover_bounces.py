"""A takeover that finds brokers registered again: each bounce is a death, then a birth, and a partition that lost
several brokers at once is decided once for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge import Settings
from kedge.controller.codec import keys
from kedge.stores import Commit, MemoryStore, Op
from tests.runtime.world import Cluster, Counting

BROKERS = (1, 2, 3)
TOPICS = {"a": (1, 2, 3), "b": (2, 3, 1), "c": (3, 1)}


def all_bounced(**more: object) -> Cluster:
    """There is no controller, and every broker registered again since."""
    cluster = Cluster(**more)  # type: ignore[arg-type]
    cluster.join(*BROKERS)
    for topic, replicas in TOPICS.items():
        cluster.create(topic, replicas)
    while cluster.controllers:
        cluster.controllers.pop().close()
    cluster.leave(*BROKERS)
    cluster.join(*BROKERS)
    cluster.host.told.clear()
    return cluster


def is_whole(cluster: Cluster) -> bool:
    """Every broker is admitted as registered, and every partition is led by a live broker in sync."""
    admitted = all(cluster.get(keys.admitted(b)) == {"broker_epoch": cluster.epoch(b)} for b in cluster.sessions)
    states = [cluster.state(topic) for topic in TOPICS]
    return admitted and all(s["leader"] in cluster.sessions and s["leader"] in s["isr"] for s in states)


class Contended(Counting):
    """Another client writes a key whenever this store is to commit it."""

    def __init__(self, cluster: Cluster, key: str) -> None:
        super().__init__(MemoryStore(cluster.server), sleep=lambda s: cluster.clock.advance(s * 1000))
        self.cluster, self.key = cluster, key

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        if any(op.key == self.key for op in ops):
            self.cluster.put(self.key, self.cluster.keys()[self.key])
        return super().commit(ops, timeout_s=timeout_s)


def test_rewritten_key_holds_up_the_births_of_its_own_brokers_only() -> None:
    cluster = Cluster()
    cluster.join(1, 2, 3, 4)
    cluster.create("a", (1, 2))
    cluster.create("b", (3, 4))
    cluster.controllers.pop().close()
    cluster.leave(1, 2, 3, 4)
    cluster.join(1, 2, 3, 4)
    cluster.another(2, Contended(cluster, keys.state("a", 0)))
    cluster.wait(5_000, 500)
    admitted = {b: cluster.get(keys.admitted(b)) == {"broker_epoch": cluster.epoch(b)} for b in (1, 2, 3, 4)}
    assert admitted == {1: False, 2: False, 3: True, 4: True}
    assert cluster.state("b")["leader"] == 3


def test_a_follower_that_dies_before_its_leader_is_born_again_leaves_the_isr() -> None:
    """Or its death would be hidden, and it might lead with a log that is gone."""
    cluster = all_bounced()
    contended = Contended(cluster, keys.admitted(1))
    cluster.another(2, contended)
    cluster.wait(2_000, 100)
    cluster.leave(2)
    cluster.wait(1_000, 100)
    contended.key = ""
    cluster.wait(30_000, 500)
    assert 2 not in cluster.state("a")["isr"]
    assert cluster.state("a")["leader"] in (1, 3)


@pytest.mark.slow
def test_a_broker_that_goes_while_its_bounce_is_worked_off_dies_again() -> None:
    """Whenever it goes: no lost broker leads in the end."""
    for polls in range(1, 12):
        cluster = all_bounced(settings=Settings(commit_decisions_max=1))
        taking_over = cluster.another(2)
        for _ in range(polls):
            taking_over.poll_once()
        cluster.leave(2)
        assert cluster.state("b")["leader"] == 3
        assert is_whole(cluster), polls


@pytest.mark.slow
def test_takeover_that_ends_midway_is_started_again() -> None:
    """Wherever it ends, the next controller works the same deaths off, and no leader epoch goes back."""
    for polls in range(1, 12):
        cluster = all_bounced(settings=Settings(commit_decisions_max=1))
        taking_over = cluster.another(2)
        for _ in range(polls):
            taking_over.poll_once()
        epochs = [cluster.state(topic)["leader_epoch"] for topic in TOPICS]
        cluster.controllers.pop().close()
        cluster.another(3)
        cluster.run()
        assert is_whole(cluster), polls
        assert all(cluster.state(t)["leader_epoch"] >= e for t, e in zip(TOPICS, epochs, strict=True))
