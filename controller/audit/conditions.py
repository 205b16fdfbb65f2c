"""Conditions for a row itself, and for two consecutive rows of a partition, by event. Each raises Broken.

The table in `steps` says which of them apply to a row.
"""

from __future__ import annotations

from ..model.values import NO_LEADER
from .standing import PartitionState, broken

# --- the leader


def leads_in_order(now: PartitionState) -> None:
    first = next((b for b in now.members if b in now.isr), NO_LEADER)
    if now.leader not in (NO_LEADER, first):
        broken("leader", f"{first}, the first of R and T that is in the isr, or -1", now.leader)


def leads_from_isr(now: PartitionState) -> None:
    """The leader need not be the first in order: unreachable members are passed over, and rows do not name these."""
    able = [b for b in now.members if b in now.isr]
    if now.leader not in (NO_LEADER, *able):
        broken("leader", f"one of {able}, the members of R and T that are in the isr, or -1", now.leader)


def elected(before: PartitionState, now: PartitionState) -> None:
    gained = set(now.isr) - set(before.isr)
    if gained and (now.isr != (now.leader,) or now.leader not in before.replicas):
        broken("isr", f"some of {list(before.isr)}, or one of R alone by unclean election", now.isr)
    if now.leader == NO_LEADER and now.isr != before.isr:
        broken("isr", before.isr, now.isr)
    if now.leader == NO_LEADER == before.leader:
        broken("leader", "a leader, or that the leader is gone", "none, as before")


def first_leader(now: PartitionState) -> None:
    if now.leader == NO_LEADER or not set(now.isr) <= set(now.replicas):
        broken("leader", f"a leader and an isr of R {list(now.replicas)}", f"leader {now.leader}, isr {list(now.isr)}")
    leads_in_order(now)


def first_epoch(before: PartitionState, now: PartitionState) -> None:
    if before.is_fresh and now.leader_epoch != 0:
        broken("leader epoch", "0 for a new partition", now.leader_epoch)


def is_led(now: PartitionState) -> None:
    if now.leader == NO_LEADER:
        broken("leader", "a leader, which changes the isr", NO_LEADER)


def dead_taken_out(before: PartitionState, now: PartitionState) -> None:
    if not set(now.isr) < set(before.isr):
        broken("isr", f"less than {list(before.isr)}", now.isr)


# --- moves


def accepted(now: PartitionState) -> None:
    if now.target == now.replicas:
        broken("target", f"another list than R {list(now.replicas)}", now.target)
    if now.origin != now.replicas:
        broken("origin", now.replicas, now.origin)


def kafka_accepted(now: PartitionState) -> None:
    """R is the origin of Kafka's move, followed by added replicas that are in sync."""
    origin = now.origin if now.origin is not None else ()
    added = now.replicas[len(origin) :]
    if not origin or now.replicas[: len(origin)] != origin or not set(added) <= set(now.isr):
        broken("origin", f"a prefix of R {list(now.replicas)}, with the rest of R in the isr", now.origin)


def overridden(before: PartitionState, now: PartitionState) -> None:
    if now.target == before.target:
        broken("target", f"another list than {list(now.target or ())}", now.target)


def grown(now: PartitionState) -> None:
    missing = [b for b in now.target or () if b in now.isr and b not in now.replicas]
    if missing:
        broken("growth", f"R with {missing}, which are in T and in the isr", now.replicas)


def grown_from(before: PartitionState, now: PartitionState) -> None:
    joined = tuple(b for b in now.target or () if b in now.isr and b not in before.replicas)
    if not joined or now.replicas != before.replicas + joined:
        expected = "no growth" if not joined else before.replicas + joined
        broken("growth", expected, now.replicas)


def completes(now: PartitionState) -> None:
    target = now.target if now.target is not None else ()
    if not set(target) <= set(now.isr):
        broken("completion", f"an isr with all of T {list(target)}", now.isr)
    if now.replicas != target:
        broken("completion", f"R := T {list(target)}", now.replicas)
    if now.leader not in target:
        broken("leader", f"one of T {list(target)}", now.leader)


def strays_joined(before: PartitionState, now: PartitionState) -> None:
    if not before.strays or now.replicas != before.replicas + before.strays:
        broken("replicas", before.replicas + before.strays, now.replicas)


def cancelled(before: PartitionState, now: PartitionState) -> None:
    kept = tuple(b for b in before.isr if b in before.replicas)
    if now.isr not in (before.isr, kept):
        broken("isr", kept, now.isr)


def goes_on(before: PartitionState, now: PartitionState) -> None:
    """The order is online, read-only, offline, never backwards; an offline partition has no running move."""
    order = (0, -1, 1)
    if order.index(now.status) <= order.index(before.status):
        broken("status", f"a status that can follow {before.status}", now.status)
    if now.status == 1 and now.target is not None:
        broken("status", "no move of an offline partition", now.target)


def shrunk(before: PartitionState, now: PartitionState) -> None:
    kept = tuple(b for b in before.isr if b in now.replicas)
    if now.isr != kept or kept == before.isr:
        broken("isr", kept if kept != before.isr else f"less than {list(kept)}", now.isr)
