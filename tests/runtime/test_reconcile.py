"""Hints are looked up, and what is found is an event: brokers by difference, topics by version."""

from __future__ import annotations

import logging

import pytest

from kedge import Settings
from kedge.controller.codec import keys
from tests.runtime.world import Cluster, cluster_of_three


@pytest.mark.slow
def test_the_death_of_many_partitions_is_worked_off_before_the_birth() -> None:
    cluster = cluster_of_three()
    cluster.create("m", *[(1, 2, 3)] * 2500)
    cluster.leave(1, run=False)
    cluster.join(1)
    assert {cluster.state("m", p)["leader"] for p in range(0, 2500, 100)} == {2}
    assert {tuple(cluster.state("m", p)["isr"]) for p in range(2500)} == {(2, 3)}
    assert cluster.get("/kedge/brokers/1") == {"broker_epoch": cluster.epoch(1)}


def test_kafkas_moves_of_a_topic_without_an_id_are_in_the_store_at_every_moment() -> None:
    """The id is written before they are taken over; until then the topic's key goes on telling of each."""
    cluster = Cluster(settings=Settings(commit_decisions_max=1))
    cluster.join(1, 2, 3)
    for p in range(2):
        state = {"version": 1, "leader": 1, "leader_epoch": 0, "controller_epoch": 1, "isr": [1]}
        cluster.put(f"/brokers/topics/k/partitions/{p}/state", state)
    maps = {"adding_replicas": {"0": [2], "1": [3]}, "removing_replicas": {"0": [1], "1": [1]}}
    cluster.put("/brokers/topics/k", {"version": 2, "partitions": {"0": [2, 1], "1": [3, 1]}, **maps})
    for _ in range(20):
        cluster.controller.poll_once()
        adding = cluster.get("/brokers/topics/k")["adding_replicas"]
        for p in range(2):
            moves = "targetReplicas" in cluster.get(f"/brokers/topics/k/partitions/{p}/state")
            assert moves is not (str(p) in adding)
    assert cluster.get("/brokers/topics/k")["adding_replicas"] == {}
    assert cluster.get("/brokers/topics/k")["topic_id"]


def test_of_very_many_unknown_partitions_a_few_are_named(caplog: pytest.LogCaptureFixture) -> None:
    cluster = cluster_of_three()
    cluster.leave(1)
    cluster.join(1)
    cluster.done(cluster.isr([2, 3, 1]))
    named = [{"topic": "t", "partition": 0}]
    named += [{"topic": "x" * 200, "partition": number} for number in range(3_000)]
    with caplog.at_level(logging.WARNING):
        cluster.put(keys.PREFERRED_ELECTION, {"version": 1, "partitions": named})
        cluster.run()
    said = [m for m in caplog.messages if "passed over" in m]
    assert len(said) == 21
    assert said[-1].endswith("and 2980 more")
    assert max(map(len, said)) < 200
    assert (cluster.state()["leader"], cluster.has(keys.PREFERRED_ELECTION)) == (1, False)
