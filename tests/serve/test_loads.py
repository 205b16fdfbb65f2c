"""Topics, brokers and rates on the status page: what is under-replicated comes first, and lists are bounded."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kedge import TopicPartition
from kedge.controller.cli.serve import loads
from kedge.controller.server.history import HISTORY_MS, History
from tests.runtime.world import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Broker 2 has left, so b-1 is under-replicated, and c-0 has no leader."""
    cluster = Cluster()
    cluster.join(1, 2, 3, 4)
    cluster.create("a", (1, 3), (3, 1))
    cluster.create("b", (1, 3), (1, 2), (3, 1))
    cluster.create("c", (2,))
    cluster.leave(2)
    cluster.run()
    return cluster


def shown(cluster: Cluster) -> dict[str, Any]:
    ask = partial(loads.loads, ours=(), told=lambda *_: None)
    found: dict[str, Any] = cluster.done(cluster.controller.query(ask))
    return found


def test_topics_in_trouble_come_first(cluster: Cluster) -> None:
    found = shown(cluster)
    assert [topic["topic"] for topic in found["topics_shown"]] == ["b", "c", "a"]
    b = found["topics_shown"][0]
    assert [row["partition"] for row in b["rows"]] == [1, 0, 2]
    assert (b["partitions"], b["under_replicated"], b["leaderless"]) == (3, 1, 0)
    assert b["rows"][0] == {
        "partition": 1,
        "leader": 1,
        "replicas": [1, 2],
        "isr": [1],
        "is_moving": False,
        "is_under_replicated": True,
        "status": 0,
    }
    assert (found["under_replicated"], found["leaderless"]) == (1, 1)


def test_added_replicas_are_not_under_replicated(cluster: Cluster) -> None:
    """A partition that moves misses its targets, which KIP-352 does not count."""
    cluster.done(cluster.controller.admin.alter_partition_reassignments({TopicPartition("a", 0): [4, 1]}).all())
    cluster.run()
    (a,) = [topic for topic in shown(cluster)["topics_shown"] if topic["topic"] == "a"]
    assert (a["rows"][0]["is_moving"], a["under_replicated"]) == (True, 0)


def test_lists_are_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics beyond the listed partitions are still named with their counts; brokers that are down are kept."""
    monkeypatch.setattr(loads, "PARTITIONS_MAX", 4)
    monkeypatch.setattr(loads, "BROKERS_MAX", 1)
    found = shown(cluster)
    assert [len(topic["rows"]) for topic in found["topics_shown"]] == [3, 1, 0]
    assert [topic["partitions"] for topic in found["topics_shown"]] == [3, 1, 2]
    assert [broker["id"] for broker in found["brokers"]] == [2]
    assert found["brokers_count"] == 4


def test_history_has_a_point_for_each_step() -> None:
    history = History()
    for ms in range(0, 10_001, 500):
        history.read(ms, ms * 3)
    assert history.points(10_000) == [
        (8_000, 3_000.0),
        (6_000, 3_000.0),
        (4_000, 3_000.0),
        (2_000, 3_000.0),
        (0, 3_000.0),
    ]


def test_history_forgets_what_is_too_old() -> None:
    history = History()
    for ms in range(0, 2 * HISTORY_MS + 1, 2_000):
        history.read(ms, ms)
    points = history.points(2 * HISTORY_MS)
    assert (points[0][0], points[-1][0], len(points)) == (HISTORY_MS, 0, HISTORY_MS // 2_000 + 1)
