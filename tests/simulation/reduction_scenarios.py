"""Reductions that something may befall at every commit: what is asked for, and what must stand in the end.

The rigs of `world` stand on memory, or on what they are given: crashes on real stores go through the same scenarios.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from kedge.controller.codec import keys
from kedge.controller.model.reductions import READ_ONLY
from kedge.controller.model.requests import DeletePartitions
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from tests.simulation.clusters import AFTER, BEFORE, SIX, settle
from tests.simulation.enumeration import SESSION_MS, Scenario, Story, until_so

KEY: Final = keys.delete_partitions("orders")
LAST: Final = TopicPartition("orders", 2)
RETENTION_MS: Final = 3_000
SHORT_RETENTION_MS: Final = 800  # longer than a takeover


def orders(settings: Settings, records: int = 50, retention_ms: int = RETENTION_MS, **options: Any) -> Rig:
    """`orders` with three partitions, each on 1, 2, 3, kept for three seconds."""
    rig = Rig(**{**SIX, **options}, settings=settings)
    made(rig, records, retention_ms)
    return rig


def made(rig: Rig, records: int = 50, retention_ms: int = RETENTION_MS) -> None:
    configs = {"retention.ms": str(retention_ms)}
    rig.create_topic("orders", replicas=[list(BEFORE)] * 3, records=records, configs=configs)


def world(settings: Settings, **options: Any) -> Rig:
    """`options`: of the rig."""
    soon = attrs.evolve(settings, delete_topic_partition_interval_delay_ms=100)
    given = {"records": 0, "retention_ms": SHORT_RETENTION_MS, "session_timeout_s": SESSION_MS / 1000}
    rig = orders(soon, **{**given, **options})
    rig.fill([TopicPartition("orders", p) for p in range(3)], 20)
    return rig


def status(rig: Rig, tp: TopicPartition = LAST) -> int | None:
    """The status as it is committed, None where the partition is gone."""
    found = rig.committed.partitions.get(tp)
    return None if found is None else found.status_code


def count(rig: Rig) -> int:
    return len(rig.committed.topics["orders"].assignments)


# --- what is asked for


def delayed(rig: Rig) -> None:
    _ask(rig, 1, immediate=False)
    rig.until(lambda: status(rig) != READ_ONLY and status(rig) != 0, what="its time is over")


def immediate(rig: Rig) -> None:
    _ask(rig, 1, immediate=True)


def immediate_with_one_broker_down(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    _ask(rig, 1, immediate=True)
    rig.run(300)
    rig.mishaps.restart_broker(3)


def delayed_during_a_move(rig: Rig) -> None:
    """Read-only, on the move, then offline by its time: what moves already is not reduced."""
    _ask(rig, 2, immediate=False)
    rig.until(lambda: status(rig) != 0, what="it is read-only")
    rig.mishaps.pause_broker(6)
    rig.admin.alter_partition_reassignments({LAST: AFTER})
    rig.run(100)
    rig.until(lambda: status(rig) != READ_ONLY, what="its time is over")
    rig.mishaps.resume_broker(6)


def deletion_during_a_reduction(rig: Rig) -> None:
    rig.mishaps.kill_broker(3)
    _ask(rig, 1, immediate=True)
    rig.run(100)

    def ask() -> object:
        return rig.admin.delete_topics(["orders"])

    until_so(rig, lambda: "orders" not in rig.committed.topics or "orders" in rig.committed.deleting, ask)
    rig.mishaps.restart_broker(3)


def _ask(rig: Rig, total: int, *, immediate: bool) -> None:
    """Ask until it is written down: the active controller may die before the answer."""

    def is_so() -> bool:
        return "orders" in rig.committed.reducing or count(rig) == total

    def ask() -> object:
        return rig.admin.delete_partitions({"orders": DeletePartitions(total, immediate)})

    until_so(rig, is_so, ask)


# --- what must stand


def ends(total: int) -> Scenario:
    """The topic has `total` partitions (0: there is no topic), all online; no key, no intent (`check_end`)."""

    def check(rig: Rig) -> None:
        rig.mishaps.heal()
        rig.until(lambda: KEY not in rig.server.table.rows, what="the reduction has ended")
        rig.until(lambda: not rig.committed.deleting, what="the deletion has ended")
        settle(rig)
        assert (count(rig) if "orders" in rig.committed.topics else 0) == total
        if total:
            assert {tp.partition for tp in rig.network.purged} >= set(range(total, 3))
        assert not any(p.status_code for p in rig.committed.partitions.values())

    return check


STORIES: Final = {
    scenario.__name__: Story(world, scenario, ends(total))
    for scenario, total in (
        (delayed, 1),
        (immediate, 1),
        (immediate_with_one_broker_down, 1),
        (delayed_during_a_move, 2),
        (deletion_during_a_reduction, 0),
    )
}
