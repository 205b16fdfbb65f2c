"""The legacy key while a controller leads: another tool writes a plan, the controller owns it from then on."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import Settings, TopicPartition
from kedge.stores.faults import DropEvent, LoseReply, Rule
from tests.runtime.plans import KEY, Told, plan


@pytest.mark.checklist(34, 35, 115, 117)
def test_a_plan_is_obeyed_its_entries_vanish_as_they_end_and_the_key_goes_with_the_last() -> None:
    """The client that polls the key sees it shrink, and sees it go."""
    told = Told()
    told.submit({("t", 0): [4, 5, 6], ("t", 1): [1, 2, 4]})
    assert (told.target(0), told.target(1)) == ([4, 5, 6], [1, 2, 4])
    assert told.cluster.get(KEY) == plan({("t", 0): [4, 5, 6], ("t", 1): [1, 2, 4]})
    told.finish(0, 1, 2, 3, 4, 5, 6)
    told.cluster.wait(1_100)
    assert told.cluster.get(KEY) == plan({("t", 1): [1, 2, 4]})
    told.finish(1, 1, 2, 3, 4)
    assert told.named() is None
    assert told.cluster.partition("t", 1).replicas == (1, 2, 4)


def test_entries_that_end_within_a_second_go_in_one_rewrite() -> None:
    told = Told(partitions=5)
    told.submit({("t", p): [1, 2, 4] for p in range(5)})
    for p in range(4):
        told.finish(p, 1, 2, 3, 4)
        told.cluster.wait(100)
    assert len(told.named() or ()) == 5
    before = _writes(told)
    told.cluster.wait(1_000)
    assert set(told.named() or ()) == {("t", 4)}
    assert _writes(told) == before + 1


def _writes(told: Told) -> int:
    return sum(call.name == "commit" and KEY in call.keys for call in told.cluster.store.calls)


def test_the_last_entry_takes_the_key_along_in_the_commit_that_completes_it() -> None:
    """State key, topic key, intents and the legacy key: all or nothing."""
    told = Told()
    told.submit({("t", 0): [4, 5, 6]})
    told.finish(0, 1, 2, 3, 4, 5, 6)
    (removing,) = [call for call in told.cluster.store.calls if call.name == "commit" and KEY in call.keys]
    assert {"/brokers/topics/t", "/brokers/topics/t/partitions/0/state"} < set(removing.keys)


@pytest.mark.checklist(116)
@pytest.mark.parametrize("theirs", [plan({("t", 0): [1, 2]}), plan({("t", 1): [5]}), b"{broken", None])
def test_what_others_do_to_the_key_while_moves_run_is_reported_and_overwritten(theirs: Any) -> None:
    """Written, broken or deleted: the moves go on, none is cancelled, none begins."""
    told = Told()
    told.submit({("t", 0): [4, 5, 6]})
    if theirs is None:
        told.cluster.delete(KEY)
    else:
        told.cluster.put(KEY, theirs)
    told.cluster.run()
    assert told.named() == {("t", 0): [4, 5, 6]}
    assert (told.target(0), told.target(1)) == ([4, 5, 6], None)
    (row,) = told.rows("ForeignChange")
    assert row["detail"]["key"] == KEY
    assert "written again" in row["detail"]["what"]
    told.finish(0, 1, 2, 3, 4, 5, 6)
    assert told.named() is None


@pytest.mark.checklist(116)
def test_a_plan_that_replaces_ours_at_the_same_version_is_noticed_as_well() -> None:
    """Versions that count per key restart with a key that was deleted and written again."""
    told = Told(options={"versioning": "per_key"})
    told.submit({("t", 0): [4, 5, 6]})
    told.cluster.delete(KEY)
    told.submit({("t", 1): [4, 5, 6]})
    assert told.named() == {("t", 0): [4, 5, 6]}
    assert told.target(1) is None
    assert len(told.rows("ForeignChange")) == 1


def test_a_foreign_write_that_a_commit_of_ours_meets_is_read_and_overwritten() -> None:
    """No hint came before it: the conflict makes us look, and the batch is decided again."""
    told = Told()
    told.submit({("t", 0): [4, 5, 6], ("t", 1): [4, 5, 6]})
    told.cluster.store.play([Rule(DropEvent(), "event", KEY)])
    told.submit({("t", 1): [1]})
    assert told.cluster.done(told.cluster.move([1, 2, 5])).target_replicas == (1, 2, 5)
    assert told.cluster.store.errors == {"Conflict": 1}
    assert told.named() == {("t", 1): [4, 5, 6]}


@pytest.mark.parametrize("after", ["nothing", "written", "deleted"])
def test_a_rewrite_whose_reply_is_lost_is_found_out_whatever_came_behind_it(after: str) -> None:
    """Applied, and perhaps already changed by another client."""
    told = Told()
    told.submit({("t", 0): [4, 5, 6], ("t", 1): [4, 5, 6]})
    told.cluster.store.play([Rule(LoseReply(), key=KEY, nth=1)])
    future = told.cluster.move([1, 2, 5])
    told.cluster.controller.poll_once()
    if after == "written":
        told.cluster.put(KEY, plan({("t", 0): [6]}))
    elif after == "deleted":
        told.cluster.delete(KEY)
    told.cluster.done(future)
    assert told.named() == {("t", 1): [4, 5, 6]}
    told.finish(1, 1, 2, 3, 4, 5, 6)
    assert told.named() is None


@pytest.mark.parametrize("targets", [{}, {("t", 1): [4, 5, 6]}], ids=["empty", "a move"])
def test_plan_behind_the_lost_reply_of_the_removal_is_a_plan_of_its_own(targets: dict[tuple[str, int], Any]) -> None:
    """Seed 2002579: an empty plan stayed for good, and another one would have been dropped."""
    told = Told()
    told.submit({("t", 0): [4, 5, 6]})
    told.cluster.store.play([Rule(LoseReply(), key=KEY, nth=1)])
    future = told.cluster.isr((1, 2, 3, 4, 5, 6), "t", 0)
    told.cluster.controller.poll_once()
    told.cluster.put(KEY, plan(targets))
    told.cluster.done(future)
    told.cluster.wait(1_100)
    assert told.target(1) == targets.get(("t", 1))
    assert told.named() == (targets or None)


@pytest.mark.checklist(118)
def test_bad_entries_are_dropped_with_their_reason_and_the_others_go_on() -> None:
    """The key lists only the good ones from the commit that takes the plan."""
    told = Told(partitions=7)
    told.cluster.leave(6)
    bad = {
        ("t", 0): [4, 4],
        ("t", 1): [],
        ("t", 2): [-1],
        ("t", 3): [77],
        ("t", 4): [6],
        ("t", 99): [1],
        ("no", 0): [1],
    }
    told.submit({**bad, ("t", 5): [4, 5], ("t", 6): [1, 2, 3]})
    assert told.named() == {("t", 5): [4, 5], ("t", 6): [1, 2, 3]}
    told.cluster.wait(1_100)
    assert told.named() == {("t", 5): [4, 5]}
    dropped = {
        (r["topic"], r["partition"]): r["detail"]["reason"]
        for r in told.rows("LegacyEntryRemoved")
        if r["cause"] == "dropped"
    }
    assert set(dropped) == set(bad)
    assert "the broker 4 more than once" in dropped["t", 0]
    assert "broker 6, but no such broker is registered" in dropped["t", 4]
    assert dropped["no", 0] == "Unable to find a topic named no."
    told.finish(5, 1, 2, 3, 4, 5)
    assert told.named() is None


@pytest.mark.checklist(118)
def test_a_dropped_entry_is_not_obeyed_later() -> None:
    """Its broker comes, its topic is created: it is forgotten."""
    told = Told()
    told.cluster.leave(6)
    told.submit({("t", 0): [4, 5], ("t", 1): [6], ("later", 0): [4]})
    told.cluster.join(6)
    told.cluster.create("later", (1,))
    told.fail_over()
    assert told.target(1) is None
    assert told.named() == {("t", 0): [4, 5]}
    assert told.cluster.partition("later", 0).move is None


BROKEN: list[Any] = [
    b"",
    b"{oops",
    b"[]",
    {"version": 1},
    {"version": 1, "partitions": {}},
    {"version": 1, "partitions": [7]},
    {"version": 1, "partitions": [{"topic": "t", "partition": "0", "replicas": [4]}]},
    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [4.0]}]},
    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [True]}]},
    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": 4}]},
    {"version": 1, "partitions": [], "filler": "x" * 1_000_000},
]


@pytest.mark.parametrize("value", BROKEN, ids=range(len(BROKEN)))
def test_a_key_that_is_no_plan_is_reported_and_removed(value: Any) -> None:
    """In describe() and in the journal; a plan that is written afterwards is obeyed."""
    told = Told(options={"value_bytes_max": 2_000_000})
    told.cluster.put(KEY, value)
    told.cluster.run()
    assert KEY in told.cluster.findings()
    told.cluster.wait(1_100)
    assert told.named() is None
    assert [row["event"] for row in told.rows("BadKey", "LegacyKeyRemoved")] == ["BadKey", "LegacyKeyRemoved"]
    assert told.cluster.findings() == {}  # its writer finds it in the journal and the log
    told.submit({("t", 0): [4]})
    assert told.target(0) == [4]
    assert told.cluster.findings() == {}


def test_unknown_fields_survive_a_rewrite() -> None:
    told = Told()
    value = plan({("t", 0): [4], ("t", 1): [4]}, theirs={"a": [1]}, version=2)
    value["partitions"][1]["log_dirs"] = ["any"]
    told.cluster.put(KEY, value)
    told.cluster.run()
    told.finish(0, 1, 2, 3, 4)
    told.cluster.wait(1_100)
    assert told.cluster.get(KEY) == {**value, "partitions": value["partitions"][1:]}


@pytest.mark.checklist(120)
@pytest.mark.parametrize("request_", ["other", "cancel", "roll back", "the same"])
def test_a_request_that_comes_later_takes_its_partition_out_of_the_key_in_its_own_commit(request_: str) -> None:
    told = Told()
    told.submit({("t", 0): [4, 5, 6], ("t", 1): [4, 5, 6]})
    tp, admin = TopicPartition("t", 0), told.cluster.controller.admin
    if request_ == "roll back":
        future = admin.rollback_partition_reassignments([tp])[tp]
    else:
        future = told.cluster.move({"other": [1, 2, 5], "cancel": None, "the same": [4, 5, 6]}[request_])
    answer = told.cluster.done(future)
    assert told.named() == {("t", 1): [4, 5, 6]}
    told.fail_over()
    assert told.target(0) == (None if answer.target_replicas is None else list(answer.target_replicas))


def test_a_request_is_later_than_an_entry_whose_turn_has_not_come() -> None:
    """A large plan is worked off in many commits: what is asked meanwhile holds."""
    told = Told(partitions=20, settings=Settings(commit_decisions_max=1))
    told.submit({("t", p): [4, 5] for p in range(20)}, run=False)
    while told.named() is None or told.target(0) is None:
        told.cluster.controller.poll_once()
    assert told.target(19) is None
    moved, cancelled = told.cluster.move([6], "t", 19), told.cluster.move(None, "t", 18)
    assert told.cluster.done(moved).target_replicas == (6,)
    assert told.cluster.done(cancelled).target_replicas is None
    assert (told.target(17), told.target(18), told.target(19)) == ([4, 5], None, [6])
    assert set(told.named() or ()) == {("t", p) for p in range(18)}


def test_the_log_says_what_was_dropped_overwritten_or_not_read(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    told.submit({("t", 0): [4], ("t", 9): [1]})
    told.submit({("t", 1): [5]})
    told.finish(0, 1, 2, 3, 4)
    told.cluster.put(KEY, b"{")
    told.cluster.run()
    said = [record.getMessage() for record in caplog.records if "legacy key" in record.getMessage()]
    assert len(said) == 3
    assert "Unable to find partition t:9" in said[0]
    assert "written by another program" in said[1]
    assert "cannot be read" in said[2]
