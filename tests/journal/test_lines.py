"""What a line says: the values after each record, in JSON that any parser reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

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

RECORDED = Path(__file__).with_name("rows.txt")
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
PLAN = LegacyKey((LegacyEntry("orders", 0, (4, 5)),))
BROKEN = LegacyKey(problem="not JSON")
GROWING = attrs.evolve(MOVING, isr=(1, 2, 4))
GROWN = attrs.evolve(GROWING, replicas=(1, 2, 3, 4))
FRESH = Partition("new", 0, (1, 2), (), -1, -1)  # without isr and epochs, which are left out
AHEAD = attrs.evolve(MOVING, move=Move((4, 5), (1, 2, 3), 10**12))  # of a controller whose clock is ahead of ours

RECORDS: list[Record] = [
    r.PartitionChanged(attrs.evolve(IDLE, leader=2), IDLE, "leader died"),
    r.PartitionChanged(attrs.evolve(IDLE, isr=(1,)), IDLE),
    r.PartitionChanged(IDLE, MOVING),
    r.PartitionChanged(MOVING, attrs.evolve(MOVING, move=Move((6,), (1, 2, 3), 900))),
    r.PartitionChanged(GROWING, GROWN, via=GROWING),
    r.PartitionChanged(attrs.evolve(IDLE, replicas=(1, 2)), IDLE),
    r.PartitionChanged(MOVING, IDLE, "deadline"),
    r.PartitionChanged(attrs.evolve(IDLE, isr=(1,)), IDLE, "isr taken", is_found=True),
    r.TopicCreated(TOPIC, ((1, 2), (2, 1)), {A: "b"}),
    r.PartitionsAdded(TOPIC, 1, ((2, 1),)),
    r.TopicFound(TOPIC, (MOVING,), {}, KeyVersions.of((AT,))),
    r.TopicChanged(Topic("old", "x"), "topic_id given", ours=True),
    r.TopicChanged(Topic("old", "", extra={"f": 1}), "fields"),
    r.TopicDeletionStarted(TOPIC),
    r.TopicDeleted(Topic("gone", "x")),
    r.DeletionRefused("no\n", "there is no such topic"),
    r.PartitionChanged(IDLE, IDLE.but(status_code=-1, leader_epoch=6), "delayed"),
    r.PartitionPurged(IDLE),
    r.ReductionRefused("no\n", "there is no such topic"),
    r.BrokerForgotten(4),
    r.KeysRewritten("orders"),
    r.BrokerRegistered(Broker(BrokerRegistration(4, "h", 9, rack="a"), 12)),
    r.BrokerLeft(Broker(BrokerRegistration(4), 12)),
    r.DeleteIntended(INTENT),
    r.ReplicaDeleted(INTENT),
    r.IntentDropped(INTENT, "member again"),
    r.ForeignChange("gone", None, "deleted"),
    r.BadKey("orders", 0, "not JSON"),
    r.LegacySubmitted(PLAN),
    r.LegacyEntryRemoved(PLAN.entries[0], "completed", at_once=False),
    r.LegacyEntryRemoved(LegacyEntry("gone", -1, (7, 7)), "dropped", at_once=True, reason="no such thing"),
    r.LegacyKeyRemoved(),
    r.LegacyKeyChanged(NO_KEY, "deleted"),
    r.LegacyKeyBroken(NO_KEY, BROKEN),
    r.LegacyKeyBroken(BROKEN, NO_KEY),
    r.BadKey("orders", 0, None, "not JSON"),
    r.ConfigChanged(ConfigEntity("topics", "orders"), {A: "b"}, {A: "c"}),
    r.ConfigChanged(ConfigEntity("brokers", "<default>"), {A: "b"}, {A: "c"}),
    r.ConfigsAltered(ConfigEntity("topics", "orders"), {A: "b"}, {A: "c"}, "alter_configs"),
    r.ConfigsAltered(ConfigEntity("brokers", "7"), {}, {A: "c"}, "alter_configs"),
    r.ThrottleChanged(ConfigEntity("topics", "orders"), {A: "b"}, {A: "b", C: "d"}, "", None, "ThrottleSet"),
    r.ThrottleChanged(BROKER_7, {A: "b", C: "d"}, {A: "b"}, "throttle removal", None, "ThrottleRemoved"),
    r.ThrottleChanged(BROKER_7, {C: "d"}, {C: "b"}, "throttle removal", None, "ThrottleRestored"),
    r.ThrottleChanged(BROKER_7, {C: "d"}, {C: "d"}, "to stay", None, "ThrottleSet"),
    r.ThrottleChanged(BROKER_7, {C: "d"}, {C: "d"}, "", OwnerMark()),
    r.LegacyPlanWritten(PLAN.entries),
    r.NotificationWorkedOff("/admin/k", ("there is no partition t-7",)),
    r.NotificationWorkedOff("/admin/k", (), "not JSON"),
    r.PartitionChanged(attrs.evolve(FRESH, replicas=(1,)), FRESH),
    r.PartitionChanged(AHEAD, IDLE, "completed"),
]
"""One of each kind and each form that a row can have; the row of each is in `rows.txt`, in this order."""


def test_journal_page_lists_every_event() -> None:
    """Readers of the journal know every name that a row can have."""
    assert journal.EVENTS == EVENTS


def test_every_record_with_lines_has_a_row() -> None:
    kinds = {kind for kind in vars(r).values() if isinstance(kind, type) and issubclass(kind, Record) and kind.EVENTS}
    assert {type(record) for record in RECORDS} == kinds


def last_row(told: Told) -> str:
    row = told.rows[-1]
    row.pop("prev", None)
    return json.dumps(row)


def row_of(record: Record) -> str:
    told = Told()
    told.take_over()
    told.journal.commit(42, 1000, [Decided((record,), "why", "r-1", 77)], told.world.state.partition_epoch)
    return last_row(told)


def row_of_a_takeover() -> str:
    """Who leads, how large the cluster is, and how running moves and deletions stand."""
    told = Told()
    told.world.plant_move("moving", (1, 2), (1, 2, 3), (3, 4))
    told.world.state.intents.load(5, 3, [attrs.evolve(INTENT, broker=5)])
    told.world.state.start_deletion("orders")
    told.world.state.reducing.of["moving"] = Reduction({0: Retirement(5, True), 1: Retirement(5, False)})
    told.take_over()
    return last_row(told)


def test_each_record_and_a_takeover_are_published_as_recorded() -> None:
    """A row has the fields that apply to its record, in the order of the journal's page, and no others.
    `KEDGE_RECORD=1` writes the rows as they are now."""
    published = [*map(row_of, RECORDS), row_of_a_takeover()]
    if os.environ.get("KEDGE_RECORD"):
        RECORDED.write_text("\n".join(published) + "\n", encoding="utf-8")
    assert published == RECORDED.read_text(encoding="utf-8").splitlines()


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
