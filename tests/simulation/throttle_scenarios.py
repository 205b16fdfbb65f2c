"""Throttles that something may befall at every commit: what is asked for, and what must stand in the end.

The rigs of `world` stand on memory, or on what they are given: crashes on real stores go through the same scenarios.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from kedge.controller.admin import Admin
from kedge.controller.codec import keys
from kedge.controller.model.config_requests import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from kedge.controller.model.requests import NewTopic
from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.controller.model.throttles import ReassignPartitionsOptions, ThrottledRate, ThrottledReplicas
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import configs, is_marked, set_by_hand
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, orders, settle
from tests.simulation.enumeration import SESSION_MS, Story, until_so

RATE: Final = 5_000_000
LEADER_RATE, FOLLOWER_RATE = RATES["replication"]
LEADER_LIST, FOLLOWER_LIST = LISTS
REASSIGNMENT: Final = RATES["reassignment"]
OPTIONS: Final = ReassignPartitionsOptions(throttle=RATE)


def world(settings: Settings, **options: Any) -> Rig:
    """An operator has a rate on broker 1 and a list on the topic already. `options`: of the rig."""
    rig = orders(**{"records": 5, "settings": settings, "session_timeout_s": SESSION_MS / 1000, **options})
    new = NewTopic(replica_assignments=[[1, 2]])
    rig.result(rig.admin.create_topics({"other": new, "third": new}).all())
    set_by_hand(rig, "brokers", "1", {LEADER_RATE: "7700000"})
    set_by_hand(rig, "topics", "orders", {LEADER_LIST: "0:2,90:90"})
    rig.run(100)
    return rig


def moving(settings: Settings, **options: Any) -> Rig:
    """The same, and a throttled move that cannot end yet. What befalls the commits of its request is shown by
    `throttled_move`, once for all scenarios."""
    rig = world(settings, **options)
    _move(rig)
    return rig


def narrow(make: Callable[..., Rig]) -> Callable[..., Rig]:
    """`make` over a store whose commits take ten keys, so that each step of a request has a commit of its own."""
    return partial(make, store={"commit_ops_max": 10})


def rate_of(rig: Rig, broker: int) -> str | None:
    return configs(rig, "brokers", str(broker)).get(LEADER_RATE)


def until_unthrottled(rig: Rig) -> None:
    rig.until(lambda: not is_marked(rig), what="no throttle is marked")


def ask_for_a_rate(rig: Rig, value: str | None) -> Future[Any]:
    """An operator asks the admin API for a rate of broker 1 (None: for none)."""
    change = AlterConfigOp(LEADER_RATE, value, OpType.SET if value is not None else OpType.DELETE)
    resource = ConfigResource(ConfigResourceType.BROKER, "1")
    return _deed(rig, lambda admin: admin.incremental_alter_configs({resource: [change]}))


# --- what is asked for


def throttled_move(rig: Rig) -> None:
    _move(rig)
    rig.mishaps.resume_broker(6)


def rate_change(rig: Rig) -> None:
    """Of brokers 1 and 2, then of 2 and 3, while it moves: the old set and the new one overlap."""
    for brokers in ((1, 2), (2, 3)):
        rates = {broker: ThrottledRate(RATE + brokers[0], RATE) for broker in brokers}
        wanted = [str(RATE + brokers[0])] * 2
        until_so(
            rig,
            partial(lambda brokers, wanted: [rate_of(rig, b) for b in brokers] == wanted, brokers, wanted),
            partial(_deed, rig, partial(lambda rates, admin: admin.alter_interbroker_throttled_rates(rates), rates)),
        )
    rig.mishaps.resume_broker(6)


def list_change(rig: Rig) -> None:
    """Of topics orders and other, then of other and third, while it moves."""
    for names in (("orders", "other"), ("other", "third")):
        wanted = {TopicPartition(name, 0): ThrottledReplicas([2], [len(names[0])]) for name in names}
        element = f"0:{len(names[0])}"
        until_so(
            rig,
            partial(lambda names, element: all(element in _followers(rig, name) for name in names), names, element),
            partial(
                _deed, rig, partial(lambda wanted, admin: admin.alter_interbroker_throttled_replicas(wanted), wanted)
            ),
        )
    rig.mishaps.resume_broker(6)


def limit_of_reassignment(rig: Rig) -> None:
    """Of brokers 1 and 2 while it moves, for reassignment alone (KIP-542)."""
    rates = {broker: ThrottledRate(RATE, RATE) for broker in (1, 2)}
    until_so(
        rig,
        lambda: all(configs(rig, "brokers", str(broker)).get(name) for broker in (1, 2) for name in REASSIGNMENT),
        lambda: _deed(rig, lambda admin: admin.alter_interbroker_throttled_rates(rates, family="reassignment")),
    )
    rig.mishaps.resume_broker(6)


def throttled_for_good(rig: Rig) -> None:
    """A move under a throttle that is to stay."""
    _move(rig, ReassignPartitionsOptions(throttle=RATE, auto_remove_throttle=False))
    rig.mishaps.resume_broker(6)


def _move(rig: Rig, options: ReassignPartitionsOptions = OPTIONS) -> None:
    """A move under a throttle, accepted for good, that cannot end yet."""
    rig.mishaps.pause_broker(6)
    until_so(
        rig,
        lambda: rig.partition(ORDERS).target_replicas == AFTER,
        lambda: _deed(rig, lambda admin: admin.reassign_partitions({ORDERS: AFTER}, options)),
    )


def _deed(rig: Rig, ask: Callable[[Admin], Any]) -> Future[Any]:
    future: Future[Any] = ask(rig.admin).all()
    return future


def _followers(rig: Rig, name: str) -> list[str]:
    return configs(rig, "topics", name).get(FOLLOWER_LIST, "").split(",")


# --- what must stand


def ends(rig: Rig) -> None:
    """No throttle, no mark; the operator's values are there (`check_end`)."""
    _ended(rig)
    assert rate_of(rig, 1) == "7700000"
    assert configs(rig, "topics", "orders")[LEADER_LIST] == "0:2,90:90"
    brokers = [configs(rig, "brokers", str(broker)) for broker in rig.brokers]
    assert not any(name in set_there for set_there in brokers for name in REASSIGNMENT)


def ends_throttled(rig: Rig) -> None:
    """No mark; the rate is on every broker, and the partition on the lists of its topic."""
    _ended(rig)
    assert [rate_of(rig, broker) for broker in rig.brokers] == [str(RATE)] * len(rig.brokers)
    assert {f"0:{broker}" for broker in AFTER} - {f"0:{broker}" for broker in BEFORE} <= set(_followers(rig, "orders"))


def _ended(rig: Rig) -> None:
    rig.mishaps.heal()
    rig.wait.until_replicas({ORDERS: AFTER})
    until_unthrottled(rig)
    settle(rig)
    assert not any(key in rig.server.table.rows for key in (keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL))


STORIES: Final = {
    scenario.__name__: Story(make, scenario, end)
    for make, scenario, end in (
        (narrow(world), throttled_move, ends),
        (narrow(moving), rate_change, ends),
        (narrow(moving), list_change, ends),
        (narrow(moving), limit_of_reassignment, ends),
        (narrow(world), throttled_for_good, ends_throttled),
    )
}
