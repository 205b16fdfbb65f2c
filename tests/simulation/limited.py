"""Clusters under limits on copying: what the scenarios set, and how flows are held against it."""

from __future__ import annotations

from typing import Any

from kedge.controller.rig import Flow, Rig
from tests.simulation.clusters import BEFORE, ORDERS, orders

LEADER = "leader.reassignment.throttled.rate"
FOLLOWER = "follower.reassignment.throttled.rate"
OLD_LEADER, OLD_FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATE = 50_000
MORE_THAN_COPIED = 10_000  # records: no move ends meanwhile


def set_all(rig: Rig, broker: int | str, **settings: int | str) -> None:
    """All that a broker has set."""
    rig.network.config_changed("brokers", str(broker), {name: str(value) for name, value in settings.items()})


def limit(rig: Rig, setting: str, rate: int | str, *brokers: int) -> None:
    """One more setting of some brokers, or of all."""
    for broker in brokers or rig.brokers:
        set_all(rig, broker, **{**rig.network.settings.get(("brokers", str(broker)), {}), setting: rate})


def name_replicas(rig: Rig, topic: str, leaders: str = "", followers: str = "") -> None:
    rig.network.config_changed("topics", topic, {LEADERS: leaders, FOLLOWERS: followers})


def is_held_to(flow: Flow, rate: float, *, after_ms: int = 0) -> None:
    """Every window of 11 s is within 5 % of the rate."""
    rates = flow.rates(after_ms=after_ms)
    assert len(rates) > 100
    assert 0.95 * rate <= min(rates) <= max(rates) <= 1.05 * rate


def big(**options: Any) -> Rig:
    return orders(records=MORE_THAN_COPIED, **options)


def moving(rig: Rig, *target: int) -> None:
    """`orders-0` moves, and a target has begun to copy."""
    rig.reassign({ORDERS: target})
    rig.until(lambda: any(rig.brokers[b].log(ORDERS) for b in target if b not in BEFORE), what="copying has begun")


def written(rig: Rig, records_per_s: int) -> None:
    """A producer writes for 5 s, and stops."""
    writer = rig.write([ORDERS], records_per_s)
    rig.run(5_000)
    writer.stop()
    rig.run(100)
