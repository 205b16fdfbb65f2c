"""The rig itself: real controllers over a memory store, simulated brokers, virtual time, one seeded source of chance.

One step, in this order: the time advances by a tick; each controller runs one pass of its loop; callbacks of the former
step arrive; brokers take answers, copy and send requests; producers write; all commits are checked against the
invariants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ...stores.memory import MemoryServer
from ...stores.tree import TreeEntry
from ..model.requests import DeletePartitions, NewTopic
from ..model.values import TARGETS_SINCE, BrokerRegistration, Settings, TopicPartition
from ..quota import Family, Side
from ..simulated.agent import BrokerAgent
from ..simulated.broker import Broker
from ..simulated.clock import NodeClock, VirtualClock
from ..simulated.copying import Copying
from ..simulated.flows import Flow
from ..simulated.network import Sent
from ..simulated.registration import Registration
from .clients import Clients
from .committed import CommittedTree
from .invariants import Invariants
from .mishaps import Mishaps
from .node import Node
from .operators import Operators
from .parts import Parts
from .planting import plant
from .producers import Producers, Writer
from .server import RecordingServer
from .waits import Waits, describe

T = TypeVar("T")


class Rig(Parts):
    """A cluster in this process.

    `seed`: of all random choices. `brokers`: broker id -> rack (None = no rack). `controllers`: the number of nodes,
    with the ids 101, 102, ...; one of them becomes active. `tree`: the initial content of the store, entries of
    `kedge.stores.tree` or a MemoryServer whose keys are copied; its replicas have `tree_records` records each if they
    are in sync, and none if they are not.
    `store`: options of the MemoryServer; `server`: another one, as that of `kedge.controller.rig.served`. `tick_ms`:
    the length of a step. `copy_rate_bytes_s`: into each broker, None = unlimited. `lag_max_ms`: how long a follower may
    be behind before its leader removes it from the isr. `journal`: makes the journal of a node, by its id.
    `leader_and_isr_versions`: broker id -> version, for those that are older than 3.
    `check`: check every commit and every callback against the invariants, and raise InvariantBroken.
    """

    def __init__(
        self,
        seed: int = 1,
        *,
        brokers: Mapping[int, str | None] | None = None,
        controllers: int = 2,
        settings: Settings | None = None,
        tree: Iterable[TreeEntry] | MemoryServer | None = None,
        tree_records: int = 1000,
        record_bytes: int = 1000,
        tick_ms: int = 10,
        session_timeout_s: float = 6.0,
        lag_max_ms: int = 2_000,
        copy_rate_bytes_s: int | None = None,
        store: Mapping[str, Any] | None = None,
        server: RecordingServer | None = None,
        journal: Callable[[int], Any] | None = None,
        leader_and_isr_versions: Mapping[int, int] | None = None,
        check: bool = True,
    ) -> None:
        clock = VirtualClock()
        self._session = {"session_timeout_s": session_timeout_s, "clock": clock.monotonic_s}
        server = RecordingServer(**{**(store or {}), **self._session}) if server is None else server
        self.brokers: dict[int, Broker] = {}
        super().__init__(
            seed, self.brokers, clock=clock, server=server, settings=settings or Settings(), tick_ms=tick_ms
        )
        self.record_bytes = record_bytes
        self._journal = journal
        self.asked_targets: dict[TopicPartition, set[tuple[int, ...]]] = {}
        self.mishaps: Mishaps = Mishaps(self)
        self.wait = Waits(self)
        self.broken_keys: dict[str, tuple[bytes, bytes]] = {}
        self.foreign_fields: dict[str, set[str]] = {}
        self.operators = Operators()
        self.nodes = {101 + i: self._node(101 + i) for i in range(controllers)}
        self.copying = Copying(self.brokers, self.timeline, copy_rate_bytes_s)
        self.producers = Producers(self.brokers, self.clock)
        self.clients = Clients(self.brokers, self.clock, self.producers)
        self.invariants = Invariants(self, enabled=check)
        self.network.observe, self.network.observe_purge = self.invariants.sent, self.clients.purged
        self.duties: dict[int, BrokerAgent] = {}
        self.quiet_steps = 0
        self.lag_max_ms = lag_max_ms
        versions = leader_and_isr_versions or {}
        self.has_old_versions = any(version < TARGETS_SINCE for version in versions.values())
        for broker_id, rack in (brokers if brokers is not None else {1: "a", 2: "b", 3: "c"}).items():
            self._add_broker(broker_id, rack, versions.get(broker_id, TARGETS_SINCE))
        if tree is not None:
            plant(self, tree, tree_records)
            self.operators.load(self.server)
        self.committed.load(self.server)
        self.operators.partitions = self.committed.partitions
        for duties in self.duties.values():
            duties.register()
        for node in self.nodes.values():
            node.start()

    # --- time

    def step(self) -> bool:
        """Let one tick pass. Returns whether anything happened in it that may lead to more."""
        moved = self.poll()
        moved |= self.invariants.step()
        moved |= self.network.step(self.is_running)
        for duties in self.duties.values():
            if duties.broker.is_up:
                moved |= duties.watch()
        moved |= self.copying.step(self.tick_ms) > 0 or self.copying.is_held_up
        self.copying.flows.step(self.clock.elapsed_ms)
        for duties in self.duties.values():
            if duties.broker.is_up:
                moved |= duties.step()
                duties.report()
        self.clients.step(self.tick_ms)
        self.producers.step(self.tick_ms)
        moved |= self.invariants.step()
        if not moved:
            self.server.rest()
        self.quiet_steps = 0 if moved else self.quiet_steps + 1
        return moved

    def describe(self) -> str:
        """The present state, to find the cause of a failure."""
        return describe(self)

    # --- the state of the cluster

    def requests(self, kind: type | None = None, broker: int | None = None) -> list[Sent]:
        """The request log: every callback that was sent; optionally of one kind, to one broker."""
        return [
            sent
            for sent in self.network.requests
            if (kind is None or isinstance(sent.request, kind)) and (broker is None or sent.broker_id == broker)
        ]

    def watch_flow(self, broker: int, side: Side, family: Family | None = "reassignment") -> Flow:
        """The flow from now on out of the leaders on a broker, or into the followers there, for the replicas to which a
        family of quotas applies (None: all)."""
        return self.copying.flows.watch(self.clock.elapsed_ms, broker, side, family)

    def check_end(self) -> None:
        """Check what must hold at the end: all agree, nothing is left to delete, nothing acknowledged is lost. Raises
        InvariantBroken."""
        self.invariants.end()

    # --- another store

    def follow(self, server: RecordingServer) -> None:
        """The cluster was moved to `server` while no controller ran: brokers and controllers continue there."""
        self.invariants.step()
        self.server = server
        self.committed = CommittedTree(self.timeline)
        self.committed.load(server)
        self.operators.partitions = self.committed.partitions
        self.operators.moved(server)
        for duties in self.duties.values():
            was_open = duties.registration.is_open
            duties.leave(at_once=True)
            duties.registration.server = server
            if was_open:
                duties.register()
        for node in self.nodes.values():
            node.server = server
            node.start()

    # --- requests

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 3,
        *,
        replicas: Sequence[Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
        records: int = 0,
    ) -> list[TopicPartition]:
        """Create a topic, with leaders and `records` acknowledged records in each partition; returns its partitions.
        Time passes."""
        count, factor = (-1, -1) if replicas is not None else (partitions, replication_factor)
        new = NewTopic(count, factor, replicas, configs or {})
        described = self.result(self.admin.create_topics({name: new})[name])
        tps = [TopicPartition(name, partition) for partition in range(len(described.assignments))]
        self.until(lambda: all(self.leader(tp) is not None for tp in tps), what=f"{name} is led")
        if records:
            self.fill(tps, records)
        return tps

    def delete_topic(self, name: str, *, wait: bool = True) -> None:
        """The deletion of a topic is accepted; with `wait`, it is complete. Time passes."""
        self.result(self.admin.delete_topics([name]).all())
        if wait:
            self.until(lambda: name not in self.committed.topics, what=f"{name} is deleted")

    def delete_partitions(self, name: str, total_count: int, *, immediate: bool = False) -> dict[int, int]:
        """Reduce a topic's partitions; returns the status of each that is removed. Raises the error of a refusal. Time
        passes until it is committed."""
        asked = self.admin.delete_partitions({name: DeletePartitions(total_count, immediate)})
        return self.result(asked[name])

    def forget_broker(self, broker_id: int) -> None:
        """The cluster no longer waits for a broker. Raises the error of a refusal. Time passes."""
        self.result(self.admin.forget_broker(broker_id))

    def fill(self, tps: Iterable[TopicPartition], records: int, record_bytes: int | None = None) -> None:
        """Add records to each partition, on all replicas in sync, as if written long ago: copying these takes no time.
        Time passes until they are acknowledged."""
        for tp in tps:
            self.produce(tp, records, record_bytes)
            for broker in self.partition(tp).isr:
                self.copying.fill(self.brokers[broker], tp)
        self.until(lambda: self.producers.waiting == 0, what="the records are acknowledged")

    def produce(self, tp: TopicPartition, records: int, record_bytes: int | None = None) -> int:
        """Write records to the leader of `tp` at once, acks=all; returns how many it took (0: there is no leader)."""
        return self.producers.write(tp, records, self.record_bytes if record_bytes is None else record_bytes)

    def write(
        self, partitions: Iterable[TopicPartition], records_per_s: float, record_bytes: int | None = None
    ) -> Writer:
        """Write `records_per_s` records a second from now on, over all `partitions`, until the Writer is stopped."""
        size = self.record_bytes if record_bytes is None else record_bytes
        writer = Writer(tuple(partitions), records_per_s, size)
        self.producers.writers.append(writer)
        return writer

    # --- construction

    def _node(self, node_id: int) -> Node:
        parts = (NodeClock(self.clock), self.server, self.network, self.settings, self.seed, self._note_target)
        return Node(node_id, *parts, self._journal, operators=self.operators)

    def _note_target(self, tp: TopicPartition, target: tuple[int, ...]) -> None:
        """Called as the policy of every controller: records targets for the invariants. Never refuses."""
        self.asked_targets.setdefault(tp, set()).add(target)

    def _add_broker(self, broker_id: int, rack: str | None, version: int) -> None:
        registration = BrokerRegistration(broker_id, f"broker-{broker_id}", 9092, rack, leader_and_isr_version=version)
        broker = Broker(registration, NodeClock(self.clock))
        self.brokers[broker_id] = broker
        own = Registration(
            f"broker {broker_id}", broker.clock, self.server, self.timeline, self.settings.registration_version
        )
        parts = (self.clock, self.nodes, self.network, self.timeline, self.lag_max_ms)
        self.duties[broker_id] = BrokerAgent(broker, own, *parts, self.invariants.partitions.proposed)
