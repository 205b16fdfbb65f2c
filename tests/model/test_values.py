"""Values are checked when they are made, and never change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from kedge.controller.model import errors, host, requests, values
from kedge.controller.model.errors import ApiError, ErrorCode, NotController
from kedge.controller.model.requests import (
    AlterReassignmentsOptions,
    NewPartitionReassignment,
    NewPartitions,
    NewTopic,
    as_replicas,
)
from kedge.controller.model.values import BrokerRegistration, Move, Partition, Topic, TopicPartition
from kedge.stores import base

UNTYPED: Any = "what a caller without a type checker may hand in"
NONE: Any = None
SEVEN: Any = 7
NUMBER_FOR_TEXT: Any = {"a": 1}


def test_no_value_that_users_see_can_be_changed() -> None:
    """Events and records, which stay inside, are plain: refusing writes costs time in each move."""
    kinds = {
        kind
        for module in (values, requests, host, base)
        for kind in vars(module).values()
        if isinstance(kind, type) and attrs.has(kind)
    }
    assert len(kinds) > 40
    assert [kind.__name__ for kind in kinds if kind.__setattr__ is object.__setattr__] == []


@pytest.mark.parametrize("topic,partition", [(b"t", 0), (None, 0), ("t", "0"), ("t", True), ("t", 1.0)])
def test_a_partition_is_named_by_a_text_and_a_number(topic: Any, partition: Any) -> None:
    """TypeError for anything else; whether there is such a partition is the controller's word."""
    with pytest.raises(TypeError, match="TopicPartition takes a str and an int"):
        TopicPartition(topic, partition)


def test_partitions_are_ordered_and_printed_as_by_kafka() -> None:
    """By topic, then by number; `topic-number`."""
    named = [TopicPartition("b", 1), TopicPartition("a", 10), TopicPartition("a", 2)]
    assert [str(tp) for tp in sorted(named)] == ["a-2", "a-10", "b-1"]


@pytest.mark.parametrize(
    "make,error",
    [
        (lambda: BrokerRegistration(True), TypeError),
        (lambda: BrokerRegistration(1, host=NONE), TypeError),
        (lambda: BrokerRegistration(1, port=UNTYPED), TypeError),
        (lambda: BrokerRegistration(1, rack=SEVEN), TypeError),
        (lambda: BrokerRegistration(-2), ValueError),
        (lambda: BrokerRegistration(2**31), ValueError),
        (lambda: BrokerRegistration(1, port=65536), ValueError),
        (lambda: BrokerRegistration(1, port=-2), ValueError),
    ],
)
def test_a_registration_that_is_none_is_not_made(make: Callable[[], object], error: type[Exception]) -> None:
    """Ids within 0..2^31-1 or -1 for a new one, ports within -1..65535, everything of its type."""
    with pytest.raises(error):
        make()


def test_members_are_r_and_then_what_only_t_adds() -> None:
    """The order in which a leader is looked for."""
    still = Partition("t", 0, (3, 1), (3,), 3, 0)
    moving = still.but(move=Move((1, 5, 4), (3, 1), 0))
    assert (still.members, still.target_replicas) == ((3, 1), None)
    assert (moving.members, moving.target_replicas) == ((3, 1, 5, 4), (1, 5, 4))


def test_but_changes_what_is_named_and_keeps_the_rest() -> None:
    """Every field can be given; None ends a move, and zero is a value."""
    full = Partition("t", 1, (1, 2), (1,), 1, 5, Move((3,), (1, 2), 0), -1, 1, {"x": 1})
    assert full.but() == full
    assert full.but(move=None, extra=None) == attrs.evolve(full, move=None, extra=None)
    changes: dict[str, Any] = {"replicas": (4,), "isr": (), "leader": 0, "leader_epoch": 0, "leader_recovery_state": 0}
    assert full.but(**changes) == attrs.evolve(full, **changes)


