"""Reductions that are requested again, with keys that cannot be read, or partitions without an entry (KIP-694)."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller import records as r
from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.errors import InvalidPartitions
from kedge.controller.model.events import Decision
from kedge.controller.model.records import KeyAt
from kedge.controller.model.reductions import OFFLINE, READ_ONLY, Retirement
from kedge.controller.model.values import ALL_BROKERS, BROKERS_WITHOUT_INTENT, Move, Partition
from kedge.controller.rules.reduction.configs import INTERVAL, interval_ms
from kedge.controller.rules.reduction.keys import reduction_key_read, refusal
from kedge.controller.rules.reduction.partitions import retirement_due, retirement_over
from kedge.controller.rules.reduction.purge import purge_due
from kedge.controller.rules.reduction.requests import delete_partitions
from tests.rules.world import World

LATER, NOW = Retirement(500, immediate=False), Retirement(500, immediate=True)
DUE = e.PartitionDue(1000, "t", 2, e.Reason.RETIRE)
PURGE = e.PurgeDue(1000, "t")
MANY = 16_000  # entries of 61 bytes, with a time of 19 digits
FAR_MS = 10**18


def reduced(entries: dict[int, Retirement], count: int = 3, **last: Any) -> World:
    """Topic t with `count` partitions on 1 and 2, the last one as said, and these entries in the reduction's key."""
    world = World(is_checked=count < MANY)
    for broker in (1, 2, 3):
        world.plant_broker(broker)
    for number in range(count):
        world.plant(Partition("t", number, (1, 2), (1, 2), 1, 3, **(last if number == count - 1 else {})))
    if entries:
        world.state.load_reduction("t", entries, None)
    return world


def asked(immediate: bool = False) -> e.DeletePartitions:
    return e.DeletePartitions(1000, "t", 2, None, immediate)


def read(version: int, *partitions: int) -> e.ReductionKeyRead:
    return e.ReductionKeyRead(1000, "t", KeyAt(keys.delete_partitions("t"), version), dict.fromkeys(partitions, LATER))


def test_a_request_for_what_is_under_way_is_answered_also_while_the_partition_moves() -> None:
    """It takes nothing away that was not requested before."""
    world = reduced({2: LATER}, move=Move((2, 3), (1, 2), 400), status_code=READ_ONLY)
    assert delete_partitions(world.state, asked()) == Decision(reply={2: READ_ONLY})
    assert "are being reassigned" in str(delete_partitions(world.state, asked(immediate=True)).reply)


def test_a_partition_that_went_offline_after_its_retention_is_answered_as_offline() -> None:
    world = reduced({2: LATER}, status_code=OFFLINE)
    assert delete_partitions(world.state, asked()).reply == {2: OFFLINE}


@pytest.mark.slow
def test_more_entries_than_a_key_holds_are_refused_with_their_number() -> None:
    world = reduced({}, MANY)
    reply = delete_partitions(world.state, e.DeletePartitions(FAR_MS, "t", 1, None, immediate=True)).reply
    assert isinstance(reply, InvalidPartitions)
    assert reply.message.startswith(f"topic t: {MANY - 1} partitions may take ")
    assert "which holds at most 950000; remove fewer at once" in reply.message
    entries = dict.fromkeys(range(1, MANY), Retirement(FAR_MS, immediate=True))
    assert (
        refusal(world.state, e.ReductionKeyRead(1000, "t", KeyAt(keys.delete_partitions("t"), 7), entries))
        == reply.message
    )


def test_a_key_of_a_topic_that_cannot_be_read_waits() -> None:
    world = reduced({})
    world.state.load_problem("t", None, "no JSON")
    assert reduction_key_read(world.state, read(7, 2)) == Decision()
    del world.state.problems["t", None]
    assert reduction_key_read(world.state, read(7, 2)).expand == (e.ReductionDue(1000, "t", is_found=True),)


def test_a_key_that_is_gone_once_all_is_done_is_no_request() -> None:
    world = reduced({})
    assert reduction_key_read(world.state, read(0)) == Decision()


def test_a_partition_whose_entry_was_removed_meanwhile_stays_as_it_is() -> None:
    world = reduced({1: NOW}, status_code=READ_ONLY)
    assert retirement_due(world.state, DUE) == Decision()
    assert retirement_over(world.state, e.RetirementOver(1000, "t", 2, 3)) == Decision()


def test_only_the_last_partitions_are_purged() -> None:
    """The last one has no entry, though its log is deleted everywhere."""
    world = reduced({1: NOW}, status_code=OFFLINE, extra={BROKERS_WITHOUT_INTENT: []})
    assert purge_due(world.state, PURGE) == Decision()
    world.state.load_reduction("t", {1: NOW, 2: NOW}, None)
    assert [type(record) for record in purge_due(world.state, PURGE).records] == [r.TopicChanged, r.PartitionPurged]


@pytest.mark.parametrize(
    "status, extra, expand",
    [
        (0, None, ()),  # it goes offline now, and all of its brokers have an order
        (OFFLINE, {BROKERS_WITHOUT_INTENT: [2]}, (PURGE,)),
        (OFFLINE, {BROKERS_WITHOUT_INTENT: []}, (PURGE,)),
    ],
)
def test_a_partition_may_be_purged_once_all_its_brokers_have_an_order(
    status: int, extra: dict[str, Any] | None, expand: tuple[e.Event, ...]
) -> None:
    decision = retirement_due(reduced({2: NOW}, status_code=status, extra=extra).state, DUE)
    assert decision.expand == expand


def test_read_only_partitions_may_be_checked_every_millisecond() -> None:
    world = reduced({})
    default = world.state.settings.delete_topic_partition_interval_delay_ms
    said_and_found = (("1", 1), ("0", default), ("-1", default), ("one", default))
    for version, (said, expected) in enumerate(said_and_found, 7):
        world.run(e.BrokerConfigRead(1000, ALL_BROKERS, {INTERVAL: said}, KeyAt(keys.BROKER_DEFAULTS, version)))
        assert interval_ms(world.state) == expected
