"""The mishaps of an exploration: a table of weights and functions. Each begins one, and puts its end on the agenda.

Times are drawn around the session time, so that sessions run out in some and live on in others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Final

from controller.codec import keys
from controller.rig.node import State
from controller.rig.server import write
from controller.rules.leader_election import UNCLEAN
from controller.simulated.broker import Life
from controller.simulated.network import CallbackFaults
from stores.faults import (
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
from tests.verify.workload import Deed
from tests.verify.world import World


def _node(world: World) -> int:
    """The one that leads, mostly: the others have little to lose."""
    active = world.rig.active
    if active is not None and world.happens(0.7):
        return active.node_id
    return world.pick(list(world.rig.nodes))


def _for_ms(world: World) -> int:
    """Shorter than a session, or up to twice as long."""
    session_ms = int(world.rig.server.session_timeout_s * 1000)
    return world.between(10, session_ms // 2) if world.happens(0.5) else world.between(session_ms, 2 * session_ms)


def kill_controller(world: World) -> str:
    """A controller dies, and is started again."""
    node = _node(world)
    world.rig.mishaps.kill_controller(node)
    world.later(_for_ms(world), lambda: _restart_if_down(world, node))
    return f"controller {node} dies"


def _restart_if_down(world: World, node: int) -> None:
    if world.rig.nodes[node].state is State.DOWN:
        world.rig.mishaps.restart_controller(node)


def pause_controller(world: World) -> str:
    """A controller stands still; beyond its session it comes back as a zombie."""
    node, for_ms = _node(world), _for_ms(world)
    world.rig.mishaps.pause_controller(node, for_ms)
    return f"controller {node} stands still for {for_ms} ms"


def cut_from_store(world: World) -> str:
    """No way to the store."""
    node, for_ms = _node(world), _for_ms(world)
    world.rig.mishaps.cut_off(node)
    world.later(for_ms, lambda: world.rig.mishaps.mend(node))
    return f"controller {node} is cut off from the store for {for_ms} ms"


def cut_from_broker(world: World) -> str:
    """No way between a controller and a broker."""
    node, broker, for_ms = _node(world), world.pick(list(world.rig.brokers)), _for_ms(world)
    world.rig.mishaps.cut_off(node, from_=broker)
    world.later(for_ms, lambda: world.rig.network.mend(node, broker))
    return f"controller {node} is cut off from broker {broker} for {for_ms} ms"


def expire_session(world: World) -> str:
    """The server ends the session of a controller that lives and hears of it late."""
    node, deaf_ms = _node(world), world.pick((0, 0, 50, 300))
    world.rig.mishaps.expire_session(node, deaf_ms=deaf_ms)
    return f"the session of controller {node} ends, unheard for {deaf_ms} ms"


def jump(world: World) -> str:
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


def one_commit_fails(world: World) -> str:
    """Something happens to one of the next commits."""
    node, faults = _node(world), world.pick(_COMMIT_FAULTS)
    nth = world.between(1, 3)
    world.rig.mishaps.plan_store_faults(node, tuple(Rule(fault, "commit", nth=nth) for fault in faults))
    return f"commit {nth} from now of controller {node}: {', '.join(map(str, faults))}"


def shaky_store(world: World) -> str:
    """Every call to the store may fail, for a while."""
    node, for_ms, likelihood = _node(world), _for_ms(world), world.pick((0.05, 0.2, 0.6))

    def plan(call: Call, chance: random.Random) -> Iterable[Fault]:
        if chance.random() >= likelihood:
            return ()
        if call.name == "event":
            return (DoubleEvent(),)
        if call.name == "commit":
            return (chance.choice((FailBefore(), LoseReply(), LoseRequest(), DeliverLater(1), ForceResync())),)
        return (chance.choice((FailBefore(), LoseRequest())),) if call.name != "subscribe" else ()

    world.rig.mishaps.plan_store_faults(node, plan)
    world.later(for_ms, lambda: world.rig.mishaps.plan_store_faults(node))
    return f"the store of controller {node} is shaky ({likelihood}) for {for_ms} ms"


def forced_resync(world: World) -> str:
    """A node has to look at everything again."""
    node = world.rig.nodes[_node(world)]
    if node.process is not None:
        node.process.store.force_resync()
    return f"controller {node.node_id} is told to look at everything again"


def late_commits(world: World) -> str:
    """What is on its way to the store arrives."""
    return f"{sum(node.deliver_late() for node in world.rig.nodes.values())} late commits arrive"


def bad_network(world: World) -> str:
    """Callbacks are late, lost, heard twice."""
    for_ms, likelihood = _for_ms(world), world.pick((0.02, 0.1, 0.3))
    world.rig.network.faults = CallbackFaults(likelihood, likelihood, likelihood, likelihood, world.between(1, 100))
    world.later(for_ms, lambda: _good_network(world))
    return f"the network is bad ({likelihood}) for {for_ms} ms"


def _good_network(world: World) -> None:
    world.rig.network.faults = CallbackFaults()


def slow_broker(world: World) -> str:
    """A broker takes long over its callbacks."""
    broker, steps = world.pick(list(world.rig.brokers)), world.between(5, 100)
    world.rig.network.slow(broker, steps)
    return f"broker {broker} is slow for {steps} steps"


def kill_broker(world: World) -> str:
    """A broker dies, and comes back with its logs."""
    broker, for_ms, at_once = world.pick(list(world.rig.brokers)), _for_ms(world), world.happens(0.5)
    world.rig.mishaps.kill_broker(broker, at_once=at_once)
    world.later(for_ms, lambda: _start_if_down(world, broker))
    return f"broker {broker} dies {'at once' if at_once else 'without a word'}"


def _start_if_down(world: World, broker: int) -> None:
    if world.rig.brokers[broker].life is Life.DOWN or world.rig.duties[broker].leaving is not None:
        world.rig.mishaps.restart_broker(broker)


def shut_down_broker(world: World) -> str:
    """A broker is let go in an orderly way, patiently or not, and comes back."""
    broker, patience_ms = world.pick(list(world.rig.brokers)), world.between(50, 2_000)
    world.rig.mishaps.shut_down_broker(broker, patience_ms)
    world.later(patience_ms + _for_ms(world), lambda: _start_if_down(world, broker))
    return f"broker {broker} shuts down within {patience_ms} ms"


def bounce_broker(world: World) -> str:
    """A broker is another process before anybody looked."""
    broker = world.pick(list(world.rig.brokers))
    world.rig.mishaps.bounce_broker(broker)
    return f"broker {broker} bounces"


def pause_broker(world: World) -> str:
    """A broker stands still for long enough to leave the isr, or not."""
    broker, for_ms = world.pick(list(world.rig.brokers)), world.between(50, 3 * world.rig.lag_max_ms)
    world.rig.mishaps.pause_broker(broker)
    world.later(for_ms, lambda: world.rig.mishaps.resume_broker(broker))
    return f"broker {broker} stands still for {for_ms} ms"


def expire_broker(world: World) -> str:
    """The server ends the session of a broker that lives."""
    broker = world.pick(list(world.rig.brokers))
    if world.rig.brokers[broker].life is not Life.DOWN:
        world.rig.mishaps.expire_broker_session(broker)
    return f"the session of broker {broker} ends"


def _topic_keys(world: World) -> list[str]:
    """Keys of topics and partitions that can be read."""
    rows, broken = world.rig.server.table.rows, world.rig.broken_keys
    return [key for key in sorted(rows) if key.startswith(keys.TOPICS + "/") and key not in broken]


def foreign_write(world: World) -> str:
    """Another client writes a key of ours, with what stood there, and sometimes a field that we do not know: a Conflict
    for the next commit of it."""
    held = _topic_keys(world)
    if not held:
        return "nobody else writes anything"
    key = world.pick(held)
    value = world.rig.server.table.rows[key][0]
    if world.happens(0.5):
        fields = world.rig.foreign_fields.setdefault(key, set())
        name = f"field_{len(fields)}"
        fields.add(name)
        value = json.dumps({**json.loads(value), name: world.between(0, 9)}).encode()
    write(world.rig.server, key, value)
    return f"somebody else writes {key}"


def break_key(world: World) -> str:
    """Another client breaks a key, and mends it later; mostly another controller has to take over meanwhile, since the
    present one knows what stood there."""
    held = _topic_keys(world)
    if not held:
        return "nobody breaks anything"
    key, for_ms = world.pick(held), _for_ms(world)
    stood = world.rig.server.table.rows[key][0]
    world.rig.mishaps.break_key(key, world.pick((b"", b"{", b"[]", stood[:-1])))
    world.later(for_ms, lambda: _mend_if_broken(world, key))
    if world.rig.active is not None and world.happens(0.7):
        kill_controller(world)
        if world.happens(0.5):
            kill_broker(world)
    return f"somebody breaks {key} for {for_ms} ms"


def _mend_if_broken(world: World, key: str) -> None:
    if key in world.rig.broken_keys:
        world.rig.mishaps.mend_key(key)


def write_defaults(world: World) -> str:
    """A client writes, breaks or removes the defaults of all brokers; in a few worlds they allow unclean election."""
    said = world.pick(("true", "false")) if world.allows_unclean else "false"
    settings = {"version": 1, "config": world.pick(({UNCLEAN: said}, {"log.retention.ms": "5"}, {}))}
    value = None if world.happens(0.2) else json.dumps(settings).encode()
    write(world.rig.server, keys.BROKER_DEFAULTS, value)
    if value is not None and world.happens(0.25):
        world.rig.mishaps.break_key(keys.BROKER_DEFAULTS)
        world.later(_for_ms(world), lambda: _mend_if_broken(world, keys.BROKER_DEFAULTS))
    return f"somebody else writes the defaults of all brokers: {value!r}"


TROUBLE: Final[tuple[tuple[int, Deed], ...]] = (
    (3, kill_controller),
    (4, pause_controller),
    (3, cut_from_store),
    (3, cut_from_broker),
    (2, expire_session),
    (2, jump),
    (6, one_commit_fails),
    (3, shaky_store),
    (1, forced_resync),
    (2, late_commits),
    (3, bad_network),
    (2, slow_broker),
    (4, kill_broker),
    (4, shut_down_broker),
    (3, bounce_broker),
    (5, pause_broker),
    (2, expire_broker),
    (3, foreign_write),
    (2, break_key),
    (1, write_defaults),
)
"""How often, in proportion, and what."""
