"""forget_broker at the keys: once it succeeded no controller waits for that broker, and it was not alive."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from kedge import (
    BrokerRegistration,
    HostResponse,
    InvalidRequest,
    Journal,
    LogReport,
    MemorySink,
    StopReplicaRequest,
    TopicPartition,
)
from kedge.controller.codec import broker as broker_codec
from kedge.controller.codec import keys
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Put
from kedge.stores.faults import DropEvent, Rule
from tests.runtime.test_conflicts import meddled
from tests.runtime.test_deletion import TOPIC, delete, left
from tests.runtime.world import Cluster, cluster_of_three, failing

ADMITTED = keys.admitted(3)


def intents_of(cluster: Cluster, broker: int) -> list[str]:
    return list(cluster.keys(f"{keys.REPLICA_DELETIONS}/{broker}"))


def owing(**more: Any) -> Cluster:
    """Broker 3 died with a replica to delete, and is a member of nothing."""
    cluster = cluster_of_three(**more)
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.done(cluster.move([1, 2]))
    cluster.leave(3)
    cluster.host.answer = lambda _: HostResponse()
    assert intents_of(cluster, 3)
    return cluster


def test_that_a_broker_was_forgotten_outlives_the_controller() -> None:
    """The next one finds partitions that were stopped, no intent, no admission: it sends no request again."""
    cluster = cluster_of_three()
    cluster.host.answer = failing(2, StopReplicaRequest)
    cluster.leave(3)
    delete(cluster)
    cluster.done(cluster.controller.admin.forget_broker(3))
    assert not cluster.has(ADMITTED)
    cluster.controllers.pop().close()
    cluster.another(2)
    cluster.wait(1000)
    assert intents_of(cluster, 3) == []
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(20_000)
    assert left(cluster) == []


def test_the_answer_waits_for_what_a_key_in_conflict_holds_up() -> None:
    """In few passes: nothing turns in a circle meanwhile."""
    cluster, store = meddled("/nowhere", 0)
    cluster.host.answer = failing(3, StopReplicaRequest)
    cluster.done(cluster.move([2, 1], "u"))
    cluster.done(cluster.move([1, 2]))
    cluster.leave(3)
    store.key, store.times = intents_of(cluster, 3)[0], 5
    future = cluster.controller.admin.forget_broker(3)
    polls = sum(cluster.controller.poll_once() for _ in range(200))
    assert polls < 20
    assert not future.done()
    assert cluster.has(store.key)
    cluster.wait(30_000)
    assert future.result(0) is None
    assert (intents_of(cluster, 3), cluster.has(ADMITTED), store.times) == ([], False, 0)


def test_a_broker_that_is_registered_and_not_seen_yet_is_alive() -> None:
    """It came back just now, and the event is not here yet: what it has to delete stays, and is sent to it."""
    cluster = owing()
    cluster.host.told.clear()
    cluster.store.play([Rule(DropEvent(), "event", keys.broker(3))])
    cluster.sessions[3] = MemoryStore(cluster.server)
    value = broker_codec.encode(BrokerRegistration(3), 5, cluster.clock.now_ms())
    cluster.sessions[3].commit([Put(keys.broker(3), value, ABSENT, ephemeral=True)], timeout_s=1)
    error = cluster.error(cluster.controller.admin.forget_broker(3))
    assert isinstance(error, InvalidRequest)
    assert "alive" in str(error)
    assert cluster.store.errors["Conflict"] == 1  # the commit found the registration
    cluster.wait(1000)
    assert len(cluster.host.to(3, StopReplicaRequest)) == 1
    assert intents_of(cluster, 3) == []
    assert cluster.has(ADMITTED)


def test_all_that_is_dropped_is_in_the_journal_under_the_request() -> None:
    """With the same nonce, so that one sees what was whose doing."""
    sink = MemorySink()
    cluster = owing(journal=Journal(sink))
    cluster.done(cluster.controller.admin.forget_broker(3))
    rows = [json.loads(line) for line in sink.lines]
    told = [row for row in rows if row["event"] in {"IntentDropped", "BrokerForgotten"}]
    assert [row["event"] for row in told] == ["IntentDropped", "BrokerForgotten"]
    assert told[0]["request"] == told[1]["request"] != None  # noqa: E711 - of a chain
    assert told[0]["cause"] == "broker forgotten"


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_reports_of_logs_that_are_not_needed_any_more_are_forgotten(is_forgotten: bool) -> None:
    """Of a broker that is forgotten, and of a topic that is deleted, also where they came after its log was gone."""
    cluster = owing()
    report = LogReport("t", 0, 3, 0, 0, 10, 8, 100)
    if is_forgotten:
        cluster.controller.report_log(report)
        cluster.done(cluster.controller.admin.forget_broker(3))
    else:
        cluster.host.answer = failing(2, StopReplicaRequest)
        delete(cluster)
        cluster.controller.report_log(attrs.evolve(report, broker_id=1))
        cluster.host.answer = lambda _: HostResponse()
        cluster.done(cluster.controller.admin.forget_broker(3))
        cluster.wait(20_000)
        assert not cluster.has(TOPIC)
    assert [cluster.controller.reported_log(TopicPartition("t", 0), broker) for broker in (1, 3)] == [None, None]
