"""What may happen next in a small world: by itself, because of a request, because something breaks.

An action has a name of words with dashes, `deliver-101-2`; what goes wrong stands in it, `poll-101-unanswered-1`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedge.controller.rig.node import Node
from kedge.controller.simulated.broker import Broker, Life
from kedge.controller.simulated.replica import Role
from tests.verify.exhaustion.deeds import OF_BROKERS, OF_NODES
from tests.verify.exhaustion.small_world import CALLBACKS, COMMITS, REQUESTS, SmallWorld


def actions(world: SmallWorld) -> list[str]:
    """What may happen next. Some of it cannot (`deeds.do` says so), some of it may change nothing."""
    return [*_steps(world), *_requests(world), *(_troubles(world) if world.faults_left else ())]


def _steps(world: SmallWorld) -> Iterator[str]:
    network = world.rig.network
    for node in world.rig.nodes.values():
        yield from _steps_of_node(node, counts=world.leads_on in {None, node.node_id})
    yield from (f"deliver-{controller}-{broker}" for controller, broker in network.under_way)
    yield from (f"late-{place}" for place in range(network.late))
    for broker in world.rig.brokers.values():
        yield from _steps_of_broker(world, broker)
    if world.waits_left:
        yield "wait"


def _steps_of_node(node: Node, *, counts: bool) -> Iterator[str]:
    """A stand-by that counts no more (`roles`) is left alone, but for its late commits."""
    process = node.process
    if not counts:
        pass
    elif process is None:
        yield f"start-{node.node_id}"
    else:
        yield f"poll-{node.node_id}"
        if process.store.is_deaf:
            yield f"hear-{node.node_id}"
        if not process.store.session.connected:
            yield f"mend-{node.node_id}"
    if any(store.late for store in (*node.buried, *([] if process is None else [process.store]))):
        yield f"arrive-{node.node_id}"


def _steps_of_broker(world: SmallWorld, broker: Broker) -> Iterator[str]:
    if broker.life is Life.DOWN:
        yield f"return-{broker.broker_id}"
        return
    if any(broker.serving(Role.FOLLOWER)):
        yield f"fetch-{broker.broker_id}"
    if world.rig.duties[broker.broker_id].has_work:
        yield f"work-{broker.broker_id}"


def _requests(world: SmallWorld) -> Iterator[str]:
    leading = [node_id for node_id, node in world.rig.nodes.items() if node.is_active]
    for request in REQUESTS:
        if request in world.requests:
            yield from ([request] if request == "write" else [f"{request}-{node_id}" for node_id in leading])


def _troubles(world: SmallWorld) -> Iterator[str]:
    faults = world.faults
    for node in world.rig.nodes.values():
        if node.process is not None:
            yield from _troubles_of_node(node, faults)
    hows = [how for how in CALLBACKS if f"callback-{how}" in faults]
    for controller, broker in world.rig.network.under_way:
        yield from (f"deliver-{controller}-{broker}-{how}-{nth}" for how in hows for nth in (1, 2, 3))
    live = [broker_id for broker_id, broker in world.rig.brokers.items() if broker.is_up]
    yield from (f"{fault}-{broker_id}" for broker_id in live for fault in OF_BROKERS if fault in faults)
    if "foreign" in faults:
        yield "foreign"


def _troubles_of_node(node: Node, faults: frozenset[str]) -> Iterator[str]:
    """A takeover commits twice, a pass of a leader once."""
    yield from (f"{fault}-{node.node_id}" for fault in OF_NODES if fault in faults)
    hows = [how for how in COMMITS if f"commit-{how}" in faults]
    nths = (1,) if node.is_active else (1, 2)
    yield from (f"poll-{node.node_id}-{how}-{nth}" for how in hows for nth in nths)
    if "stale" in faults:
        yield f"poll-{node.node_id}-stale"