def test_a_recreated_partition_begins_above_its_retired_epoch() -> None:
    """0 for one that never was, one above the last otherwise."""
    assert [Topic("t", "id", {3: 7}).created_epoch(p) for p in (0, 3)] == [0, 8]


@pytest.mark.parametrize("value", [None, 5, "12", b"12", {1, 2}, {"1": 2}, [1, "2"], [True], [1.0], [None]])
def test_what_is_no_sequence_of_ints_is_no_list_of_replicas(value: Any) -> None:
    """TypeError says which argument and what was got."""
    for make in (lambda: as_replicas(value, "target_replicas"), lambda: NewPartitionReassignment(value)):
        with pytest.raises(TypeError, match="target_replicas"):
            make()


def test_requests_take_lists_and_mappings_and_keep_tuples() -> None:
    """What a caller changes afterwards is not what was asked for."""
    lists = [[1, 2], [2, 3]]
    topic = NewTopic(replica_assignments=lists)
    lists.clear()
    assert topic.replica_assignments == ((1, 2), (2, 3))
    assert NewTopic(replica_assignments={1: [2], 0: [1]}).replica_assignments == ((1,), (2,))
    assert (NewPartitions(3).new_assignments, NewPartitions(3, [[1]]).new_assignments) == (None, ((1,),))
    assert NewPartitionReassignment([3, 1]).target_replicas == (3, 1)


@pytest.mark.parametrize(
    "make,error",
    [
        (lambda: NewTopic(num_partitions=UNTYPED), TypeError),
        (lambda: NewTopic(replication_factor=True), TypeError),
        (lambda: NewTopic(replica_assignments=UNTYPED), TypeError),
        (lambda: NewTopic(replica_assignments=SEVEN), TypeError),
        (lambda: NewTopic(replica_assignments={1: [1]}), ValueError),
        (lambda: NewTopic(replica_assignments=[["1"]]), TypeError),
        (lambda: NewTopic(configs=NUMBER_FOR_TEXT), TypeError),
        (lambda: NewTopic(configs=UNTYPED), TypeError),
        (lambda: NewPartitions(UNTYPED), TypeError),
        (lambda: AlterReassignmentsOptions(timeout_s=-1), ValueError),
        (lambda: AlterReassignmentsOptions(timeout_s=UNTYPED), TypeError),
        (lambda: AlterReassignmentsOptions(move_timeout_s=0), ValueError),
        (lambda: AlterReassignmentsOptions(move_timeout_s=2**53 // 1000 + 1), ValueError),
        (lambda: AlterReassignmentsOptions(move_timeout_s=UNTYPED), TypeError),
    ],
)
def test_a_request_of_another_kind_is_not_made(make: Callable[[], object], error: type[Exception]) -> None:
    """TypeError where a field is not of its type, ValueError where its value can mean nothing."""
    with pytest.raises(error):
        make()


def test_options_have_kafkas_defaults() -> None:
    """A minute until the commit, no deadline of the move, changes of the replication factor allowed."""
    options = AlterReassignmentsOptions()
    assert (options.timeout_s, options.move_timeout_s) == (60, None)
    assert (options.allow_replication_factor_change, options.force) == (True, False)
    assert AlterReassignmentsOptions(timeout_s=0, move_timeout_s=2**53 / 1000).timeout_s == 0


def test_every_error_has_a_number_of_its_own() -> None:
    """One class per code; the message says what, and NOT_CONTROLLER who is."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ApiError)]
    codes = [kind.code for kind in kinds if kind is not ApiError]
    assert len(codes) == len(set(codes))
    assert ErrorCode.NONE not in codes
    for kind in kinds:
        made = kind("why")
        assert (made.message, str(made)) == ("why", "why")
        assert repr(made) == f"{kind.__name__}({kind.code.value}: why)"
    assert (NotController("no", 7).active_id, NotController("no").active_id) == (7, None)
