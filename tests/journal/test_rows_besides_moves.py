"""Rows of topics, brokers, intents and the legacy key, put behind a legal journal: what may come, and what may not."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.audit import Trace
from tests.journal.legal import first_illegal, put, rows, values


def _row(event: str, **values: Any) -> dict[str, Any]:
    return {"event": event, "topic": "orders", "topic_id": "id-of-orders", **values}


STARTED, DELETED = _row("TopicDeletionStarted"), _row("TopicDeleted")
SUBMITTED, ENTRY = {"event": "LegacySubmitted"}, _row("LegacyEntryRemoved", partition=0)
KEY = {"event": "LegacyKeyRemoved"}
CAME_AGAIN = {"event": "BrokerRegistered", "broker": 5, "detail": {"broker_epoch": 3}}
TO_MOVE = {"event": "TargetSet", **values(target=[6], origin=[4, 5, 6], leader_epoch=13)}
AGAIN = _row("TopicCreated", topic_id="id-2", detail={"assignments": [[1]]})
MEMBER = _row("DeleteIntended", partition=0, leader_epoch=12, broker=6)
UNCLEAN = {"event": "LeaderElected", **values(isr=[5], leader=5, leader_epoch=13)}
FORGOTTEN = {"event": "BrokerForgotten", "broker": 4}
FOREIGN = {"event": "ForeignChange", "cause": "nothing taken over, written again"}
BAD, MENDED = (_row("BadKey", partition=0, detail={word: "not JSON"}) for word in ("problem", "mended"))
SET = {"event": "ThrottleSet", "detail": {"entity": "brokers/1"}}
GONE = _row("ThrottleRemoved", cause="throttle removal", detail={"entity": "topics/orders"})
CANCELLED = {"event": "TargetCleared", **values(leader_epoch=14), "cause": "cancelled"}
ENDED_BY = {row["event"] for row in (STARTED, DELETED, SUBMITTED, ENTRY, KEY, FORGOTTEN, SET, GONE)}
ENDED_BY |= {"ThrottleRestored"}

LEGAL_ENDS: dict[str, list[list[dict[str, Any]]]] = {
    "a topic is deleted and created again": [[STARTED], [MEMBER], [DELETED], [AGAIN]],
    "a topic is deleted whose deletion began before": [[DELETED]],
    "legacy entries go one by one, then the key": [[SUBMITTED], [ENTRY, ENTRY], [ENTRY, KEY], [SUBMITTED]],
    "a legacy key of a former term goes": [[ENTRY], [KEY]],
    "a forgotten broker": [[FORGOTTEN], [_row("IntentDropped", partition=0, leader_epoch=10, broker=2)]],
    "an unclean election": [[UNCLEAN]],
    "a key that cannot be read, and can again": [[BAD], [MENDED]],
    "a foreign key that is written back": [[{**FOREIGN, **values(partition_epoch=11)}]],
    "a foreign topic": [[_row("ForeignChange", topic="x", topic_id="id-x", detail={"what": "topic found"})]],
    "an event without a rule": [[{"event": "Odd", "broker": 4}, {"event": "Unheard", **values(status=-1)}]],
    "throttles are set, replaced while a move runs, and removed after it": [
        [SET],
        [TO_MOVE],
        [{**GONE, "cause": "replaced"}],
        [CANCELLED],
        [GONE],
        [{**GONE, "event": "ThrottleRestored"}],
    ],
    "a conflict": [[{"event": "Conflict", "detail": {"key": "/k", "count": 1}}, {"event": "KeysRewritten"}]],
}

ILLEGAL_ENDS: dict[str, tuple[list[list[dict[str, Any]]], str]] = {
    "a move of a topic that is being deleted": ([[STARTED], [TO_MOVE]], "topic"),
    "an election of a topic that is being deleted": ([[STARTED], [UNCLEAN]], "topic"),
    "a topic is deleted while it moves": ([[TO_MOVE], [DELETED]], "topic"),
    "a member is to delete, of a topic that stays": ([[MEMBER]], "intent"),
    "a topic comes again that was not deleted": ([[AGAIN]], "topic"),
    "an entry of a legacy key that is gone": ([[SUBMITTED], [KEY], [ENTRY]], "legacy key"),
    "a legacy key goes twice": ([[KEY], [KEY]], "legacy key"),
    "a broker bounces without a death": ([[CAME_AGAIN]], "broker"),
    "a broker is forgotten that lives": ([[FORGOTTEN | {"broker": 5}]], "broker"),
    "throttles are removed while a move runs": ([[TO_MOVE], [GONE]], "throttle"),
    "throttles are removed while the legacy key is there": ([[SUBMITTED], [GONE]], "throttle"),
    "an unclean election of a stranger": ([[{**UNCLEAN, "isr": [1], "leader": 1}]], "leader"),
    "a foreign writer moves the leader epoch": ([[{**FOREIGN, **values(leader_epoch=20)}]], "leader epoch"),
    "a foreign writer changes replicas": ([[{**FOREIGN, **values(replicas=[6])}]], "replicas"),
}


@pytest.mark.parametrize("what", LEGAL_ENDS)
def test_rows_of_topics_brokers_and_the_legacy_key_that_may_come(what: str) -> None:
    """What the journal has besides moves is legal where it follows on what was."""
    found = rows()
    for commit in LEGAL_ENDS[what]:
        put(found, *commit)
    assert first_illegal(found) is None


@pytest.mark.parametrize("what", ILLEGAL_ENDS)
def test_rows_of_topics_brokers_and_the_legacy_key_that_may_not_come(what: str) -> None:
    """The last row that was put is the illegal one."""
    found, (commits, rule) = rows(), ILLEGAL_ENDS[what]
    for commit in commits:
        put(found, *commit)
    told = first_illegal(found)
    assert told is not None
    assert told[0] == len(found) - 2
    assert told[1].rule == rule


def test_events_without_a_rule_are_counted() -> None:
    """They are not illegal, and a replay can report that they were not checked."""
    trace, found = Trace(), rows()
    put(found, *LEGAL_ENDS["an event without a rule"][0])
    assert not any(trace.feed(row) for row in found)
    assert trace.unchecked == {"Odd": 1, "Unheard": 1}
    standing = trace.standing("orders", 0)
    assert standing is not None
    assert standing.status == -1


def test_a_takeover_that_lists_a_topic_as_being_deleted_lets_its_members_delete() -> None:
    """The deletion began in a former term: the intents of its replicas come in this one."""
    found = rows()
    found[0]["detail"].update(deleting=["orders"], intents=[])
    del found[1:-1]
    found[-1]["seq"], found[-1]["row"] = 41, 1
    put(found, {"event": "ForeignChange", "cause": "found", **values()}, MEMBER)
    assert first_illegal(found) is None
