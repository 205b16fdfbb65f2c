"""Hints are looked up, and what is found is an event: brokers by difference, topics by version."""

from __future__ import annotations

import pytest

from kedge import LeaderAndIsrRequest, Settings, UpdateMetadataRequest
from kedge.stores.base import Put
from kedge.stores.faults import DoubleEvent, DropEvent, Rule
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


def test_other_endpoints_of_a_live_broker_are_sent_without_an_election() -> None:
    """The same registration, rewritten by its own session."""
    cluster = cluster_of_three()
    before = cluster.state()
    cluster.host.told.clear()
    key = "/brokers/ids/2"
    entry = cluster.other.get(key, timeout_s=1)
    assert entry is not None
    value = entry.value.replace(b'"rack":"c"', b'"rack":"elsewhere"')
    cluster.sessions[2].commit([Put(key, value, entry.version, ephemeral=True)], timeout_s=1)
    cluster.run()
    peers = {p.broker_id: p.rack for p in cluster.host.to(5, UpdateMetadataRequest)[-1].live_brokers}
    assert peers[2] == "elsewhere"
    assert cluster.state() == before
    assert not any(isinstance(r, LeaderAndIsrRequest) for r in cluster.host.told)


def test_topic_that_another_client_creates_is_taken_over_whole() -> None:
    """With its config, its state keys, and a topic id if it has none."""
    cluster = cluster_of_three()
    cluster.put("/config/topics/n", {"version": 1, "config": {"unclean.leader.election.enable": "true"}})
    isr = {"controller_epoch": 1, "leader": 5, "version": 1, "leader_epoch": 4, "isr": [5]}
    cluster.put("/brokers/topics/n/partitions/0/state", isr)
    cluster.put("/brokers/topics/n", {"version": 1, "partitions": {"0": [5, 4], "1": [4, 5]}})
    cluster.run()
    assert cluster.partition("n", 0).isr == (5,)
    assert cluster.state("n", 1)["leader"] == 4
    cluster.leave(5)
    assert cluster.state("n", 0)["leader"] == 4  # unclean, as its config allows


def test_a_topic_key_that_is_broken_while_we_run_is_written_over() -> None:
    cluster = cluster_of_three()
    cluster.put("/brokers/topics/t", b"{")
    cluster.run()
    assert cluster.get("/brokers/topics/t")["partitions"] == {"0": [1, 2, 3]}


def test_a_new_topic_that_is_broken_is_a_finding_until_it_is_mended_or_gone() -> None:
    cluster = cluster_of_three()
    for name, after in (("n", {"version": 1, "partitions": {"0": [1]}}), ("o", None)):
        cluster.put(f"/brokers/topics/{name}", b"{")
        cluster.run()
        assert name in cluster.findings()
        if after is None:
            cluster.delete(f"/brokers/topics/{name}")
        else:
            cluster.put(f"/brokers/topics/{name}", after)
        cluster.run()
        assert cluster.findings() == {}


def test_doubled_hints_change_nothing_and_a_lost_one_is_made_good_by_the_next_resync() -> None:
    """A hint says: look."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(DoubleEvent(), "event")])
    cluster.leave(2)
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.leave(3)
    assert cluster.controller.describe().live_brokers == (1, 3, 4, 5, 6)
    cluster.store.play([])
    cluster.store.force_resync()
    cluster.run()
    assert cluster.controller.describe().live_brokers == (1, 4, 5, 6)
    assert cluster.state()["isr"] == [1]


def test_own_writes_are_hinted_too_and_found_to_be_no_news() -> None:
    cluster = cluster_of_three()
    commits = cluster.store.commits
    cluster.store.force_resync()
    cluster.wait(10_000, 500)
    assert cluster.store.commits == commits


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
