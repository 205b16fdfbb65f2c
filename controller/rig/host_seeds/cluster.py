"""Real controllers over a memory store, in virtual time, that drive the brokers of a host under test.

One step: the time of the controllers advances by a tick; each controller runs one pass; requests arrive at the host;
lost registrations are made again; isr changes go to a controller; the host's own time passes by a tick; then everything
is held against the rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ....stores.base import StoreError
from ...model.errors import DuplicateBrokerRegistration
from ...model.values import NO_LEADER, BrokerRegistration, Partition, Settings, TopicPartition
from ...runtime.registrar import Registrar
from ...simulated.broker import Life
from ...simulated.clock import NodeClock, VirtualClock
from ...simulated.network import Network
from ...simulated.replica import Role
from ...simulated.store import Connection, StoreClient
from ...simulated.timeline import Timeline
from ..committed import CommittedTree
from ..controller_mishaps import ControllerMishaps
from ..host_suite.base import Ability, HostUnderTest
from ..host_suite.desk import Asked
from ..node import Node, State
from ..server import RecordingServer
from ..steered import leading
from . import rules
from .broker import HostedBroker, Place
from .desk import SeededDesk
from .records import Records
from .rules import Judge

TICK_MS: Final = 10
SESSION_S: Final = 1.0


class HostCluster:
    """The brokers of a host, and two controllers with `settings`. `store`: options of the MemoryServer."""

    tick_ms = TICK_MS

    def __init__(
        self, host: HostUnderTest, seed: int, brokers: Sequence[int], settings: Settings, store: dict[str, Any]
    ) -> None:
        self.seed, self.host = seed, host
        self.chance = random.Random(seed)  # noqa: S311 - seeded randomness is the aim
        self.clock = VirtualClock()
        self.timeline = Timeline(self.clock)
        self.server = RecordingServer(**store, session_timeout_s=SESSION_S, clock=self.clock.monotonic_s)
        self.judge = Judge(host.abilities)
        callbacks = host.open(brokers)
        self.brokers = {
            broker: HostedBroker(broker, host, callbacks, self.judge, lambda: self.clock.elapsed_ms)
            for broker in brokers
        }
        self.network = Network(self.brokers, self.chance, self.timeline, lambda: self.server.revision)
        self.records = Records(self.brokers, self.judge)
        self.desk = SeededDesk(self.brokers, self.network, self.chance, self.judge, lambda: self.active)
        self.desk.judged = self._judge_joins
        if Ability.ISR in host.abilities:
            host.use(self.desk)
        self.committed = CommittedTree(self.timeline)
        self.committed.load(self.server)
        self.mishaps = ControllerMishaps(self)
        self._registrars: dict[int, tuple[Registrar, Connection | StoreClient]] = {}
        parts = (self.server, self.network, settings, seed, lambda _, __: None)
        self.nodes = {node_id: Node(node_id, NodeClock(self.clock), *parts) for node_id in (101, 102)}
        for broker in brokers:
            self.register(broker)
        for node in self.nodes.values():
            node.start()

    def close(self) -> None:
        """Close the host, after the controllers and their store."""
        for node in self.nodes.values():
            node.kill()
        self.host.close()
        self.server.close()

    @property
    def active(self) -> Node | None:
        """The active node."""
        return leading(self.nodes.values())

    @property
    def partitions(self) -> Iterator[tuple[Place, Partition]]:
        """All partitions that are committed and not being deleted, with their topic ids."""
        for tp, partition in self.committed.partitions.items():
            topic = self.committed.topic(tp.topic)
            if topic is not None and tp.topic not in self.committed.deleting:
                yield (topic.topic_id, tp.partition), partition

    # --- time

    def step(self) -> None:
        """Let one tick pass. Raises RuleBroken."""
        self.clock.advance(self.tick_ms)
        self.server.tick()
        nodes = list(self.nodes.values())
        self.chance.shuffle(nodes)
        for node in nodes:
            node.tick(self.clock.now_ms(), 5 * self.tick_ms)
            node.poll()
        self.network.step(self._is_running)
        for broker in self.brokers.values():
            self._watch(broker)
        self.desk.step()
        if Ability.ISR not in self.host.abilities:
            self._ask_for_leaders()
        self.host.pass_time(self.tick_ms)
        self.desk.step()  # before a request changes what its calls are held against
        self._look()

    def until(self, what: str, holds: Callable[[], list[str]], timeout_ms: int) -> None:
        """Wait until `holds` returns nothing. Raises RuleBroken at the deadline, with what it returned."""
        end_ms = self.clock.elapsed_ms + timeout_ms
        while lines := holds():
            if self.clock.elapsed_ms >= end_ms:
                self.judge.require(holds=False, rule=rules.CONVERGES, what="\n  ".join([what, *lines[:10]]))
            self.judge.sentence()
            self.step()

    def _look(self) -> None:
        for commit in self.server.take():
            self.committed.follow(commit)
        unnamed_ms_max = 10 * self.host.quiet_ms + 2 * self.tick_ms
        for broker in self.brokers.values():
            broker.look(unnamed_ms_max)
        self.records.look(self.partitions)
        self.judge.sentence()

    def _is_running(self, marker: object) -> bool | None:
        for node in self.nodes.values():
            if node.owns(marker):
                return node.state is State.UP
        return None

    # --- brokers

    def register(self, broker_id: int) -> None:
        """The broker is registered, under a new epoch."""
        connection = self.server.connection()
        registrar = Registrar(connection, NodeClock(self.clock), 5, SESSION_S)
        self._registrars[broker_id] = (registrar, connection)
        version = self.host.leader_and_isr_version
        registration = BrokerRegistration(broker_id, f"broker-{broker_id}", 9092, leader_and_isr_version=version)
        with self.server.speaking(f"broker {broker_id}"):
            epoch = registrar.register(registration)
        self.brokers[broker_id].registered(epoch)
        self.timeline.say(f"broker {broker_id}", f"registered, epoch {epoch}")

    def unregister(self, broker_id: int, *, at_once: bool) -> None:
        """Its registration ends, at once or when its session has run out."""
        registrar, connection = self._registrars.pop(broker_id)
        for store in () if at_once else (connection, *connection.opened):
            store.disconnect()
        with self.server.speaking(f"broker {broker_id}"):
            registrar.close()
            connection.close()

    def expire(self, broker_id: int) -> None:
        """The server ends the session of a broker that lives."""
        for store in self._registrars[broker_id][1].opened:
            self.server.expire(store.session.session_id)

    def kill(self, broker_id: int, *, at_once: bool) -> None:
        """The process ends. The host starts the next one at once, but that is not registered until `start`."""
        broker = self.brokers[broker_id]
        self.unregister(broker_id, at_once=at_once)
        broker.life = Life.DOWN
        broker.ended()
        self.host.restart(broker_id)

    def start(self, broker_id: int) -> None:
        """A broker that was killed is up, and registered."""
        self.brokers[broker_id].life = Life.UP
        self.register(broker_id)

    def replace_disk(self, broker_id: int) -> None:
        """An empty disk replaces the one that failed, perhaps by a restart of the broker."""
        broker = self.brokers[broker_id]
        if broker_id in self._registrars:
            self.unregister(broker_id, at_once=True)
        broker.ended()
        broker.disk_is_gone = False
        self.host.replace_disk(broker_id)
        self.start(broker_id)

    def _watch(self, broker: HostedBroker) -> None:
        if broker.broker_id not in self._registrars:
            return
        registrar = self._registrars[broker.broker_id][0]
        with self.server.speaking(f"broker {broker.broker_id}"):
            try:
                registrar.watch()
            except (StoreError, DuplicateBrokerRegistration):
                return
        epoch = registrar.epoch_of(broker.broker_id)
        if epoch is not None and epoch != broker.epoch:
            broker.registered(epoch)
            self.timeline.say(f"broker {broker.broker_id}", f"registered again, epoch {epoch}")

    # --- isr

    def _judge_joins(self, asked: Asked, place: Place) -> None:
        p = self.committed.partitions.get(asked.tp)
        if p is None or (p.leader, p.leader_epoch) != (asked.leader, asked.leader_epoch):
            return
        known = self.records.acknowledged(place)
        for member in set(asked.isr) - set(p.isr):
            broker = self.brokers[member]
            held = broker.held(place) if place in broker.names else None
            end = 0 if held is None else held.end_offset
            said = f"broker {asked.leader} adds {member} to the isr of {asked.tp}, whose log ends at {end}"
            is_whole = end >= known or place in broker.lost
            self.judge.require(is_whole, rules.JOINS, f"{said}: {known} records are acknowledged")

    def _ask_for_leaders(self) -> None:
        """Where leaders do not call alter_isr, each replica that follows is in sync."""
        for place, p in self.partitions:
            if p.leader != NO_LEADER and self.brokers[p.leader].is_up and self.clock.elapsed_ms % 100 == 0:
                joined = [b for b in p.members if b not in p.isr and self._follows(b, place, p)]
                if joined and self.active is not None and self.active.controller is not None:
                    epochs = (p.leader_epoch, self.committed.partition_epochs[p.tp])
                    epoch = self.brokers[p.leader].epoch
                    self.active.controller.alter_isr(p.tp, p.leader, *epochs, (*p.isr, *joined), epoch)

    def _follows(self, broker_id: int, place: Place, p: Partition) -> bool:
        broker = self.brokers[broker_id]
        held = broker.held(place) if broker.is_up and place in broker.names else None
        return held is not None and (held.role, held.leader_epoch) == (Role.FOLLOWER, p.leader_epoch)

    # --- requests

    def append(self, broker_id: int, tp: TopicPartition, records: int) -> int:
        """Write records to a broker; returns how many it took. Only a leader takes some."""
        broker = self.brokers[broker_id]
        places = [place for place, name in broker.names.items() if name == tp]
        held = [one for place in places if (one := broker.held(place)) is not None]
        taken = self.host.append(broker_id, tp, records) if broker.is_up else 0
        leads = any(one.role is Role.LEADER for one in held)
        who = f"broker {broker_id} took {taken} records for {tp}, of which it has {held}"
        self.judge.require(leads or not taken, rules.APPENDS, who)
        return taken
