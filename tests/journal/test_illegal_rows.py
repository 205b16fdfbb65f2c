"""A legal journal with one thing changed in it: the broken rule is reported, at the row that breaks it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from kedge.controller.audit import CHECKED, RULES, Trace
from kedge.controller.runtime.journal import EVENTS
from tests.journal.legal import drop, find, first_illegal, rows, swap
from tests.journal.test_rows_besides_moves import ENDED_BY, ILLEGAL_ENDS
from tests.journal.told import Row

Change = Callable[[list[Row], int], object]


@attrs.frozen
class Case:
    """`what` is done to the nth row of `event`; `rule` is broken at the row `later` rows after it."""

    what: str
    event: str
    nth: int
    change: Change
    rule: str
    later: int = 0


def _said(**values: object) -> Change:
    return lambda found, i: found[i].update(values)


def _unsaid(*names: str) -> Change:
    return lambda found, i: [found[i].pop(name) for name in names]


def _each_after(name: str, by: int) -> Change:
    """From row i on, rows of its partition have another `name`: only the step at i is wrong."""

    def change(found: list[Row], i: int) -> None:
        at = (found[i]["topic"], found[i]["partition"])
        for row in found[i:]:
            if (row.get("topic"), row.get("partition")) == at and name in row:
                row[name] += by

    return change


def _takeover(**values: object) -> Change:
    return lambda found, i: found[i]["detail"].update(values)


TARGET_SET, ISR, GROWN, CHANGED = "TargetSet", "IsrChanged", "ReplicasGrown", "ReplicasChanged"
CLEARED, SHRUNK, ELECTED, INTENDED = "TargetCleared", "IsrShrunk", "LeaderElected", "DeleteIntended"
STATUS, PURGED = "StatusChanged", "PartitionPurged"

CASES = [
    Case("a list is a text", ISR, 0, _said(isr="1,2,3"), "shape"),
    Case("a number is true", ISR, 0, _said(leader_epoch=True), "shape"),
    Case("a broker has no id", INTENDED, 0, _unsaid("broker"), "shape"),
    Case("a topic has no name", ISR, 0, _said(topic=""), "shape"),
    Case("a broker is listed twice as replica", ISR, 0, _said(replicas=[1, 2, 2]), "replicas"),
    Case("the moves of a takeover are no list", "Takeover", 0, _takeover(moves=7), "shape"),
    Case("a running move has no target", "Takeover", 0, lambda f, i: f[i]["detail"]["moves"][0].pop("target"), "move"),
    Case("seq goes back", ISR, 1, _said(seq=12), "numbering"),
    Case("row has a hole", ISR, 1, _said(row=1), "numbering"),
    Case("a row of a commit is gone", "IntentDropped", 1, lambda f, i: f.pop(i), "numbering"),
    Case("a commit has another number of rows", INTENDED, 2, _said(rows=7), "numbering"),
    Case("a commit goes on under another seq", GROWN, 0, _said(seq=44), "numbering"),
    Case("no Takeover", "Takeover", 0, lambda f, i: f.pop(i), "term"),
    Case("a second Takeover", "BrokerLeft", 0, _said(event="Takeover"), "term"),
    Case("another epoch", "BrokerLeft", 0, _said(epoch=8), "term"),
    Case("a row after Resigned", "Resigned", 0, lambda f, i: f.append(f[i] | {"row": f[i]["row"] + 1}), "term", 1),
    Case("a topic has another id", ISR, 1, _said(topic_id="another"), "topic id"),
    Case("an epoch goes back", ISR, 3, _each_after("leader_epoch", -2), "leader epoch"),
    Case("accepted without another epoch", TARGET_SET, 1, _each_after("leader_epoch", -1), "leader epoch"),
    Case("a leader's own change raises the epoch", ISR, 1, _each_after("leader_epoch", 1), "leader epoch"),
    Case("growth raises the epoch", GROWN, 0, _each_after("leader_epoch", 1), "leader epoch"),
    Case("completion does not raise the epoch", CHANGED, 0, _each_after("leader_epoch", -1), "leader epoch"),
    Case("clearing after completion raises the epoch", CLEARED, 0, _each_after("leader_epoch", 1), "leader epoch"),
    Case("an override does not raise the epoch", "TargetReplaced", 0, _each_after("leader_epoch", -1), "leader epoch"),
    Case("a cancel does not raise the epoch", CLEARED, 1, _each_after("leader_epoch", -1), "leader epoch"),
    Case("a cancel raises the epoch by two", CLEARED, 1, _each_after("leader_epoch", 1), "leader epoch"),
    Case("a smaller isr raises the epoch", SHRUNK, 0, _each_after("leader_epoch", 1), "leader epoch"),
    Case("a dead follower leaves without another epoch", ISR, 3, _each_after("leader_epoch", -1), "leader epoch"),
    Case("an election does not raise the epoch", ELECTED, 0, _each_after("leader_epoch", -1), "leader epoch"),
    Case("a new partition begins at 1", ELECTED, 1, _each_after("leader_epoch", 1), "leader epoch"),
    Case("a partition epoch goes back", ISR, 1, _said(partition_epoch=1), "partition epoch"),
    Case("the leader is not in the isr", ISR, 0, _said(leader=5), "leader"),
    Case("a leader's own change moves the leader", ISR, 0, _said(leader=2), "leader"),
    Case("nobody leads and the isr changes", ISR, 1, _said(leader=-1), "leader"),
    Case("a completion leaves the leader outside T", CHANGED, 0, _said(leader=1), "leader"),
    Case("a new partition is led by its second", ELECTED, 1, _said(leader=2), "leader"),
    Case("a cancel moves the leader", CLEARED, 1, _said(leader=5), "leader"),
    Case("the isr is empty", ISR, 3, _said(isr=[]), "isr"),
    Case("the isr has a stranger", ISR, 0, _said(isr=[1, 2, 3, 9]), "isr"),
    Case("the isr has a broker twice", ISR, 0, _said(isr=[1, 2, 3, 4, 4]), "isr"),
    Case("the isr changes with a target", TARGET_SET, 1, _said(isr=[4, 5]), "isr"),
    Case("an election lets in a second one", ELECTED, 0, _said(isr=[5, 6], leader=5), "isr"),
    Case("a dead follower stays", ISR, 3, _said(isr=[4, 5, 6]), "isr"),
    Case("the isr keeps one that left R", SHRUNK, 0, _said(isr=[4, 5, 6, 1]), "isr"),
    Case("the isr loses one of T at the end", SHRUNK, 0, _said(isr=[4, 5]), "isr"),
    Case("R loses a member on the way", ISR, 1, _said(replicas=[1, 3, 4]), "replicas"),
    Case("a cancel takes R back", CLEARED, 1, _said(replicas=[4, 5]), "replicas"),
    Case("an override changes R", "TargetReplaced", 0, _said(replicas=[4, 5, 6, 2]), "replicas"),
    Case("T is touched on the way", ISR, 1, _said(target=[4, 5]), "target"),
    Case("T is gone on the way", ISR, 1, _unsaid("target"), "target"),
    Case("a partition that does not move has T", ISR, 3, _said(target=[4, 5]), "target"),
    Case("T is R", TARGET_SET, 1, _said(target=[4, 5, 6]), "target"),
    Case("T is still there when cleared", CLEARED, 1, _said(target=[4, 5]), "target"),
    Case("the origin is not R", TARGET_SET, 1, _said(origin=[4, 5]), "origin"),
    Case("the origin changes on the way", "TargetReplaced", 0, _said(origin=[4]), "origin"),
    Case("the status changes", ISR, 1, _said(status=1), "status"),
    Case("a move begins twice", "TargetReplaced", 0, _said(event=TARGET_SET), "move"),
    Case("an override without a move", TARGET_SET, 1, _said(event="TargetReplaced"), "move"),
    Case("a move that no takeover listed goes on", "Takeover", 0, _takeover(moves=[]), "target", 33),
    Case("a move that no row began is cleared", TARGET_SET, 1, lambda f, i: f.pop(i), "move"),
    Case("growth by one that is not in sync", GROWN, 0, _said(replicas=[1, 2, 3, 4, 5]), "growth"),
    Case("growth by one that is not of T", GROWN, 0, _said(replicas=[1, 2, 3, 9]), "growth"),
    Case("growth in front", GROWN, 0, _said(replicas=[4, 1, 2, 3]), "growth"),
    Case("growth is left out", GROWN, 0, drop, "growth", -1),
    Case("complete before all of T are in sync", CHANGED, 0, _said(isr=[1, 2, 3, 4, 5]), "completion"),
    Case("complete with another R", CHANGED, 0, _said(replicas=[4, 5]), "completion"),
    Case("T is cleared first", CLEARED, 0, lambda f, i: swap(f, i - 1, i), "completion", -1),
    Case("the isr shrinks first", SHRUNK, 0, lambda f, i: swap(f, i - 1, i), "completion", -1),
    Case("T is not cleared", CLEARED, 0, drop, "completion", 0),
    Case("the isr does not shrink", SHRUNK, 0, drop, "completion", 2),
    Case("a member is to delete", INTENDED, 0, _said(broker=4), "intent"),
    Case("a second intent for a replica", INTENDED, 1, _said(broker=1), "intent"),
    Case("an intent with another epoch", INTENDED, 0, _said(leader_epoch=6), "intent"),
    Case("an intent is void of one who is no member", "IntentDropped", 1, _said(broker=3), "intent"),
    Case("who leaves R gets no intent", INTENDED, 0, drop, "owed intent", 1),
    Case("who leaves T in a cancel gets none", INTENDED, 4, drop, "owed intent", -1),
    Case("who leaves T in an override gets none", INTENDED, 3, drop, "owed intent", -1),
    Case("who comes back keeps its intent", "IntentDropped", 0, drop, "owed intent", -1),
    Case("an older intent makes way for none", "IntentDropped", 1, _said(cause="superseded"), "owed intent", 1),
    Case("acknowledged what is not open", "ReplicaDeleted", 0, _said(broker=2), "open intent"),
    Case("acknowledged under another epoch", "ReplicaDeleted", 1, _said(leader_epoch=6), "open intent"),
    Case("a takeover did not list an intent", "Takeover", 0, _takeover(intents=[]), "open intent", 2),
    Case("a topic is created that exists", "TopicCreated", 0, _said(topic="orders"), "topic"),
    Case("partitions with a hole", "PartitionsAdded", 0, _said(detail={"first": 3, "assignments": [[1]]}), "topic"),
    Case("a status without another epoch", STATUS, 0, _each_after("leader_epoch", -1), "leader epoch"),
    Case("a status goes back", STATUS, 1, _said(status=-1), "status"),
    Case("a status that there is not", STATUS, 0, _said(status=2), "shape"),
    Case("a status changes the leader", STATUS, 0, _said(leader=3), "leader"),
    Case("online is purged", PURGED, 0, _said(topic="orders", topic_id="id-of-orders", partition=0), "purge"),
    Case("another than the last is purged", PURGED, 0, _said(partition=0), "purge"),
    Case("purged before all have deleted it", "ReplicaDeleted", 2, lambda f, i: f.pop(i), "purge", 2),
    Case("a broker leaves twice", "BrokerRegistered", 0, _said(event="BrokerLeft"), "broker"),
    Case("who left enters the isr", "BrokerLeft", 0, _said(broker=3), "broker", 10),
    Case("who left leads", "BrokerLeft", 1, _said(broker=6), "broker", 1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_row_that_breaks_a_rule_is_reported_with_its_place(case: Case) -> None:
    """The first illegal row is the one that was changed (or that shows what is missing), and the rule is named."""
    found = rows()
    at = find(found, case.event, case.nth)
    case.change(found, at)
    told = first_illegal(found)
    assert told is not None
    assert (told[0] - at, told[1].rule) == (case.later, case.rule), str(told[1])


def test_the_journal_that_the_cases_change_is_legal_and_has_every_row_of_a_decision() -> None:
    """Otherwise a case could be illegal for a reason of its own."""
    found = rows()
    assert first_illegal(found) is None
    missing = EVENTS - {row["event"] for row in found}
    assert missing <= {"ForeignChange", "BadKey", "ConfigChanged", "Conflict", "Gap", "LeaderEpochRaised"} | {
        *ENDED_BY
    }, missing


def test_every_rule_has_a_case_that_breaks_it() -> None:
    """A rule that nothing breaks would be kept by anything. The chain is looked at by who reads lines."""
    broken = {case.rule for case in CASES} | {rule for _, rule in ILLEGAL_ENDS.values()}
    assert broken >= set(RULES) - {"chain"}


def test_every_event_that_a_line_can_have_is_checked_or_said_not_to_be() -> None:
    """A new event gets its rule, or a place among those without one."""
    assert EVENTS <= CHECKED


def test_an_illegal_row_is_taken_in_so_that_an_audit_can_go_on() -> None:
    """One wrong row is one violation where the rows after it follow on it."""
    found = rows()
    _each_after("leader_epoch", 1)(found, find(found, ELECTED))
    trace = Trace()
    assert [illegal.rule for row in found if (illegal := trace.feed(row)) is not None] == ["leader epoch"]


@pytest.mark.parametrize("by", [-1, 1])
def test_wrong_number_of_rows_is_one_violation_in_every_commit(by: int) -> None:
    """The rows after it are numbered as ever."""
    whole = rows()
    for at in (i for i, row in enumerate(whole) if "rows" in row and row["rows"] + by > 0):
        trace = Trace()
        changed = [row | {"rows": row["rows"] + by} if i == at else row for i, row in enumerate(whole)]
        told = [(i, illegal.rule) for i, row in enumerate(changed) if (illegal := trace.feed(row)) is not None]
        assert told == [(at, "numbering")]


# --- rows that no controller writes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 50) | st.sampled_from(["", "orders", "completed", "TargetSet", "Gap"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["first", "moves", "x"]), inner),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_stands_in_a_row_is_answered_and_never_raises(data: st.DataObject) -> None:
    """An edited file gives illegal rows, not a traceback; and the rows after it are taken in."""
    found, trace = rows(), Trace()
    for _ in range(data.draw(st.integers(1, 4))):
        row = found[data.draw(st.integers(0, len(found) - 1))]
        name = data.draw(st.sampled_from(sorted({*row, "replicas", "isr", "target", "partition", "topic", "detail"})))
        row[name] = data.draw(JSON)
    for row in found:
        illegal = trace.feed(row)
        assert illegal is None or illegal.rule in RULES
