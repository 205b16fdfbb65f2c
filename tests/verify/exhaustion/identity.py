"""What makes two states of a small world one: the rules of `walk` for controllers, brokers and what is between them.

* Copying takes no time here, so a follower that fetched is at its leader's end, and how long one lags counts for those
  in the isr alone.
* A stand-by's next candidature counts only while no other holds `/controller`: when that goes, it is hinted, and a
  hint makes the stand-by stand at once. Other hints that it has not heard do not count: with its next pass it drops
  them, and a takeover loads everything.
* Items that came in are taken in together. Hints among them are flags, and a round that came back with nothing to
  decide touches the lane of its broker alone: their order does not count, that of the others does.
* Controllers count by their roles, as `roles` says.
* What the invariants remember beyond the present state counts as far as they may need it again: which replicas the
  leader of the present epoch named, what was requested, and whether each callback under way might arrive without
  breaking one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kedge.controller.codec import keys
from kedge.controller.rig.node import Node, Process
from kedge.controller.rig.rig import Rig
from kedge.controller.runtime.inbox import Hint, Sent
from kedge.stores.recipes import LEADER_KEY
from tests.verify.exhaustion.roles import by_role
from tests.verify.exhaustion.stored import (
    BROKER_EPOCH,
    CONTROLLER_EPOCH,
    LEADER_EPOCH,
    PARTITION_EPOCH,
    SEQ,
    SESSION,
    Stored,
    where,
)
from tests.verify.exhaustion.walk import Tell

_WIRING: Final = ["services", "_services", "_lock", "clock", "_clock", "_host", "_executor", "_inbox", "_store"]
_FOR_PEOPLE: Final = ["findings", "_findings"]
_WRITTEN_DOWN: Final = ["now_ms", "started_ms"]
_BACK_OFF: Final = ["retry_ms", "intents_ms", "delay_ms"]  # a wait is longer than the longest
_LEFT_OUT_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "Loop": ("subscription", "driver", "_was_driven", "_registrar", "_stand_at_ms"),
    "Term": ("counts", "_publisher"),
    "Job": ("cause", "request", "since_s"),
    "WorkQueue": ("_now_s",),
    "Result": ("why",),
    # Derived from the rows; or counted with the keys that they belong to, see `state`.
    "ClusterState": ("settings", "_index", "_names", "moves", "listing", "versions", "topics", "admitted",
                     "tally", "entity_configs"),
    "Changes": ("_seen",),
    "NewIntents": ("seq_max",),
    "Broker": ("registration", "deleted", "topics_version"),
    "Replica": ("followers",),
    "_Own": ("registration",),
    "BrokerAgent": ("nodes", "network", "timeline", "lag_max_ms", "proposed", "_reported_ms"),
    "Registration": ("server", "timeline", "version", "_connection"),
}  # fmt: skip


def _rank(kind: str) -> Tell:
    return lambda walk, value: walk.rank(kind, value)


def _ranks(kind: str) -> Tell:
    """A mapping to ranks, or ranks in a row."""

    def tell(walk: Telling, values: Any) -> None:
        for key in sorted(values) if isinstance(values, Mapping) else range(len(values)):
            walk.thing(key)
            walk.rank(kind, values[key])

    return tell


class Telling(Stored):
    """A walk over a rig."""

    fields: ClassVar[Mapping[str | tuple[str, str], Tell | None]]
    kinds: ClassVar[Mapping[str, Tell | None]]
    plans: ClassVar[dict[Any, Any]] = {}

    def __init__(self, rig: Rig, wait_ms: int, leader: Node | None = None) -> None:
        """`leader`: the controller that leads to the end, if there is one."""
        super().__init__(rig.server, rig.clock.elapsed_ms, wait_ms)
        self.rig = rig
        self.leader = leader
        self.nodes = by_role(rig.nodes.values())
        self.roles = {node.node_id: f"node {place}" for place, node in enumerate(self.nodes)}
        self.from_wall_ms = rig.clock.elapsed_ms - rig.clock.now_ms()
        self.wall_ms = rig.clock.now_ms()  # by the clock of the node that is described

    def all(self, budget: object) -> bytes:
        """A hash of the whole world, and of what else may happen in it."""
        rig = self.rig
        self.say(budget)
        self.store()
        for node in self.nodes:
            self._node(node)
        for broker_id, broker in rig.brokers.items():
            self.thing(broker)
            self.thing(rig.duties[broker_id])
        self._under_way()
        self.thing(rig.producers._waiting)  # noqa: SLF001 - a walk looks inside
        self.thing(rig.producers._runs)  # noqa: SLF001
        self._remembered()
        return self.digest()

    # --- controllers

    def role(self, node_id: int | None) -> None:
        """A controller, by what it does."""
        self.say(None if node_id is None else self.roles[node_id])

    def _node(self, node: Node) -> None:
        for store in node.buried:
            self.late_commits(store)
        if self.leader not in (None, node):
            if node.process is not None:
                self.late_commits(node.process.store)
            return
        self.say(node.clock.skew_ms)
        self.wall_ms = node.clock.now_ms()
        if node.process is not None and not self.has_met(node.process):
            self._process(node.process)
        self.wall_ms = self.rig.clock.now_ms()

    def _process(self, process: Process) -> None:
        controller: Any = process.controller
        stands_by = controller._loop.term is None  # noqa: SLF001
        self.node_store(process.store, (LEADER_KEY,) if stands_by else None)
        services = controller._services  # noqa: SLF001
        self._items(services.inbox._items)  # noqa: SLF001
        self.say(len(services.outstanding))
        self.thing(controller._loop)  # noqa: SLF001
        self.thing(controller._registrar)  # noqa: SLF001

    def _items(self, items: Any) -> None:
        self.each(sorted({where(item.event) for item in items if isinstance(item, Hint)}))
        plain = {item.broker: item for item in items if isinstance(item, Sent) and _is_plain(item.outcome)}
        for _, item in sorted(plain.items()):
            self.thing(item.outcome)
        for item in items:
            if not isinstance(item, Hint) and not (isinstance(item, Sent) and plain.get(item.broker) is item):
                self.thing(item)

    def loop(self, loop: Any) -> None:
        self.whole(loop)
        row = self.rows.get(LEADER_KEY)
        is_held = row is not None and row[4] != loop.services.store.session.session_id
        self.due(None if loop.term is not None or is_held else loop._stand_at_ms)  # noqa: SLF001

    def state(self, state: Any) -> None:
        if id(state) not in self.met:
            self.whole(state)
            for name, row in sorted(state.topics.items()):
                self.say(name)
                self.thing(row.topic)
                self.thing(row.configs)
                for place, number in enumerate(row.numbers):
                    self.say((number, self.holds(keys.state(name, place), state.versions.states[number])))
            for entity, configs in sorted(state.entity_configs.items(), key=lambda row: str(row[0])):
                self.say(str(entity))
                self.thing(configs)
            for broker, epoch in sorted(state.admitted.items()):
                self.say(broker)
                self.rank(BROKER_EPOCH, epoch)

    def versions(self, versions: Any) -> None:
        """Whether each key is as it is known. Numbers of keys of intents are ranked by `intents`."""
        _ranks(PARTITION_EPOCH)(self, versions.generations)
        for parent, known in sorted(versions._below.items()):  # noqa: SLF001 - a walk looks inside
            is_numbered = parent.startswith(keys.REPLICA_DELETIONS)
            for name, version in sorted(known.items(), key=lambda one: int(one[0]) if is_numbered else one[0]):
                self.say((parent, None if is_numbered else name, self.holds(f"{parent}/{name}", version)))

    def intents(self, intents: Any) -> None:
        for (broker, seq), count in sorted(intents.keys.items()):
            self.say((broker, count))
            self.rank(SEQ, seq)
        for broker, slots in sorted(intents._open.items()):  # noqa: SLF001
            self.say(broker)
            for _, intent in sorted(slots.items()):
                self.thing(intent)
                self.rank(SEQ, intents.seq_of(intent))

    def dispatcher(self, dispatcher: Any) -> None:
        """Of its log count the partitions behind the place of each lane, and of each round that may come back."""
        if not self.has_met(dispatcher):
            lanes, busy = dispatcher._lanes, dispatcher._busy  # noqa: SLF001
            log, first = dispatcher._log, dispatcher._log_from  # noqa: SLF001
            self.thing(lanes)
            self.thing(busy)
            for _, lane in sorted(lanes.items()):
                self.each(sorted(set(log[lane.metadata_at - first :])))
            for _, sending in sorted(busy.items()):
                self.say(sending.metadata_from < first)
                self.each(sorted(set(log[max(0, sending.metadata_from - first) :])))

    # --- brokers, and what is on its way to them

    def replica(self, replica: Any) -> None:
        if id(replica) in self.met:
            self.has_met(replica)
            return
        self.whole(replica)
        for follower, seen in sorted(replica.followers.items()):
            self.say((follower, seen.end_offset))
            if follower in replica.isr:
                self.due(seen.caught_up_ms + self.from_wall_ms + self.rig.lag_max_ms + 1)

    def _under_way(self) -> None:
        rig, network = self.rig, self.rig.network
        self.rank(CONTROLLER_EPOCH, network._newest_controller_epoch)  # noqa: SLF001
        for one in sorted(network._rounds, key=lambda one: (self.roles[one.controller_id], one.broker)):  # noqa: SLF001
            self.role(one.controller_id)
            self.say(one.broker)
            sending: Any = one.call.args[1]  # type: ignore[attr-defined]
            self.thing(sending)
            for request in (sending.leader_and_isr, sending.update_metadata, sending.stop_replica):
                self.say(request is None or rig.invariants.allows(request, one.revision))
        for _, request, revision in network._late:  # noqa: SLF001
            self.thing(request)
            self.say(rig.invariants.allows(request, revision))

    def _remembered(self) -> None:
        rig = self.rig
        for tp, partition in rig.committed.partitions.items():
            epochs = (partition.leader_epoch, rig.committed.partition_epochs[tp])
            self.each(sorted(rig.invariants.partitions.named_since(tp, *epochs)))
            self.each(sorted(rig.asked_targets.get(tp, ())))
        self.each(sorted(rig.committed.foreign))

    # --- times

    def wall_dues(self, times: Mapping[Any, int]) -> None:
        self.dues({key: at_ms + self.from_wall_ms for key, at_ms in times.items()})

    def dues(self, times: Mapping[Any, int]) -> None:
        for key, at_ms in sorted(times.items(), key=str):
            self.thing(key)
            self.due(at_ms)


def _is_plain(sending: Any) -> bool:
    return sending.error is not None or not (sending.errors or sending.intents)


def _suspended(walk: Telling, since_s: float | None) -> None:
    walk.due(None if since_s is None else (since_s + walk.server.session_timeout_s) * 1000)


Telling.fields = {
    **dict.fromkeys((*_WIRING, *_FOR_PEOPLE, *_WRITTEN_DOWN, *_BACK_OFF)),
    **dict.fromkeys((of, name) for of, names in _LEFT_OUT_OF.items() for name in names),
    **dict.fromkeys(
        ("controller_id", "active_id", "_node_id", "_asked_node"), lambda walk, node_id: walk.role(node_id)
    ),
    # Epochs and sessions.
    "leader_epoch": _rank(LEADER_EPOCH),
    ("Broker", "deleted_at"): _ranks(LEADER_EPOCH),
    ("Broker", "quotas"): None,  # no limit is set in a small world
    "partition_epoch": _rank(PARTITION_EPOCH),
    "generations": _ranks(PARTITION_EPOCH),
    "controller_epoch": _rank(CONTROLLER_EPOCH),
    **dict.fromkeys(("broker_epoch", "epoch"), _rank(BROKER_EPOCH)),
    "dying": _ranks(BROKER_EPOCH),
    **dict.fromkeys(("metadata_at", "metadata_from")),  # see `dispatcher`
    **dict.fromkeys(("session_id", "_session_id"), lambda walk, value: walk.name(SESSION, value)),
    ("_Asking", "node"): lambda walk, node_id: walk.role(None if node_id < 0 else node_id),
    ("_Asking", "process"): lambda walk, process: walk.say(process is None or walk.met.get(id(process), "gone")),
    ("Loop", "_lost"): lambda walk, why: walk.say(why is not None),
    # These look at all their keys, whichever was hinted at.
    **dict.fromkeys(
        [(kind, "hinted") for kind in ("Registrations", "Deletions", "Reductions", "LegacyPlan")],
        lambda walk, hinted: walk.say(bool(hinted)),
    ),
    # Times.
    **dict.fromkeys(
        ["retry_at_ms", "intents_at_ms", "due_ms", "deadline_ms", "_look_again_ms", "_recheck_ms", "next_due_ms"],
        lambda walk, at_ms: walk.due(at_ms),
    ),
    ("_Asking", "retry_at_ms"): lambda walk, at_ms: walk.due(at_ms + walk.from_wall_ms),
    "_ask_at": lambda walk, times: walk.wall_dues(times),
    **dict.fromkeys(("_late_topics", "_held"), lambda walk, times: walk.dues(times)),
    "_deadline_s": lambda walk, at_s: walk.due(at_s * 1000),
    "_suspended_at_s": _suspended,
    ("Move", "deadline_ms"): lambda walk, at_ms: walk.say(None if at_ms is None else at_ms <= walk.wall_ms),
    "_deadlines": lambda walk, found: walk.each([(at_ms <= walk.wall_ms, *rest) for at_ms, *rest in found]),
}
Telling.kinds = {
    **dict.fromkeys(
        ("Services", "Settings", "Publisher", "Inbox", "Journal", "BrokerRegistration", "Random", "Writer")
    ),
    "Retirements": None,  # the small world asks for no reduction
    **dict.fromkeys(("Put", "Delete", "Check"), Telling.op),
    **dict.fromkeys(("MemoryStore", "Connection"), Telling.memory_store),
    "NodeStore": Telling.node_store,
    "Attempt": Telling.attempt,
    "Fence": Telling.fence,
    "KeyVersion": Telling.key_version,
    "Loop": Telling.loop,
    "ClusterState": Telling.state,
    "Rows": Telling.each,
    "Intents": Telling.intents,
    "Dispatcher": Telling.dispatcher,
    "KeyContext": None,
    "Versions": Telling.versions,
    "Replica": Telling.replica,
    "LivePeer": lambda walk, peer: walk.say(peer.broker_id),
}
