"""What is asked of a cluster about throttles while it is being broken, and what an operator does by hand meanwhile.

IdSource is of a source of its own, and only some seeds have it: what the others do is the same with or without this.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from kedge.controller.model.config_requests import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from kedge.controller.model.throttle_configs import LISTS, RATES, Family
from kedge.controller.model.throttles import MarkKind, ReassignPartitionsOptions, ThrottledRate, ThrottledReplicas
from kedge.controller.rig.outside import THEIR_ELEMENTS, THEIR_RATES, set_by_hand
from tests.verify.world import World

Deed = Callable[[World, random.Random], str]

_OURS: Final = (500_000, 2_000_000, 5_000_000)
_THEIR_LISTS: Final = (*THEIR_ELEMENTS, ",".join(THEIR_ELEMENTS))
_TIMEOUT_S: Final = 3.0


def throttled_reassign(world: World, chance: random.Random) -> str:
    """Some partitions, to any replicas, under a throttle, which seldom is to stay."""
    named = [p.tp for p in world.partitions()]
    if not named:
        return "finds nothing to throttle"
    brokers = list(world.rig.brokers)
    targets = {
        tp: chance.sample(brokers, min(len(brokers), chance.randint(1, 3)))
        for tp in chance.sample(named, min(len(named), chance.randint(1, 4)))
    }
    stays = chance.random() < 0.05
    options = ReassignPartitionsOptions(
        throttle=chance.choice(_OURS), auto_remove_throttle=not stays, timeout_s=_TIMEOUT_S
    )
    said = ", ".join(f"{tp} to {target}" for tp, target in targets.items())
    return world.ask(
        f"throttled{' for good' if stays else ''}: {said}",
        lambda admin: admin.reassign_partitions(targets, options).all(),
    )


def alter_rates(world: World, chance: random.Random) -> str:
    """Other rates for some brokers, which replace all; seldom for good."""
    brokers = chance.sample(list(world.rig.brokers), chance.randint(0, len(world.rig.brokers)))
    rates = {broker: ThrottledRate(chance.choice(_OURS), chance.choice(_OURS)) for broker in brokers}
    family: Family = "replication" if chance.random() < 0.5 else "reassignment"
    stays = chance.random() < 0.1
    return world.ask(
        f"{family} rates of {brokers}",
        lambda admin: admin.alter_interbroker_throttled_rates(
            rates, family=family, auto_remove_throttle=not stays, timeout_s=_TIMEOUT_S
        ).all(),
    )


def alter_replicas(world: World, chance: random.Random) -> str:
    """Other lists for some topics, which replace all."""
    named = [p.tp for p in world.partitions()]
    brokers = list(world.rig.brokers)
    wanted = {
        tp: ThrottledReplicas(
            None if chance.random() < 0.2 else chance.sample(brokers, min(len(brokers), 2)), chance.sample(brokers, 1)
        )
        for tp in chance.sample(named, min(len(named), 2))
    }
    return world.ask(
        f"throttled replicas of {list(map(str, wanted))}",
        lambda admin: admin.alter_interbroker_throttled_replicas(wanted, timeout_s=_TIMEOUT_S).all(),
    )


def operate(world: World, chance: random.Random) -> str:
    """An operator sets a throttle by hand, or takes one away, in the middle of whatever goes on."""
    topics = [name for name in world.topics() if name not in world.rig.committed.deleting]
    kind: MarkKind = "topics" if topics and chance.random() < 0.4 else "brokers"
    if kind == "topics":
        name, config = chance.choice(topics), chance.choice(LISTS)
        value = chance.choice((None, *_THEIR_LISTS))
    else:
        name, config = str(chance.choice(list(world.rig.brokers))), chance.choice(RATES[chance.choice(tuple(RATES))])
        value = chance.choice((None, *THEIR_RATES))
    set_by_hand(world.rig, kind, name, {config: value})
    return f"an operator sets {config} of {kind} {name} to {value}"


def operate_by_admin(world: World, chance: random.Random) -> str:
    """By the admin API, which may refuse or be late; so the operator's value is known once it is committed."""
    topics = [name for name in world.topics() if name not in world.rig.committed.deleting]
    kind: MarkKind = "brokers"
    if topics and chance.random() < 0.4:
        kind = "topics"
        name, config, value = chance.choice(topics), chance.choice(LISTS), chance.choice(THEIR_ELEMENTS)
        op = chance.choice((OpType.SET, OpType.DELETE, OpType.APPEND, OpType.SUBTRACT))
    else:
        config = chance.choice(RATES[chance.choice(tuple(RATES))])
        name, value = str(chance.choice(list(world.rig.brokers))), chance.choice(THEIR_RATES)
        op = chance.choice((OpType.SET, OpType.DELETE))
    change = AlterConfigOp(config, None if op is OpType.DELETE else value, op)
    resource = ConfigResource(ConfigResourceType(kind), name)
    return world.ask(
        f"an operator: {op.value} {config} of {kind} {name}, {change.value}",
        lambda admin: admin.incremental_alter_configs({resource: [change]}, timeout_s=_TIMEOUT_S).all(),
    )


WORK: Final[tuple[tuple[int, Deed], ...]] = (
    (6, throttled_reassign),
    (2, alter_rates),
    (1, alter_replicas),
    (4, operate),
    (3, operate_by_admin),
)


def do_some(world: World, chance: random.Random) -> str:
    """One of them."""
    return chance.choices([deed for _, deed in WORK], [weight for weight, _ in WORK])[0](world, chance)
