"""Quotas and brokers that are broken on purpose: what is measured must show it."""

from __future__ import annotations

from typing import Any, Final

from kedge.controller.model.values import TopicPartition
from kedge.controller.quota import Bound, ReplicationQuota, ReplicationQuotas, Rotation
from kedge.controller.rig import Rig
from kedge.controller.runtime import requests
from kedge.controller.simulated.broker import Broker
from kedge.controller.simulated.fetching import Meeting
from kedge.controller.simulated.network import Network
from kedge.controller.simulated.throttling import _Step
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, orders
from tests.simulation.limited import FOLLOWER, LEADER, limit
from tests.simulation.mutant import Mutant, Patch, replaced

# --- scenarios


def _moves_at(rig: Rig, broker: int, side: Any, rate: int) -> None:
    rig.produce(ORDERS, 20_000)
    rig.reassign({ORDERS: AFTER})
    rig.run(500)
    rig.wait.until_rate(rig.watch_flow(broker, side, None), rate, timeout_s=15)


def _leader_limited(rig: Rig) -> None:
    limit(rig, LEADER, 50_000)
    _moves_at(rig, 1, "leader", 50_000)


def _follower_limited(rig: Rig) -> None:
    limit(rig, FOLLOWER, 50_000)
    _moves_at(rig, 5, "follower", 50_000)


def _raised(rig: Rig) -> None:
    limit(rig, LEADER, 10_000)
    _moves_at(rig, 1, "leader", 10_000)
    limit(rig, LEADER, 60_000)
    rig.wait.until_rate(rig.watch_flow(1, "leader"), 60_000, timeout_s=11.5)


def _written_to(rig: Rig) -> None:
    limit(rig, LEADER, 1_000)
    limit(rig, FOLLOWER, 1_000)
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
    limit(rig, LEADER, 1_000)
    limit(rig, FOLLOWER, 1_000)
    rig.reassign({ORDERS: [1, 2, 4]})
    rig.mishaps.kill_broker(3)
    rig.until(lambda: 3 not in rig.partition(ORDERS).isr, what="3 fell out")
    rig.produce(ORDERS, 500)
    rig.mishaps.restart_broker(3)
    rig.until(lambda: 3 in rig.partition(ORDERS).isr, timeout_s=2, what="3 is in sync")


def _led_by_another(rig: Rig) -> None:
    limit(rig, LEADER, 50_000)
    rig.produce(ORDERS, 20_000)
    rig.run(100)
    rig.reassign({ORDERS: AFTER})
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="2 leads")
    rig.run(500)
    rig.wait.until_rate(rig.watch_flow(2, "leader", None), 50_000, timeout_s=15)


def _restarted(rig: Rig) -> None:
    limit(rig, FOLLOWER, 50_000)
    rig.produce(ORDERS, 20_000)
    rig.reassign({ORDERS: [1, 5]})
    rig.mishaps.bounce_broker(5)
    rig.run(500)
    rig.wait.until_rate(rig.watch_flow(5, "follower", None), 50_000, timeout_s=15)


def _many(rig: Rig) -> None:
    limit(rig, LEADER, 20_000)
    tps = rig.create_topic("many", replicas=[[1]] * 10, records=1_000)
    rig.reassign({tp: [1, 4] for tp in tps})

    def all_progress() -> bool:
        return all((log := rig.brokers[4].log(tp)) is not None and log.size_bytes for tp in tps)

    rig.until(all_progress, timeout_s=5, what="all progress")


def _two_limits(rig: Rig) -> None:
    limit(rig, LEADER, 20_000, 1)
    limit(rig, FOLLOWER, 20_000, 3)
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


def keeps_the_first_limit(patch: Patch) -> None:
    """A limit that is there is not changed."""
    right = ReplicationQuotas.config_changed

    def once(quotas: ReplicationQuotas, kind: str, name: str, configs: Any) -> Any:
        return {} if quotas.is_limited else right(quotas, kind, name, configs)

    patch.setattr(ReplicationQuotas, "config_changed", once)


def _in_sync_by_metadata(rig: Rig) -> None:
    rig.mishaps.pause_broker(5)
    rig.reassign({ORDERS: [4, 5]})
    rig.until(lambda: 4 in rig.partition(ORDERS).isr, what="4 is in sync")
    limit(rig, LEADER, 1_000)
    limit(rig, FOLLOWER, 1_000)
    writer = rig.write([ORDERS], records_per_s=100)
    rig.run(3_000)
    writer.stop()
    rig.until(lambda: rig.producers.waiting == 0 and 4 in rig.partition(ORDERS).isr, timeout_s=0.5)


def _lower_follower(rig: Rig) -> None:
    limit(rig, LEADER, 50_000)
    limit(rig, FOLLOWER, 10_000)
    _moves_at(rig, 5, "follower", 10_000)


def quotas() -> Rig:
    """What the scenarios begin with."""
    return orders(records=100)


def unchecked() -> Rig:
    """Without the invariants, which find some of the mutants before the quotas do."""
    return orders(records=100, check=False)


_MOVING: Final = ("reassignment",)
_recorded: Final = ReplicationQuota.record
_bound: Final = Meeting.bound
MUTANTS: Final = {
    "leader ignores its limit": Mutant(leader_ignores_its_limit, _leader_limited, "50000 bytes a second"),
    "follower ignores its limit": Mutant(follower_ignores_its_limit, _follower_limited, "50000 bytes a second"),
    "counts half": Mutant(
        replaced(ReplicationQuota, "record", lambda quota, count: _recorded(quota, count // 2)),
        _leader_limited,
        "50000 bytes a second",
    ),
    "counts the limit of the leader alone": Mutant(
        replaced(Meeting, "bound", lambda meeting, brokers: Bound(_bound(meeting, brokers).quotas[:1])),
        _lower_follower,
        "10000 bytes a second",
    ),
    "keeps the first limit": Mutant(keeps_the_first_limit, _raised, "60000 bytes a second"),
    "throttles who is in sync": Mutant(
        replaced(ReplicationQuotas, "families", lambda *_, target, **__: _MOVING if target else ()),
        _written_to,
        "all is acknowledged",
    ),
    "throttles who is no target": Mutant(
        replaced(
            ReplicationQuotas,
            "families",
            lambda *who, isr, target: _MOVING if target and who[4] not in isr else (),
        ),
        _one_fell_out,
        "3 is in sync",
    ),
    "a follower does not hear by metadata that it is in sync": Mutant(
        replaced(Broker, "isr_of", lambda _, replica: replica.isr), _in_sync_by_metadata, "not within"
    ),
    "does not tell leaders the targets": Mutant(
        replaced(requests, "TARGETS_SINCE", 99), _led_by_another, "50000 bytes a second"
    ),
    "a broker that starts reads no settings": Mutant(
        replaced(Network, "started", lambda *_: None), _restarted, "50000 bytes a second"
    ),
    "serves in one order": Mutant(replaced(Rotation, "order", lambda _, keys: [*keys]), _many, "all progress"),
    "finds both limits free at once, or waits": Mutant(
        replaced(_Step, "_keep", lambda *_: None), _two_limits, "what needs both"
    ),
}
