"""The failures of controllers, of their store and of their connections, as a seeded run causes them: each function
begins one, puts its end on the agenda, and returns what happens in words.

Times are drawn around the session time, so that sessions run out in some and live on in others.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from ...stores.faults import (
    Call,
    DeliverLater,
    DoubleEvent,
    ExpireSession,
    FailBefore,
    Fault,
    ForceResync,
    LoseReply,
    LoseRequest,
    Rule,
)
from ..simulated.network import CallbackFaults
from .chances import Chances
from .node import State


def _node(world: Chances) -> int:
    """The one that leads, mostly: the others have little to lose."""
    active = world.rig.active
    if active is not None and world.happens(0.7):
        return active.node_id
    return world.pick(list(world.rig.nodes))


def for_ms(world: Chances) -> int:
    """Shorter than a session, or up to twice as long."""
    session_ms = int(world.rig.server.session_timeout_s * 1000)
    return world.between(10, session_ms // 2) if world.happens(0.5) else world.between(session_ms, 2 * session_ms)


def kill_controller(world: Chances) -> str:
    node = _node(world)
    world.mishaps.kill_controller(node)
    world.later(for_ms(world), lambda: _restart_if_down(world, node))
    return f"controller {node} dies"


def _restart_if_down(world: Chances, node: int) -> None:
    if world.rig.nodes[node].state is State.DOWN:
        world.mishaps.restart_controller(node)


def pause_controller(world: Chances) -> str:
    """A controller stands still; beyond its session it comes back as a zombie."""
    node, long_ms = _node(world), for_ms(world)
    world.mishaps.pause_controller(node, long_ms)
    return f"controller {node} stands still for {long_ms} ms"


def cut_from_store(world: Chances) -> str:
    node, long_ms = _node(world), for_ms(world)
    world.mishaps.cut_off(node)
    world.later(long_ms, lambda: world.mishaps.mend(node))
    return f"controller {node} is cut off from the store for {long_ms} ms"


def cut_from_broker(world: Chances) -> str:
    """No way between a controller and a broker."""
    node, broker, long_ms = _node(world), world.pick(list(world.rig.brokers)), for_ms(world)
    world.mishaps.cut_off(node, from_=broker)
    world.later(long_ms, lambda: world.rig.network.mend(node, broker))
    return f"controller {node} is cut off from broker {broker} for {long_ms} ms"


def expire_session(world: Chances) -> str:
    """The server ends the session of a controller that lives and hears of it late."""
    node, deaf_ms = _node(world), world.pick((0, 0, 50, 300))
    world.mishaps.expire_session(node, deaf_ms=deaf_ms)
    return f"the session of controller {node} ends, unheard for {deaf_ms} ms"


def jump(world: Chances) -> str:
    """One wall clock is wrong, by seconds or by an hour."""
    node, ms = world.rig.nodes[_node(world)], world.between(-5_000, 5_000) * world.pick((1, 1_000))
    node.clock.jump(ms)
    return f"the clock of controller {node.node_id} jumps by {ms} ms"


_COMMIT_FAULTS: Final[tuple[tuple[Fault, ...], ...]] = (
    (FailBefore(),),
    (LoseReply(),),
    (LoseRequest(),),
    (DeliverLater(),),
    (DeliverLater(1),),
    (DeliverLater(2),),
    (ExpireSession(), LoseReply()),
    (ForceResync(),),
)


def one_commit_fails(world: Chances) -> str:
    """Something happens to one of the next commits."""
    node, faults = _node(world), world.pick(_COMMIT_FAULTS)
    nth = world.between(1, 3)
    world.mishaps.plan_store_faults(node, tuple(Rule(fault, "commit", nth=nth) for fault in faults))
    return f"commit {nth} from now of controller {node}: {', '.join(map(str, faults))}"


def shaky_store(world: Chances) -> str:
    """Every call to the store may fail, for a while."""
    node, long_ms, likelihood = _node(world), for_ms(world), world.pick((0.05, 0.2, 0.6))

    def plan(call: Call, chance: random.Random) -> Iterable[Fault]:
        if chance.random() >= likelihood:
            return ()
        if call.name == "event":
            return (DoubleEvent(),)
        if call.name == "commit":
            return (chance.choice((FailBefore(), LoseReply(), LoseRequest(), DeliverLater(1), ForceResync())),)
        return (chance.choice((FailBefore(), LoseRequest())),) if call.name != "subscribe" else ()

    world.mishaps.plan_store_faults(node, plan)
    world.later(long_ms, lambda: world.mishaps.plan_store_faults(node))
    return f"the store of controller {node} is shaky ({likelihood}) for {long_ms} ms"


def forced_resync(world: Chances) -> str:
    """A node has to look at everything again."""
    node = world.rig.nodes[_node(world)]
    if node.process is not None:
        node.process.store.force_resync()
    return f"controller {node.node_id} is told to look at everything again"


def late_commits(world: Chances) -> str:
    """What is on its way to the store arrives."""
    return f"{sum(node.deliver_late() for node in world.rig.nodes.values())} late commits arrive"


def bad_network(world: Chances) -> str:
    """Callbacks are late, lost, heard twice."""
    long_ms, likelihood = for_ms(world), world.pick((0.02, 0.1, 0.3))
    world.rig.network.faults = CallbackFaults(likelihood, likelihood, likelihood, likelihood, world.between(1, 100))
    world.later(long_ms, lambda: _good_network(world))
    return f"the network is bad ({likelihood}) for {long_ms} ms"


def _good_network(world: Chances) -> None:
    world.rig.network.faults = CallbackFaults()


def slow_broker(world: Chances) -> str:
    """A broker takes long over its callbacks."""
    broker, steps = world.pick(list(world.rig.brokers)), world.between(5, 100)
    world.rig.network.slow(broker, steps)
    return f"broker {broker} is slow for {steps} steps"
