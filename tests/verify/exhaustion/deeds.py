"""How each action of a small world happens. What comes back as False could not: that world is of no use any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from kedge.controller.admin import Admin
from kedge.controller.codec import keys
from kedge.controller.model.requests import AlterReassignmentsOptions, ElectionType
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.node import Node, NodeStore
from kedge.controller.rig.rig import Rig
from kedge.controller.rig.server import write
from kedge.controller.simulated.network import Fate
from kedge.stores.faults import DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, at_commit
from tests.verify.exhaustion.small_world import (
    CALLBACKS,
    FOR_EVER_MS,
    JUMP_MS,
    MOVE_TIMEOUT_MS,
    MOVED,
    ORDERS,
    WAIT_MS,
    SmallWorld,
)

Deed: TypeAlias = Callable[..., bool | None]
_FATES: Final[Mapping[str, Fate]] = {fate: fate for fate in (*CALLBACKS, "arrives")}
_LOSSES: Final[Mapping[str, Fault]] = {
    "unsent": FailBefore(),
    "unanswered": LoseReply(),
    "lost": LoseRequest(),
    "later": DeliverLater(),
}


def do(world: SmallWorld, action: str) -> bool:
    """Let it happen; whether it could. Raises InvariantBroken for what must never happen, ValueError for what is no
    action, and whatever escapes from a controller."""
    head, *words = action.split("-")
    if head not in _DEEDS:
        raise ValueError(f"no action: {action!r}")
    if _DEEDS[head](world, *words) is False:
        return False
    world.rig.producers.step(0)
    world.rig.invariants.step()
    if world.rig.timeline.is_mute:
        world.forget()
    return True


def _poll(world: SmallWorld, node_id: str, how: str = "", nth: str = "1") -> bool:
    node = world.rig.nodes[int(node_id)]
    if node.process is None:
        return False
    store = node.process.store
    if how == "stale":
        return _poll_unheard(world, node, store)
    if how:
        store.play(at_commit(int(nth), _LOSSES[how]))
    before = store.commits
    node.poll()
    if how:
        store.play(())
        world.spend(f"commit-{how}")
    return not how or store.commits - before >= int(nth)


def _poll_unheard(world: SmallWorld, node: Node, store: NodeStore) -> bool:
    if store.is_deaf:
        return False
    store.is_deaf = True
    node.poll()
    store.is_deaf = False
    world.spend("stale")
    return True


def _wait(world: SmallWorld) -> None:
    world.waits_left -= 1
    world.rig.clock.advance(WAIT_MS)
    world.rig.server.tick()


def _deliver(world: SmallWorld, node_id: str, broker: str, how: str = "", nth: str = "1") -> bool:
    fates: list[Fate] = [*(_FATES["arrives"] for _ in range(1, int(nth))), _FATES[how]] if how else []
    met = world.rig.network.let_in(int(node_id), int(broker), *fates)
    if how:
        world.spend(f"callback-{how}")
    return met


def _work(world: SmallWorld, broker: str) -> None:
    duties = world.rig.duties[int(broker)]
    duties.watch()
    duties.step()


def _write(world: SmallWorld) -> bool:
    world.requests -= {"write"}
    return world.rig.produce(ORDERS, 1) > 0


def _move(world: SmallWorld, node_id: str) -> bool:
    targets = {TopicPartition(ORDERS.topic, place): MOVED[place] for place in range(world.partitions)}
    return _alter("move", targets, MOVE_TIMEOUT_MS / 1000)(world, node_id) is not False


def _alter(
    request: str, targets: Mapping[TopicPartition, tuple[int, ...] | None], move_timeout_s: float | None = None
) -> Deed:
    options = AlterReassignmentsOptions(timeout_s=FOR_EVER_MS / 1000, move_timeout_s=move_timeout_s)
    return _ask(request, lambda admin: admin.alter_partition_reassignments(targets, options))


def _ask(request: str, call: Callable[[Admin], object]) -> Deed:
    def ask(world: SmallWorld, node_id: str) -> bool:
        node = world.rig.nodes[int(node_id)]
        if node.controller is None:
            return False
        world.requests -= {request}
        with world.rig.server.speaking(node.name):
            call(node.controller.admin)
        return True

    return ask


def _fault(name: str, what: Callable[[Rig, int], object]) -> Deed:
    def happens(world: SmallWorld, of: str) -> None:
        what(world.rig, int(of))
        world.rig.network.forget(world.rig.is_running)
        world.spend(name)

    return happens


def _resync(rig: Rig, node_id: int) -> None:
    if (process := rig.nodes[node_id].process) is not None:
        process.store.force_resync()


def _kill(rig: Rig, node_id: int) -> None:
    process = rig.nodes[node_id].process
    if process is not None:
        rig.mishaps.kill_controller(node_id)
        rig.server.expire(process.inner.session.session_id)


def _foreign(world: SmallWorld) -> None:
    key = keys.state(ORDERS.topic, ORDERS.partition)
    write(world.rig.server, key, world.rig.server.table.rows[key][0])
    world.spend("foreign")


OF_NODES: Final[dict[str, Callable[[Rig, int], object]]] = {
    "kill": _kill,
    "crash": lambda rig, of: rig.mishaps.kill_controller(of),
    "zombie": lambda rig, node_id: rig.mishaps.expire_session(node_id, deaf_ms=FOR_EVER_MS),
    "cut": lambda rig, of: rig.mishaps.cut_off(of),
    "jump": lambda rig, node_id: rig.nodes[node_id].clock.jump(JUMP_MS),
    "resync": _resync,
}
OF_BROKERS: Final[dict[str, Callable[[Rig, int], object]]] = {
    "die": lambda rig, of: rig.mishaps.kill_broker(of),
    "vanish": lambda rig, broker: rig.mishaps.kill_broker(broker, at_once=False),
    "bounce": lambda rig, of: rig.mishaps.bounce_broker(of),
    "relogin": lambda rig, of: rig.mishaps.expire_broker_session(of),
    "disk": lambda rig, of: rig.mishaps.lose_disk(of),
}
_DEEDS: Final[Mapping[str, Deed]] = {
    "poll": _poll,
    "wait": _wait,
    "start": lambda world, node_id: world.rig.mishaps.restart_controller(int(node_id)),
    "hear": lambda world, node_id: world.rig.nodes[int(node_id)].hear(),
    "mend": lambda world, node_id: world.rig.mishaps.mend(int(node_id)),
    "arrive": lambda world, node_id: world.rig.nodes[int(node_id)].deliver_late(),
    "deliver": _deliver,
    "late": lambda world, place: world.rig.network.let_in_late(int(place)),
    "return": lambda world, broker: world.rig.mishaps.restart_broker(int(broker)),
    "fetch": lambda world, broker: world.rig.copying.fetch(world.rig.brokers[int(broker)]),
    "work": _work,
    "move": _move,
    "override": _alter("override", {ORDERS: (3, 1)}),
    "cancel": _alter("cancel", {ORDERS: None}),
    "prefer": _ask("prefer", lambda admin: admin.elect_leaders(ElectionType.PREFERRED, [ORDERS])),
    "write": _write,
    "foreign": _foreign,
    **{name: _fault(name, what) for name, what in {**OF_NODES, **OF_BROKERS}.items()},
}
