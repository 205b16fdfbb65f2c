"""What a line says: the values after each record, in JSON that any parser reads."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller import records as r
from kedge.controller.model.legacy import NO_KEY, LegacyEntry, LegacyKey
from kedge.controller.model.records import KeyVersion, KeyVersions, Record
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.throttles import OwnerMark
from kedge.controller.model.values import Broker, BrokerRegistration, ConfigEntity, DeleteIntent, Move, Partition, Topic
from kedge.controller.runtime import journal
from kedge.controller.runtime.journal import Decided, Journal, MemorySink
from kedge.controller.state.reductions import Reduction
from tests.journal.told import Told

# The list of the journal's page.
EVENTS = {
    "Takeover", "Resigned", "BrokerRegistered", "BrokerLeft", "BrokerForgotten", "TopicCreated", "PartitionsAdded",
    "TopicDeletionStarted", "TopicDeleted", "LeaderElected", "IsrChanged", "TargetSet", "TargetReplaced",
    "ReplicasGrown", "ReplicasChanged", "TargetCleared", "IsrShrunk", "DeleteIntended", "ReplicaDeleted",
    "IntentDropped", "LegacySubmitted", "LegacyEntryRemoved", "LegacyKeyRemoved", "ThrottleSet", "ThrottleRemoved",
    "ThrottleRestored", "ConfigChanged", "StatusChanged", "PartitionPurged", "ForeignChange", "BadKey", "Conflict",
    "KeysRewritten", "Gap",
}  # fmt: skip

BROKER_7 = ConfigEntity("brokers", "7")
A, C = "min.insync.replicas", "compression.type"
"""Configs of topics and of brokers, because values of unknown ones are hidden."""
IDLE = Partition("orders", 0, (1, 2, 3), (1, 2), 1, 5)
MOVING = attrs.evolve(IDLE, move=Move((4, 5), (1, 2, 3), 900, 5000), leader_epoch=6)
INTENT = DeleteIntent(3, "orders", "id-of-orders", 0, 6)
TOPIC = Topic("orders", "id-of-orders")
AT = KeyVersion(4, 3)
LEGACY_KEY = "/admin/reassign_partitions"
PLAN = LegacyKey((LegacyEntry("orders", 0, (4, 5)),))
BROKEN = LegacyKey(problem="not JSON")
WHERE = {"topic": "orders", "topic_id": "id-of-orders", "partition": 0}
IDLE_ROW = {
    **WHERE, "replicas": [1, 2, 3], "isr": [1, 2], "leader": 1, "leader_epoch": 5, "partition_epoch": 0, "status": 0,
}  # fmt: skip
MOVING_ROW = {**IDLE_ROW, "target": [4, 5], "leader_epoch": 6, "origin": [1, 2, 3]}
IN_FLIGHT = {**MOVING_ROW, "partition_epoch": 3, "started_ms": 900, "deadline_ms": 5000}
BY = {"cause": "why", "request": "r-1"}

GROWING = attrs.evolve(MOVING, isr=(1, 2, 4))
GROWN = attrs.evolve(GROWING, replicas=(1, 2, 3, 4))

CASES: list[tuple[Record, dict[str, Any]]] = [
    (
        r.PartitionChanged(attrs.evolve(IDLE, leader=2), IDLE, "leader died"),
        {"event": "LeaderElected", **IDLE_ROW, **BY, "cause": "leader died"},
    ),
    (r.PartitionChanged(attrs.evolve(IDLE, isr=(1,)), IDLE), {"event": "IsrChanged", **IDLE_ROW, **BY}),
    (r.PartitionChanged(IDLE, MOVING), {"event": "TargetSet", **MOVING_ROW, **BY, "detail": {"deadline_ms": 5000}}),
    (
        r.PartitionChanged(MOVING, attrs.evolve(MOVING, move=Move((6,), (1, 2, 3), 900))),
        {"event": "TargetReplaced", **MOVING_ROW, "target": [6], **BY},
    ),
    (
        r.PartitionChanged(GROWING, GROWN, via=GROWING),
        {"event": "ReplicasGrown", **MOVING_ROW, "replicas": [1, 2, 3, 4], "isr": [1, 2, 4], **BY},
    ),
    (r.PartitionChanged(attrs.evolve(IDLE, replicas=(1, 2)), IDLE), {"event": "ReplicasChanged", **IDLE_ROW, **BY}),
    (
        r.PartitionChanged(MOVING, IDLE, "deadline"),
        {
            "event": "TargetCleared", **IDLE_ROW, "origin": [1, 2, 3], **BY, "cause": "deadline",
            "detail": {"bytes_copied": 77, "duration_ms": 100},
        },
    ),
    (
        r.PartitionChanged(attrs.evolve(IDLE, isr=(1,)), IDLE, "isr taken", is_found=True),
        {"event": "ForeignChange", **IDLE_ROW, **BY, "cause": "isr taken"},
    ),
    (
        r.TopicCreated(TOPIC, ((1, 2), (2, 1)), {A: "b"}),
        {
            "event": "TopicCreated", "topic": "orders", "topic_id": "id-of-orders", **BY,
            "detail": {"assignments": [[1, 2], [2, 1]], "configs": {A: "b"}},
        },
    ),
    (
        r.PartitionsAdded(TOPIC, 1, ((2, 1),)),
        {
            "event": "PartitionsAdded", "topic": "orders", "topic_id": "id-of-orders", **BY,
            "detail": {"first": 1, "assignments": [[2, 1]]},
        },
    ),
    (
        r.TopicFound(TOPIC, (MOVING,), {}, KeyVersions.of((AT,))),
        {
            "event": "ForeignChange", "topic": "orders", "topic_id": "id-of-orders", **BY,
            "detail": {"what": "topic found", "assignments": [[1, 2, 3]], "configs": {}, "moves": [IN_FLIGHT]},
        },
    ),
    (
        r.TopicChanged(Topic("old", ""), Topic("old", "x"), "topic_id given", ours=True),
        {"event": "KeysRewritten", "topic": "old", "topic_id": "x", **BY, "cause": "topic_id given"},
    ),
    (
        r.TopicChanged(Topic("old", ""), Topic("old", "", extra={"f": 1}), "fields"),
        {"event": "ForeignChange", "topic": "old", **BY, "cause": "fields"},
    ),
    (
        r.TopicDeletionStarted(TOPIC),
        {"event": "TopicDeletionStarted", "topic": "orders", "topic_id": "id-of-orders", **BY},
    ),
    (r.TopicDeleted(Topic("gone", "x")), {"event": "TopicDeleted", "topic": "gone", "topic_id": "x", **BY}),
    (
        r.DeletionRefused("no\n", "there is no such topic"),
        {
            "event": "ForeignChange", "topic": "no\n", **BY,
            "detail": {"what": "/admin/delete_topics: there is no such topic; removed"},
        },
    ),
    (
        r.PartitionChanged(IDLE, IDLE.but(status_code=-1, leader_epoch=6), "delayed"),
        {"event": "StatusChanged", **IDLE_ROW, "status": -1, "leader_epoch": 6, **BY, "cause": "delayed"},
    ),
    (r.PartitionPurged(IDLE), {"event": "PartitionPurged", **WHERE, "leader_epoch": 5, **BY}),
    (
        r.ReductionRefused("no\n", "there is no such topic"),
        {
            "event": "ForeignChange", "topic": "no\n", **BY,
            "detail": {"what": "/admin/delete_topic_partitions: there is no such topic; removed"},
        },
    ),
    (r.BrokerForgotten(4), {"event": "BrokerForgotten", "broker": 4, **BY}),
    (r.KeysRewritten("orders"), {"event": "KeysRewritten", "topic": "orders", "topic_id": "id-of-orders", **BY}),
    (
        r.BrokerRegistered(Broker(BrokerRegistration(4, "h", 9, rack="a"), 12)),
        {
            "event": "BrokerRegistered", "broker": 4, **BY,
            "detail": {"broker_epoch": 12, "host": "h", "port": 9, "rack": "a"},
        },
    ),
    (
        r.BrokerLeft(Broker(BrokerRegistration(4), 12)),
        {"event": "BrokerLeft", "broker": 4, **BY, "detail": {"broker_epoch": 12}},
    ),
    (r.DeleteIntended(INTENT), {"event": "DeleteIntended", **WHERE, "leader_epoch": 6, "broker": 3, **BY}),
    (r.ReplicaDeleted(INTENT), {"event": "ReplicaDeleted", **WHERE, "leader_epoch": 6, "broker": 3, **BY}),
    (
        r.IntentDropped(INTENT, "member again"),
        {"event": "IntentDropped", **WHERE, "leader_epoch": 6, "broker": 3, **BY, "cause": "member again"},
    ),
    (
        r.ForeignChange("gone", None, "deleted"),
        {"event": "ForeignChange", "topic": "gone", **BY, "detail": {"what": "deleted"}},
    ),
    (r.BadKey("orders", 0, "not JSON"), {"event": "BadKey", **WHERE, **BY, "detail": {"problem": "not JSON"}}),
    (r.LegacySubmitted(PLAN), {"event": "LegacySubmitted", **BY, "detail": {"key": LEGACY_KEY, "entries": 1}}),
    (
        r.LegacyEntryRemoved(PLAN.entries[0], "completed", at_once=False),
        {"event": "LegacyEntryRemoved", **WHERE, "target": [4, 5], **BY, "cause": "completed"},
    ),
    (
        r.LegacyEntryRemoved(LegacyEntry("gone", -1, (7, 7)), "dropped", at_once=True, reason="no such thing"),
        {
            "event": "LegacyEntryRemoved", "topic": "gone", "partition": -1, "target": [7, 7], **BY, "cause": "dropped",
            "detail": {"reason": "no such thing"},
        },
    ),
    (r.LegacyKeyRemoved(), {"event": "LegacyKeyRemoved", **BY}),
    (
        r.LegacyKeyChanged(NO_KEY, "deleted"),
        {"event": "ForeignChange", **BY, "detail": {"key": LEGACY_KEY, "what": "deleted"}},
    ),
    (
        r.LegacyKeyBroken(NO_KEY, BROKEN),
        {"event": "BadKey", **BY, "detail": {"key": LEGACY_KEY, "problem": "not JSON"}},
    ),
    (
        r.LegacyKeyBroken(BROKEN, NO_KEY),
        {"event": "BadKey", **BY, "detail": {"key": LEGACY_KEY, "mended": "not JSON"}},
    ),
    (r.BadKey("orders", 0, None, "not JSON"), {"event": "BadKey", **WHERE, **BY, "detail": {"mended": "not JSON"}}),
    (
        r.ConfigChanged(ConfigEntity("topics", "orders"), {A: "b"}, {A: "c"}),
        {
            "event": "ConfigChanged", "topic": "orders", "topic_id": "id-of-orders", **BY,
            "detail": {"configs": {A: "c"}, "was": {A: "b"}},
        },
    ),
    (
        r.ConfigChanged(ConfigEntity("brokers", "<default>"), {A: "b"}, {A: "c"}),
        {
            "event": "ConfigChanged", **BY,
            "detail": {"entity": "brokers/<default>", "configs": {A: "c"}, "was": {A: "b"}},
        },
    ),
    (
        r.ConfigsAltered(ConfigEntity("topics", "orders"), {A: "b"}, {A: "c"}, "alter_configs"),
        {
            "event": "ConfigChanged", "topic": "orders", "topic_id": "id-of-orders", **BY, "cause": "alter_configs",
            "detail": {"entity": "topics/orders", "configs": {A: "c"}, "was": {A: "b"}},
        },
    ),
    (
        r.ConfigsAltered(ConfigEntity("brokers", "7"), {}, {A: "c"}, "alter_configs"),
        {
            "event": "ConfigChanged", **BY, "cause": "alter_configs",
            "detail": {"entity": "brokers/7", "configs": {A: "c"}, "was": {}},
        },
    ),
    (
        r.ThrottleChanged(
            ConfigEntity("topics", "orders"), {A: "b"}, {A: "b", C: "d"}, "", None, None, "ThrottleSet"
        ),
        {
            "event": "ThrottleSet", "topic": "orders", "topic_id": "id-of-orders", **BY,
            "detail": {"entity": "topics/orders", "configs": {C: "d"}, "was": {}},
        },
    ),
    (
        r.ThrottleChanged(
            BROKER_7, {A: "b", C: "d"}, {A: "b"}, "throttle removal", OwnerMark(), None, "ThrottleRemoved"
        ),
        {
            "event": "ThrottleRemoved", **BY, "cause": "throttle removal",
            "detail": {"entity": "brokers/7", "configs": {}, "was": {C: "d"}},
        },
    ),
    (
        r.ThrottleChanged(BROKER_7, {C: "d"}, {C: "b"}, "throttle removal", OwnerMark(), None, "ThrottleRestored"),
        {
            "event": "ThrottleRestored", **BY, "cause": "throttle removal",
            "detail": {"entity": "brokers/7", "configs": {C: "b"}, "was": {C: "d"}},
        },
    ),
    (
        r.ThrottleChanged(BROKER_7, {C: "d"}, {C: "d"}, "to stay", OwnerMark(), None, "ThrottleSet"),
        {
            "event": "ThrottleSet", **BY, "cause": "to stay",
            "detail": {"entity": "brokers/7", "configs": {}, "was": {}},
        },
    ),
    (
        r.ThrottleChanged(BROKER_7, {C: "d"}, {C: "d"}, "", None, OwnerMark()),
        {"event": "KeysRewritten", **BY},
    ),
    (
        r.LegacyPlanWritten(PLAN.entries),
        {"event": "LegacySubmitted", **BY, "detail": {"key": LEGACY_KEY, "entries": 1}},
    ),
    (
        r.NotificationWorkedOff("/admin/k", ("there is no partition t-7",)),
        {
            "event": "KeysRewritten", **BY,
            "detail": {"removed": "/admin/k", "passed_over": ["there is no partition t-7"]},
        },
    ),
    (
        r.NotificationWorkedOff("/admin/k", (), "not JSON"),
        {"event": "BadKey", **BY, "detail": {"removed": "/admin/k", "problem": "not JSON"}},
    ),
]  # fmt: skip


def test_journal_page_lists_every_event() -> None:
    """Readers of the journal know every name that a row can have."""
    assert journal.EVENTS == EVENTS


def test_every_record_with_lines_has_a_case() -> None:
    kinds = {kind for kind in vars(r).values() if isinstance(kind, type) and issubclass(kind, Record) and kind.EVENTS}
    assert {type(record) for record, _ in CASES} == kinds


@pytest.mark.parametrize("record,expected", CASES, ids=lambda value: type(value).__name__)
def test_record_is_published_with_the_values_after_it(told: Told, record: Record, expected: dict[str, Any]) -> None:
    """A row has the fields that apply to its record, and no others."""
    decided = Decided((record,), "why", "r-1", 77)
    told.journal.commit(42, 1000, [decided], told.world.state.partition_epoch)
    frame = {"epoch": 7, "seq": 42, "row": 0, "ts": 1000, "rows": 1}
    row = told.rows[-1]
    assert row.pop("prev")
    assert row == {**frame, **expected}


def test_partition_that_never_had_a_leader_is_described_without_isr_and_epochs(told: Told) -> None:
    """Fields that do not apply are left out, they are not filled with -1."""
    fresh = Partition("new", 0, (1, 2), (), -1, -1)
    told.write(r.PartitionChanged(attrs.evolve(fresh, replicas=(1,)), fresh))
    assert set(told.rows[-1]) == {
        "epoch", "seq", "row", "ts", "event", "topic", "partition", "replicas", "status", "rows", "prev",
    }  # fmt: skip


def test_the_duration_of_a_move_is_never_negative(told: Told) -> None:
    """A move that another controller, with a clock ahead of ours, started ends after no time rather than before it."""
    ahead = attrs.evolve(MOVING, move=Move((4, 5), (1, 2, 3), 10**12))
    told.write(r.PartitionChanged(ahead, IDLE, "completed"))
    assert told.rows[-1]["detail"] == {"duration_ms": 0}


def test_fields_stand_in_the_order_of_the_journals_page(told: Told) -> None:
    """People who read the raw lines find a field where they found it in the line before."""
    told.write(r.PartitionChanged(IDLE, MOVING), cause="c", request="r")
    assert list(told.rows[-1]) == [
        "epoch", "seq", "row", "ts", "event", "topic", "topic_id", "partition", "replicas", "isr", "target", "leader",
        "leader_epoch", "partition_epoch", "status", "origin", "cause", "request", "detail", "rows", "prev",
    ]  # fmt: skip


def test_a_takeover_tells_counts_and_everything_in_flight() -> None:
    """The first line of a term says who leads, how large the cluster is, and how running moves and deletions stand."""
    told = Told()
    told.world.plant_move("moving", (1, 2), (1, 2, 3), (3, 4))
    told.world.state.intents.load(5, 3, [attrs.evolve(INTENT, broker=5)])
    told.world.state.start_deletion("orders")
    told.world.state.reducing.of["moving"] = Reduction({0: Retirement(5, True), 1: Retirement(5, False)})
    told.take_over()
    (row,) = told.rows
    assert row == {
        "epoch": 7, "seq": 41, "row": 0, "ts": 1000, "event": "Takeover", "rows": 1,
        "detail": {
            "controller_id": 1, "brokers": 6, "topics": 2, "partitions": 2, "unreadable_keys": 0,
            "moves": [
                {
                    "topic": "moving", "topic_id": "id-of-moving", "partition": 0, "replicas": [1, 2, 3],
                    "isr": [1, 2, 3], "target": [3, 4], "leader": 1, "leader_epoch": 3, "partition_epoch": 0,
                    "status": 0, "origin": [1, 2], "started_ms": 500,
                }
            ],
            "intents": [{**WHERE, "leader_epoch": 6, "broker": 5}], "deleting": ["orders"],
            "reductions": {
                "moving": {
                    "0": {"timestamp": 5, "immediate": True, "status": 0},
                    "1": {"timestamp": 5, "immediate": False, "status": None},
                }
            },
        },
    }  # fmt: skip


ANY_TEXT = st.text(st.characters(), max_size=40)  # with control characters and lone surrogates


@pytest.mark.slow
@given(topic=ANY_TEXT.filter(bool), topic_id=ANY_TEXT, cause=ANY_TEXT, request=ANY_TEXT, detail=ANY_TEXT)
def test_whatever_strangers_write_comes_back_from_the_line(
    topic: str, topic_id: str, cause: str, request: str, detail: str
) -> None:
    """Names, causes and details of any characters make one line of valid JSON, and are read back as they were."""
    told = Told()
    told.world.plant_topic(topic if topic != "orders" else "orders2", topic_id)
    topic = next(name for name in told.world.state.topic_names() if name != "orders")
    told.take_over()
    told.journal.conflict(detail, 2)
    created = r.TopicCreated(Topic(topic, topic_id), ((1,),), {detail: cause})
    told.write(
        r.ForeignChange(topic, 3, detail), created, r.IntentDropped(INTENT, detail), cause=cause, request=request
    )
    told.journal.resigned(2000, cause)
    assert not any("\n" in line for line in told.memory.lines)
    _, conflict, foreign, create, dropped, resigned = told.rows
    assert conflict["detail"] == {"key": detail, "count": 2}
    assert (foreign["topic"], foreign.get("topic_id", "")) == (topic, topic_id)
    assert (foreign["cause"], foreign["request"], foreign["detail"]) == (cause, request, {"what": detail})
    assert create["detail"]["configs"] == {detail: "[hidden]"}
    assert dropped["cause"] == detail
    assert resigned["cause"] == cause


def test_a_journal_without_a_sink_builds_nothing() -> None:
    """Where no journal is wanted a commit costs no text: the records are not even looked at."""
    told = Told()
    journal = Journal()
    journal.takeover(told.world.state, 1, 1)
    journal.commit(2, 2, iter(lambda: pytest.fail("looked at"), 0), told.world.state.partition_epoch)
    journal.conflict("/key", 1)
    journal.resigned(3, "over")
    journal.close()
    assert (journal.lines_written, journal.stopped) == (0, None)


def test_memory_keeps_the_last_lines_up_to_its_limit() -> None:
    """A journal in memory is bounded: the oldest lines go first."""
    memory = MemorySink(lines_max=2)
    told = Told(memory)
    told.take_over()
    told.move()
    assert [json.loads(line)["row"] for line in memory.lines] == [6, 7]
