"""Random sequences of events on the pure machine, beside a small model of what a move is.

Every Decision is held to the invariants, undone and done again (`tests.rules.world`); after every commit the store is
held to what a takeover would load from it.
"""

from __future__ import annotations

from typing import Any

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kedge.controller.codec import keys
from kedge.controller.model import events as e
from kedge.controller.model.errors import ApiError
from kedge.controller.model.records import KeyAt
from kedge.controller.model.values import Broker, BrokerRegistration, Partition, Replicas
from tests.rules.invariants import steps_of
from tests.rules.world import Ran, World

BROKERS = (1, 2, 3, 4, 5, 6)
TOPICS = ("a", "b")
NAMES = st.sampled_from([("a", 0), ("a", 1), ("b", 0)])
LISTS = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True).map(tuple)


class Cluster(RuleBasedStateMachine):
    """Three partitions on six brokers."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.targets: dict[tuple[str, int], Replicas] = {}  # the model: what is to be R in the end
        self.epochs: dict[tuple[str, int], int] = {}
        self.registered = 1

    @initialize(first=LISTS, second=LISTS, third=LISTS)
    def plant(self, first: Replicas, second: Replicas, third: Replicas) -> None:
        for broker in BROKERS:
            self.world.plant_broker(broker)
        for (topic, number), replicas in zip((("a", 0), ("a", 1), ("b", 0)), (first, second, third), strict=True):
            self.world.plant(Partition(topic, number, replicas, replicas, replicas[0], 0))

    def run_event(self, event: e.Event) -> Ran:
        ran = self.world.run(event)
        for step in steps_of(ran.records):
            if step.event == "TargetCleared":
                del self.targets[step.after.topic, step.after.partition]
        return ran

    def alive(self) -> set[int]:
        return set(self.world.state.brokers) - set(self.world.state.shutting_down)

    @rule(broker=st.sampled_from(BROKERS))
    def shut_down(self, broker: int) -> None:
        live = self.world.state.brokers.get(broker)
        ran = self.run_event(e.ShutdownAsked(self.world.now_ms, broker, live.epoch if live else 0))
        if live is None:
            assert isinstance(ran.reply, ApiError)
            return
        assert isinstance(ran.reply, tuple)
        gone = self.world.state.gone_copy()
        for tp in ran.reply:
            p = self.world.partition(tp.topic, tp.partition)
            able = [b for b in p.isr if b in self.alive() and (tp.topic, tp.partition, b) not in gone]
            assert p.leader == broker
            assert not able, f"{able} could lead {p}"

    @rule(percentage=st.sampled_from([0, 10, 50]))
    def rebalance(self, percentage: int) -> None:
        state = self.world.state
        state.settings = attrs.evolve(state.settings, leader_imbalance_per_broker_percentage=percentage)
        self.run_event(e.RebalanceDue(self.world.now_ms))
        gone = state.gone_copy()
        for p in state.partitions() if percentage == 0 else ():
            first = p.replicas[0]
            able = first in p.isr and first in self.alive() and (p.topic, p.partition, first) not in gone
            assert p.leader == first or not able, f"{first} is preferred: {p}"

    @rule(topic=st.sampled_from(TOPICS), unclean=st.booleans())
    def configure(self, topic: str, unclean: bool) -> None:
        configs = {"unclean.leader.election.enable": str(unclean).lower()}
        path = keys.topic_config(topic)
        at = KeyAt(path, self.world.state.versions.of(path) + 1)
        self.run_event(e.ConfigKeyRead(self.world.now_ms, topic, configs, at))
        assert self.world.state.topic_config(topic) == configs

    @rule(name=NAMES, wanted=LISTS, timeout=st.sampled_from([None, 1, 50]))
    def alter(self, name: tuple[str, int], wanted: Replicas, timeout: int | None) -> None:
        before = self.world.partition(*name)
        present = {*self.alive(), *before.replicas}
        if before.move and before.move.target == wanted:
            present |= set(wanted)
        event = e.AlterReassignment(self.world.now_ms, *name, wanted, timeout)
        if set(wanted) <= present and (before.move or before.replicas != wanted):
            self.targets[name] = wanted
        ran = self.run_event(event)
        assert isinstance(ran.reply, ApiError) == (not set(wanted) <= present)

    @rule(name=NAMES, force=st.booleans())
    def cancel(self, name: tuple[str, int], force: bool) -> None:
        before = self.world.partition(*name)
        reply = self.run_event(e.AlterReassignment(self.world.now_ms, *name, None, force=force)).reply
        assert before.move or isinstance(reply, ApiError)
        if not isinstance(reply, ApiError):
            after = self.world.partition(*name)
            assert (after.replicas, after.isr, after.move) == (before.replicas, before.isr, None)

    @rule(name=NAMES)
    def roll_back(self, name: tuple[str, int]) -> None:
        before = self.world.partition(*name)
        if before.move:
            self.targets[name] = before.move.origin
        reply = self.run_event(e.AlterReassignment(self.world.now_ms, *name, None, to_origin=True)).reply
        assert isinstance(reply, ApiError) == (before.move is None)

    @rule(name=NAMES, data=st.data())
    def change_isr(self, name: tuple[str, int], data: st.DataObject) -> None:
        before = self.world.partition(*name)
        live = self.world.state.brokers
        if before.leader not in self.alive():
            return
        others = [b for b in before.members if b != before.leader and b in live]
        chosen = data.draw(st.lists(st.sampled_from(others), unique=True) if others else st.just([]))
        self.tell_isr(before, (before.leader, *chosen))

    def tell_isr(self, before: Partition, isr: Replicas) -> None:
        epoch = self.world.state.partition_epoch(before)
        leader = self.world.state.brokers[before.leader]
        name = (before.topic, before.partition)
        ran = self.run_event(
            e.AlterIsr(self.world.now_ms, *name, before.leader, before.leader_epoch, epoch, isr, leader.epoch)
        )
        after = self.world.partition(*name)
        if ran.reply is None and after.move is not None:
            joined = [b for b in after.move.target if b in isr and b not in before.replicas]
            assert (after.replicas, after.isr) == (before.replicas + tuple(joined), isr)

    @rule(name=NAMES)
    def catch_up(self, name: tuple[str, int]) -> None:
        """Every live replica is in sync: what can be completed is."""
        before = self.world.partition(*name)
        state = self.world.state
        if before.leader not in self.alive() or state.gone_copy():
            return
        self.tell_isr(before, tuple(b for b in before.members if b in self.alive()))
        target = before.target_replicas
        if target and set(target) <= self.alive():
            assert self.world.partition(*name).replicas == target

    @rule(broker=st.sampled_from(BROKERS))
    def die(self, broker: int) -> None:
        if broker in self.world.state.brokers:
            self.run_event(e.BrokerGone(self.world.now_ms, broker, self.world.state.brokers[broker].epoch))

    @rule(broker=st.sampled_from(BROKERS))
    def come(self, broker: int) -> None:
        self.registered += 1
        self.run_event(e.BrokerCame(self.world.now_ms, Broker(BrokerRegistration(broker), self.registered)))
        assert broker in self.world.state.brokers

    @rule(name=NAMES, broker=st.sampled_from(BROKERS), gone=st.booleans())
    def report_disk(self, name: tuple[str, int], broker: int, gone: bool) -> None:
        self.run_event(e.DiskReported(self.world.now_ms, *name, broker, gone))

    @rule(name=NAMES, unclean=st.booleans())
    def elect(self, name: tuple[str, int], unclean: bool) -> None:
        reply = self.run_event(e.ElectLeader(self.world.now_ms, *name, unclean)).reply
        partition = self.world.partition(*name)
        if reply is None and not unclean and partition.move is None and name not in self.targets:
            assert partition.leader == partition.replicas[0]

    @rule(name=NAMES, later_ms=st.sampled_from([0, 30, 100]))
    def wait(self, name: tuple[str, int], later_ms: int) -> None:
        self.world.now_ms += later_ms
        self.run_event(e.PartitionDue(self.world.now_ms, *name, e.Reason.DEADLINE))
        move = self.world.partition(*name).move
        assert move is None or move.deadline_ms is None or move.deadline_ms > self.world.now_ms

    @precondition(lambda self: self.world.state.intents.brokers())
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        broker = data.draw(st.sampled_from(self.world.state.intents.brokers()))
        intents = tuple(self.world.state.open_intents(broker))
        self.run_event(e.DeletionAcknowledged(self.world.now_ms, intents))
        assert not self.world.state.open_intents(broker)

    @rule(topic=st.sampled_from(TOPICS))
    def rewrite_topic(self, topic: str) -> None:
        self.run_event(e.TopicKeyDue(self.world.now_ms, topic))

    @rule(topic=st.sampled_from(TOPICS), factor=st.integers(1, 3))
    def create(self, topic: str, factor: int) -> None:
        name = f"{topic}{len(self.world.state.topics)}"
        self.run_event(e.CreateTopic(self.world.now_ms, name, 2, factor, None, {}, False, f"id-of-{name}", 1, 1))

    @rule(topic=st.sampled_from(TOPICS))
    def expand(self, topic: str) -> None:
        count = self.world.state.partition_count(topic)
        if count < 5:
            self.run_event(e.CreatePartitions(self.world.now_ms, topic, count + 1, None))

    @invariant()
    def moves_are_those_of_the_model(self) -> None:
        """T is untouched until its move ends; what does not move has no T."""
        for name in (("a", 0), ("a", 1), ("b", 0)):
            partition = self.world.state.partition(*name)
            if partition is not None:
                assert partition.target_replicas == self.targets.get(name)

    @invariant()
    def ids_have_no_holes(self) -> None:
        for name in self.world.state.topics:
            ids = [p.partition for p in self.world.state.partitions_of(name)]
            assert ids == list(range(len(ids)))

    @invariant()
    def epochs_never_go_back(self) -> None:
        for partition in self.world.state.partitions():
            name = (partition.topic, partition.partition)
            assert partition.leader_epoch >= self.epochs.get(name, -1)
            self.epochs[name] = partition.leader_epoch


Cluster.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestCluster: Any = pytest.mark.slow(Cluster.TestCase)
