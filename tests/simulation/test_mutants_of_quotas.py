"""Quotas and brokers that are broken on purpose: each one must be caught by what is measured, or the measuring proves
nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.quota import Bound, ReplicationQuota, ReplicationQuotas, Rotation
from kedge.controller.rig import NotInTime, Rig
from kedge.controller.runtime import requests
from kedge.controller.simulated.broker import Broker
from kedge.controller.simulated.fetching import Meeting
from kedge.controller.simulated.network import Network
from kedge.controller.simulated.throttling import _Step
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, orders

Patch = pytest.MonkeyPatch
RATES = tuple(f"{side}.{family}.throttled.rate" for side in ("leader", "follower") for family in ("reassignment",))


def _limited(rig: Rig, rate: int, *settings: str) -> None:
    for broker in rig.brokers:
        rig.network.config_changed("brokers", str(broker), dict.fromkeys(settings or RATES, str(rate)))


# --- scenarios


def _moves_at(rig: Rig, broker: int, side: Any, rate: int) -> None:
    rig.produce(ORDERS, 20_000)
    rig.reassign({ORDERS: AFTER})
    rig.run(500)
    rig.wait.until_rate(rig.watch_flow(broker, side, None), rate, timeout_s=15)


def _leader_limited(rig: Rig) -> None:
    _limited(rig, 50_000, "leader.reassignment.throttled.rate")
    _moves_at(rig, 1, "leader", 50_000)


def _follower_limited(rig: Rig) -> None:
    _limited(rig, 50_000, "follower.reassignment.throttled.rate")
    _moves_at(rig, 5, "follower", 50_000)


def _raised(rig: Rig) -> None:
    _limited(rig, 10_000, "leader.reassignment.throttled.rate")
    _moves_at(rig, 1, "leader", 10_000)
    _limited(rig, 60_000, "leader.reassignment.throttled.rate")
    rig.wait.until_rate(rig.watch_flow(1, "leader"), 60_000, timeout_s=11.5)


def _written_to(rig: Rig) -> None:
    _limited(rig, 1_000)
    rig.reassign({ORDERS: [1, 2, 4]})
    writer = rig.write([ORDERS], records_per_s=100)
    rig.run(3_000)
    writer.stop()
    rig.until(
        lambda: rig.producers.waiting == 0 and rig.partition(ORDERS).isr == BEFORE,
        timeout_s=0.5,
        what="all is acknowledged by all that were in sync",
    )


def _one_fell_out(rig: Rig) -> None:
    _limited(rig, 1_000)
    rig.reassign({ORDERS: [1, 2, 4]})
    rig.mishaps.kill_broker(3)
    rig.until(lambda: 3 not in rig.partition(ORDERS).isr, what="3 fell out")
    rig.produce(ORDERS, 500)
    rig.mishaps.restart_broker(3)
    rig.until(lambda: 3 in rig.partition(ORDERS).isr, timeout_s=2, what="3 is in sync")


def _led_by_another(rig: Rig) -> None:
    _limited(rig, 50_000, "leader.reassignment.throttled.rate")
    rig.produce(ORDERS, 20_000)
    rig.run(100)
    rig.reassign({ORDERS: AFTER})
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="2 leads")
    rig.run(500)
    rig.wait.until_rate(rig.watch_flow(2, "leader", None), 50_000, timeout_s=15)


def _restarted(rig: Rig) -> None:
    _limited(rig, 50_000, "follower.reassignment.throttled.rate")
    rig.produce(ORDERS, 20_000)
    rig.reassign({ORDERS: [1, 5]})
    rig.mishaps.bounce_broker(5)
    rig.run(500)
    rig.wait.until_rate(rig.watch_flow(5, "follower", None), 50_000, timeout_s=15)


def _many(rig: Rig) -> None:
    _limited(rig, 20_000, "leader.reassignment.throttled.rate")
    tps = rig.create_topic("many", replicas=[[1]] * 10, records=1_000)
    rig.reassign({tp: [1, 4] for tp in tps})

    def all_progress() -> bool:
        return all((log := rig.brokers[4].log(tp)) is not None and log.size_bytes for tp in tps)

    rig.until(all_progress, timeout_s=5, what="all progress")


def _two_limits(rig: Rig) -> None:
    for broker, setting in ((1, "leader.reassignment.throttled.rate"), (3, "follower.reassignment.throttled.rate")):
        rig.network.config_changed("brokers", str(broker), {setting: "20000"})
    tps = rig.create_topic("both", replicas=[[1], [1], [2]])
    for tp in tps:
        rig.produce(tp, 500, record_bytes=10_000)
    through_both, of_1, into_3 = tps
    rig.reassign({of_1: [1, 4]})
    rig.run(700)
    rig.reassign({into_3: [2, 3]})
    rig.run(200)
    rig.reassign({through_both: [1, 3]})

    def progresses(tp: TopicPartition) -> bool:
        log = rig.brokers[3].log(tp)
        return log is not None and log.end_offset >= 8

    rig.until(lambda: progresses(through_both), timeout_s=12, what="what needs both limits progresses")


# --- mutants


def leader_ignores_its_limit(patch: Patch) -> None:
    """A leader sends as fast as it is asked."""
    patch.setattr(ReplicationQuotas, "leader_side", lambda *_, **__: Bound())
    right = ReplicationQuotas.bound
    patch.setattr(ReplicationQuotas, "bound", lambda q, side, f: Bound() if side == "leader" else right(q, side, f))


def follower_ignores_its_limit(patch: Patch) -> None:
    """A follower asks for everything at once."""
    right = ReplicationQuotas.bound
    patch.setattr(ReplicationQuotas, "bound", lambda q, side, f: Bound() if side == "follower" else right(q, side, f))


def counts_half(patch: Patch) -> None:
    """Half of what flowed is recorded."""
    right = ReplicationQuota.record
    patch.setattr(ReplicationQuota, "record", lambda quota, count: right(quota, count // 2))


def keeps_the_first_limit(patch: Patch) -> None:
    """A limit that is there is not changed."""
    right = ReplicationQuotas.config_changed

    def read_uncached(quotas: ReplicationQuotas, kind: str, name: str, configs: Any) -> Any:
        return {} if quotas.is_limited else right(quotas, kind, name, configs)

    patch.setattr(ReplicationQuotas, "config_changed", read_uncached)


def throttles_who_is_in_sync(patch: Patch) -> None:
    """Every replica of a partition that moves is held, in sync or not."""

    def families(_: object, *__: object, isr: object, target: object) -> tuple[str, ...]:
        del isr
        return () if target is None else ("reassignment",)

    patch.setattr(ReplicationQuotas, "families", families)


def throttles_who_is_no_target(patch: Patch) -> None:
    """Every replica that is not in sync is held while a partition moves."""

    def families(_: object, __: str, ___: str, ____: int, follower: int, *, isr: Any, target: object) -> Any:
        return () if target is None or follower in isr else ("reassignment",)

    patch.setattr(ReplicationQuotas, "families", families)


def believes_the_isr_of_its_epoch(patch: Patch) -> None:
    """A follower does not hear by metadata that it is in sync."""
    patch.setattr(Broker, "isr_of", lambda _, replica: replica.isr)


def tells_leaders_no_target(patch: Patch) -> None:
    """The controller does not say to a leader what is to move."""
    patch.setattr(requests, "TARGETS_SINCE", 99)


def forgets_settings(patch: Patch) -> None:
    """A broker that starts reads no settings."""
    patch.setattr(Network, "started", lambda *_: None)


def serves_in_one_order(patch: Patch) -> None:
    """Who is first is always first."""

    def order(_: object, keys: Iterable[Hashable]) -> list[Hashable]:
        return list(keys)

    patch.setattr(Rotation, "order", order)


def keeps_nothing(patch: Patch) -> None:
    """Who needs two limits finds both free at once, or waits."""
    patch.setattr(_Step, "_keep", lambda *_: None)


def counts_at_one_side(patch: Patch) -> None:
    """What flows is bound by the limit of the leader alone where there are two."""
    right = Meeting.bound
    patch.setattr(Meeting, "bound", lambda meeting, brokers: Bound(right(meeting, brokers).quotas[:1]))


def _in_sync_by_metadata(rig: Rig) -> None:
    rig.mishaps.pause_broker(5)
    rig.reassign({ORDERS: [4, 5]})
    rig.until(lambda: 4 in rig.partition(ORDERS).isr, what="4 is in sync")
    _limited(rig, 1_000)
    writer = rig.write([ORDERS], records_per_s=100)
    rig.run(3_000)
    writer.stop()
    rig.until(lambda: rig.producers.waiting == 0 and 4 in rig.partition(ORDERS).isr, timeout_s=0.5)


def _lower_follower(rig: Rig) -> None:
    rates = {"leader.reassignment.throttled.rate": "50000", "follower.reassignment.throttled.rate": "10000"}
    for broker in rig.brokers:
        rig.network.config_changed("brokers", str(broker), rates)
    _moves_at(rig, 5, "follower", 10_000)


MUTANTS: tuple[tuple[Callable[[Patch], None], Callable[[Rig], None], str], ...] = (
    (leader_ignores_its_limit, _leader_limited, "50000 bytes a second"),
    (follower_ignores_its_limit, _follower_limited, "50000 bytes a second"),
    (counts_half, _leader_limited, "50000 bytes a second"),
    (counts_at_one_side, _lower_follower, "10000 bytes a second"),
    (keeps_the_first_limit, _raised, "60000 bytes a second"),
    (throttles_who_is_in_sync, _written_to, "all is acknowledged"),
    (throttles_who_is_no_target, _one_fell_out, "3 is in sync"),
    (believes_the_isr_of_its_epoch, _in_sync_by_metadata, "not within"),
    (tells_leaders_no_target, _led_by_another, "50000 bytes a second"),
    (forgets_settings, _restarted, "50000 bytes a second"),
    (serves_in_one_order, _many, "all progress"),
    (keeps_nothing, _two_limits, "what needs both"),
)


def _world() -> Rig:
    return orders(records=100, check=False)


@pytest.mark.full
@pytest.mark.parametrize("mutant,scenario,says", MUTANTS, ids=[mutant.__name__ for mutant, _, _ in MUTANTS])
def test_a_broken_quota_is_caught(
    monkeypatch: Patch, mutant: Callable[[Patch], None], scenario: Callable[[Rig], None], says: str
) -> None:
    rig = _world()
    mutant(monkeypatch)
    with pytest.raises(NotInTime, match=says):
        scenario(rig)


@pytest.mark.full
@pytest.mark.parametrize("scenario", dict.fromkeys(scenario for _, scenario, _ in MUTANTS))
def test_the_same_scenarios_pass_with_quotas_as_they_are(scenario: Callable[[Rig], None]) -> None:
    scenario(orders(records=100))
