"""The invariants of the design that can be seen in the state and in the records of one Decision.

`check_records` holds each record against the row as it stands when the record is applied; `check_state` holds the
state as it stands between Decisions. Both raise AssertionError with the record or row.
"""

from __future__ import annotations

from collections.abc import Iterable

from kedge.controller import records as r
from kedge.controller.model.records import Record
from kedge.controller.model.values import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, NO_EPOCH, NO_LEADER, Partition
from kedge.controller.state import ClusterState
from tests.state.snapshot import members_by_hand

SETS_A_TARGET = ("TargetSet", "TargetReplaced", "TargetCleared", "ForeignChange")


def steps_of(records: Iterable[object]) -> list[r.Step]:
    """The steps of all partitions that the records change."""
    return [step for record in records if isinstance(record, r.PartitionChanged) for step in record.steps()]


def check_records(state: ClusterState, records: Iterable[Record]) -> None:
    """Before `records` are applied to `state`: each begins where the one before it ended, and breaks no promise."""
    rows: dict[tuple[str, int], Partition] = {}
    for record in records:
        if not isinstance(record, r.PartitionChanged):
            continue
        name = (record.after.topic, record.after.partition)
        held = rows.get(name, state.partition(*name))
        assert held == record.before, f"{record} does not begin with {held}"
        rows[name] = record.after
        for step in record.steps():
            _check_epoch(step)
            _check_replicas(step)
            if step.event not in SETS_A_TARGET:
                assert step.before.target_replicas == step.after.target_replicas, f"T was touched: {step}"


def _check_epoch(step: r.Step) -> None:
    before, after = step.before, step.after
    assert after.leader_epoch >= before.leader_epoch, f"the leader epoch went back: {step}"
    if before.leader != after.leader and step.event != "ForeignChange":
        assert after.leader_epoch > before.leader_epoch, f"another leader under the same epoch: {step}"


def _check_replicas(step: r.Step) -> None:
    before, after = step.before, step.after
    lost = set(before.replicas) - set(after.replicas)
    if not lost or step.event in {"TargetSet", "ForeignChange"}:  # Kafka's own move: R was listed with its T
        return
    assert step.event == "ReplicasChanged", f"R lost {lost}: {step}"
    assert before.move is not None, f"R lost {lost} without a move: {step}"
    assert set(before.move.target) <= set(before.isr), f"R lost {lost} before T was in sync: {step}"


def check_state(state: ClusterState) -> None:
    """Between two Decisions: every row is legal, indexes agree with the rows, no member is ordered to delete."""
    for row in state.partitions():
        _check_row(row, is_deleting=state.is_deleting(row.topic))
        for broker in row.members if not row.is_offline and not state.is_deleting(row.topic) else ():
            topic = state.topic(row.topic)
            assert topic is not None
            intent = state.open_intent(broker, topic.topic_id, row.partition)
            assert intent is None, f"{broker} is a member and told to delete: {intent}"
    for name in state.deletions:
        if state.topic(name) is not None:
            _check_deletion(state, name)
    moving = {number: row for number, row in enumerate(state.rows) if row is not None and row.move is not None}
    assert {number: state.rows[number] for number in state.moves} == moving
    assert state.listing == {row.tp: row for row in moving.values()}
    by_hand = members_by_hand(state)
    for broker in {*by_hand, *state.brokers_named()}:
        numbers = state.numbers_on(broker)
        assert sorted(numbers) == sorted(by_hand.get(broker, set()))


def _check_deletion(state: ClusterState, name: str) -> None:
    rows = list(state.partitions_of(name))
    assert state.left_to_stop(name) == sum(not row.is_stopped for row in rows)
    assert state.deletions[name].keys_left == sum(bool(state.key_version(name, row.partition).version) for row in rows)


def _check_row(row: Partition, *, is_deleting: bool) -> None:
    assert len(set(row.replicas)) == len(row.replicas), row
    if row.leader == LEADER_DURING_DELETE:
        assert is_deleting, f"stopped, and its topic stays: {row}"
        assert row.leader_epoch >= EPOCH_DURING_DELETE, row
        assert row.move is None, row
        return
    assert row.replicas, row
    if not row.isr:
        assert (row.leader, row.leader_epoch, row.move) == (NO_LEADER, NO_EPOCH, None), row
        return
    assert row.leader_epoch >= 0, row
    assert len(set(row.isr)) == len(row.isr), row
    assert row.leader == NO_LEADER or row.leader in row.isr, f"the leader is not in I: {row}"
    assert set(row.isr) <= set(row.members), f"I is not within R and T: {row}"
    if row.move is not None:
        assert {b for b in row.move.target if b in row.isr} <= set(row.replicas), f"R did not grow: {row}"
