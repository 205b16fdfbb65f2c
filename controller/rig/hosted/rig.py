"""Real controllers over a memory store, in virtual time, that drive the brokers of a host under test.

One step: the time of the controllers advances by a tick; each controller runs one pass; requests arrive at the host;
lost registrations are made again; isr changes go to a controller; the host's own time passes by a tick; then everything
is held against the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ...model.requests import NewTopic
from ...model.values import NO_LEADER, BrokerRegistration, Partition, Settings, TopicPartition
from ...simulated.broker import Life
from ...simulated.clock import NodeClock, VirtualClock
from ...simulated.registration import Registration
from ...simulated.replica import Role
from ..controller_mishaps import ControllerMishaps
from ..controllers import Controllers
from ..node import Node
from ..server import RecordingServer
from . import rules
from .agreement import differences
from .broker import HostedBroker, Place
from .isr_link import IsrLink
from .records import Records
from .rules import Judge
from .under_test import Ability, HostUnderTest

TICK_MS: Final = 10
SESSION_S: Final = 1.0
REGISTRATION_VERSION: Final = 5


class HostRig(Controllers):
    """The brokers of a host, and two controllers. `store`: options of the MemoryServer. Any step raises RuleBroken."""

    brokers: dict[int, HostedBroker]

    def __init__(
        self,
        host: HostUnderTest,
        seed: int = 1,
        *,
        brokers: Sequence[int] = (1, 2, 3),
        settings: Settings | None = None,
        **store: Any,
    ) -> None:
        self.host = host
        self.judge = Judge(host.abilities)
        clock = VirtualClock()
        callbacks = host.open(brokers)
        hosted = {b: HostedBroker(b, host, callbacks, self.judge, lambda: clock.elapsed_ms) for b in brokers}
        server = RecordingServer(**store, session_timeout_s=SESSION_S, clock=clock.monotonic_s)
        super().__init__(seed, hosted, clock=clock, server=server, settings=settings or Settings(), tick_ms=TICK_MS)
        self.brokers = hosted
        self.polls_in_order = False
        self.records = Records(self.brokers, self.judge)
        self.isr_link = IsrLink(self.brokers, self.network, self.chance, self.judge, lambda: self.active)
        self.isr_link.judged = lambda call, place: self.records.joins(call, place, self.committed)
        if Ability.ISR in host.abilities:
            host.use(self.isr_link.updater)
        self.committed.load(self.server)
        self.mishaps = ControllerMishaps(self)
        of_all = (NodeClock(clock), self.server, self.timeline, REGISTRATION_VERSION)
        self._registrations = {b: Registration(f"broker {b}", *of_all) for b in brokers}
        parts = (self.server, self.network, self.settings, seed, lambda _, __: None)
        self.nodes = {node_id: Node(node_id, NodeClock(clock), *parts) for node_id in (101, 102)}
        for broker in brokers:
            self.register(broker)
        for node in self.nodes.values():
            node.start()

    def close(self) -> None:
        """End the controllers and their store. The host stays open."""
        for node in self.nodes.values():
            node.kill()
        self.server.close()

    @property
    def partitions(self) -> Iterator[tuple[Place, Partition]]:
        """All partitions that are committed and not being deleted, with their topic ids."""
        for tp, partition in self.committed.partitions.items():
            topic = self.committed.topic(tp.topic)
            if topic is not None and tp.topic not in self.committed.deleting:
                yield (topic.topic_id, tp.partition), partition

    def describe(self) -> str:
        """Where brokers and store differ, and the end of the timeline."""
        return "\n".join([*self._differences()[:10], "the last of the timeline:", *self.timeline.lines(25)])

    def _differences(self) -> list[str]:
        if self.active is None:
            return ["no controller is active"]
        return differences(self.brokers, self.committed, self.partitions, self.records)

    # --- time

    def step(self) -> bool:
        """Let one tick pass. Raises RuleBroken."""
        moved = self.poll()
        moved |= self.network.step(self.is_running)
        for broker in self.brokers.values():
            self._watch(broker)
        self.isr_link.step()
        if Ability.ISR not in self.host.abilities:
            self._ask_for_leaders()
        self.host.pass_time(self.tick_ms)
        self.isr_link.step()  # before a request changes what its calls are held against
        self._look()
        return moved

    def converge(self, what: str, timeout_ms: int, also: Callable[[], object] = lambda: True) -> None:
        """Wait until brokers and store agree, and `also()` is true. Raises RuleBroken at the deadline."""
        end_ms = self.clock.elapsed_ms + timeout_ms
        while (lines := self._differences()) or not also():
            if self.clock.elapsed_ms >= end_ms:
                found = lines or [f"committed are {list(self.committed.partitions.values())}"]
                self.judge.require(holds=False, rule=rules.CONVERGES, what="\n  ".join([what, *found[:10]]))
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

    # --- brokers

    def register(self, broker_id: int) -> None:
        """The broker is registered, under a new epoch."""
        version = self.host.leader_and_isr_version
        broker = BrokerRegistration(broker_id, f"broker-{broker_id}", 9092, leader_and_isr_version=version)
        self.brokers[broker_id].registered(self._registrations[broker_id].begin(broker))

    def unregister(self, broker_id: int, *, at_once: bool) -> None:
        """Its registration ends, at once or when its session has run out."""
        self._registrations[broker_id].end(at_once=at_once)

    def expire(self, broker_id: int) -> None:
        """The server ends the session of a broker that lives."""
        self._registrations[broker_id].expire()

    def kill(self, broker_id: int, *, at_once: bool) -> None:
        """The process ends. The host starts the next one at once, but that is not registered until `start`."""
        self.unregister(broker_id, at_once=at_once)
        self.brokers[broker_id].life = Life.DOWN
        self._ended(broker_id)
        self.host.restart(broker_id)

    def start(self, broker_id: int) -> None:
        """A broker that was killed is up, and registered."""
        self.brokers[broker_id].life = Life.UP
        self.register(broker_id)

    def fail_next(self, broker_id: int) -> None:
        """The next callback to the broker raises."""
        self.brokers[broker_id].is_to_fail = True
        self.host.fail_next(broker_id)

    def lose_disk(self, broker_id: int, place: Place) -> None:
        """The disk with this replica fails, and the broker is registered again."""
        broker = self.brokers[broker_id]
        broker.disk_is_gone = True
        broker.lost.add(place)
        self.host.lose_disk(broker_id, broker.names[place])
        self.expire(broker_id)

    def replace_disk(self, broker_id: int) -> None:
        """An empty disk replaces the one that failed, perhaps by a restart of the broker."""
        self.unregister(broker_id, at_once=True)
        self._ended(broker_id)
        self.brokers[broker_id].disk_is_gone = False
        self.host.replace_disk(broker_id)
        self.start(broker_id)

    def _ended(self, broker_id: int) -> None:
        self.brokers[broker_id].ended()
        self.isr_link.ended(broker_id)

    def _watch(self, broker: HostedBroker) -> None:
        epoch = self._registrations[broker.broker_id].renew(broker.broker_id, broker.epoch)
        if epoch != broker.epoch:
            broker.registered(epoch)

    # --- isr

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

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]]) -> list[TopicPartition]:
        """Create a topic; returns its partitions. Time passes until they are committed."""
        self.result(self.admin.create_topics({name: NewTopic(-1, -1, replicas)}).all())
        tps = [TopicPartition(name, number) for number in range(len(replicas))]
        self.until(lambda: self.committed.partitions.keys() >= set(tps), what=f"the partitions of {name} are committed")
        return tps

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
