"""A controller without store or threads: the real state and the real machine, committed after every command.

`World.run` decides an event and everything that follows from it, each held against the invariants and undone and done
again, so that every test that uses a World tests `undo_to` as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from kedge.controller.codec import partition_state
from kedge.controller.codec.text import parse
from kedge.controller.machine import decide, step
from kedge.controller.model.events import LATER, BrokerCame, BrokerGone, Decision, Event
from kedge.controller.model.records import Record
from kedge.controller.model.throttles import KINDS, MarkSlot
from kedge.controller.model.values import (
    LEADER_DURING_DELETE,
    Broker,
    BrokerRegistration,
    Move,
    Partition,
    Replicas,
    Settings,
    Topic,
)
from kedge.controller.runtime.jobs import jobs_of
from kedge.controller.state import Batch, ClusterState, start_batch, undo_to
from kedge.controller.state.rows import ABSENT, Admitted
from tests.rules.invariants import check_records, check_state
from tests.state.snapshot import snapshot

EXPANDED_MAX = 10_000


@attrs.define
class Ran:
    """What became of one event: the answer to it, and every record of it and of what followed."""

    reply: object
    records: list[Record]
    batch: Batch


class World:
    """A cluster under one controller. Commits never fail; time stands still until `now_ms` is set."""

    def __init__(self, settings: Settings | None = None, *, is_checked: bool = True) -> None:
        self.state = ClusterState(1, 7, settings or Settings())
        self.now_ms = 1000
        self._seq = 0
        self._is_checked = is_checked
        self._stored: dict[str, tuple[Replicas, ...]] = {}  # R of each partition, as the topic keys say

    # --- what stands in the store

    def plant_broker(self, broker_id: int, rack: str | None = None, epoch: int = 1) -> None:
        """A live broker that was admitted by an earlier term."""
        self.state.brokers[broker_id] = Broker(BrokerRegistration(broker_id, rack=rack), epoch)
        self.state.admitted[broker_id] = Admitted(1, epoch)

    def plant_topic(self, name: str, topic_id: str | None = None, configs: Mapping[str, str] | None = None) -> None:
        row = self.state.add_topic(Topic(name, f"id-of-{name}" if topic_id is None else topic_id), dict(configs or {}))
        row.version, row.generation, row.config_version = 1, 0, int(bool(configs))

    def plant(self, partition: Partition) -> Partition:
        """The next partition of a topic; the topic comes with its first one."""
        if self.state.topic(partition.topic) is None:
            self.plant_topic(partition.topic)
        assert partition.partition == self.state.partition_count(partition.topic)
        written = (1, 0) if partition.has_state else (0, -1)
        self.state.add_partition(self.state.topics[partition.topic], partition, *written)
        self._stored[partition.topic] = (*self._stored.get(partition.topic, ()), partition.replicas)
        return partition

    def plant_move(self, topic: str, replicas: Replicas, isr: Replicas, target: Replicas) -> Partition:
        """Partition 0 of a topic, on the move from `replicas`, led by the first of `isr`."""
        grown = replicas + tuple(b for b in target if b in isr and b not in replicas)
        return self.plant(Partition(topic, 0, grown, isr, isr[0], 3, Move(target, replicas, 500)))

    # --- what happens

    def run(self, event: Event) -> Ran:
        """Decide `event` and all that follows, commit it. AssertionError where an invariant is broken."""
        first: Decision | None = None
        later: object = None
        waiting = deque([event])
        for _ in range(EXPANDED_MAX):
            if not waiting:
                break
            decision = self.decide(waiting.popleft())
            first = first or decision
            later = later if decision.reply in (None, LATER) else decision.reply
            waiting.extend(job.event for job in jobs_of(decision.expand, None))
        assert first is not None
        assert not waiting, "events that follow never end"
        records = [record for record, _, _ in self.state.batch.log]
        ran = Ran(later if first.reply is LATER else first.reply, records, self.commit())
        if self._is_checked:
            check_state(self.state)
            self._check_stored()
        return ran

    def decide(self, event: Event) -> Decision:
        """One Decision, applied, undone and applied again."""
        if not self._is_checked:
            return step(self.state, event)
        check_records(self.state, decide(self.state, event).records)
        before, length = snapshot(self.state), len(self.state.batch)
        decision = step(self.state, event)
        after = snapshot(self.state)
        undo_to(self.state, length)
        assert snapshot(self.state) == before, f"undone, {event} leaves a trace"
        again = step(self.state, event)
        same = (again.records, again.expand) == (decision.records, decision.expand) and snapshot(self.state) == after
        assert same, f"{event} is decided otherwise the second time"
        for job in jobs_of(decision.expand, None):
            assert job.event.now_ms == event.now_ms, f"{job.event} has another time than {event}, which it follows"
        return decision

    def commit(self) -> Batch:
        """The batch is in the store: keys have new versions, intents have a key."""
        self._seq += 1
        done = start_batch(self.state)
        self.state.changes.committed()
        stands: dict[str, Callable[[Any], object]] = {
            "state": self._state_key,
            "topic": self._topic_key,
            "deletion": self._deletion_key,
            "admitted": self._admitted_key,
            "forgotten": self.state.admitted.pop,
            "unregistered": lambda _: None,
            "intents": lambda broker: self.state.intents.durable(broker, self._seq, 1),
            "intents done": self.state.intents.keys.pop,
            "legacy": lambda _: self._legacy_key(),
            "notification": self.state.worked_off.pop,
            "config": lambda _: None,
            "broker config": lambda _: None,
            "change": lambda _: None,
            "old change": lambda _: None,
            "parent": lambda _: None,
            "reduction": self._reduction_key,
            "migration": lambda _: None,
            "throttles": self._mark_key,
        }
        for kind, of in done.dirty_keys:
            stands[kind](of)
        self.state.changes.committed()
        return done

    def _state_key(self, number: int) -> None:
        state = self.state
        if state.reducing.purged.pop(number, None) is not None:
            state.versions[number], state.generations[number] = ABSENT.version, ABSENT.generation
            return
        row = state.rows[number]
        assert row is not None
        is_gone = row.leader == LEADER_DURING_DELETE and not row.has_state
        at = (0, -1) if is_gone else (state.versions[number] + 1, state.generations[number] + 1)
        state.state_key_stands(row.topic, number, *at)

    def _topic_key(self, name: str) -> None:
        row = self.state.topics.get(name)
        if row is not None:
            row.version += 1
            row.generation += 1
            self._stored[name] = self._assignments(name)

    def _admitted_key(self, broker: int) -> None:
        if broker in self.state.brokers:
            self.state.admitted[broker] = Admitted(self._seq, self.state.brokers[broker].epoch)

    def _legacy_key(self) -> None:
        legacy = self.state.legacy
        legacy.stands(legacy.key.version + 1 if legacy.entries else 0)

    def _mark_key(self, slot: MarkSlot) -> None:
        throttles = self.state.throttles
        is_there = slot in KINDS and bool(throttles.listed(slot))
        throttles.stands(slot, throttles.keys[slot].version + 1 if is_there else 0)

    def _deletion_key(self, name: str) -> None:
        """It was written, or held to be absent, or it went with its topic, or as one without an owner."""
        if name in self.state.deletions and name in self.state.topics:
            self.state.deletions[name].version = self._seq
        elif name not in self.state.topics:
            self.state.deletions.pop(name, None)
            self._stored.pop(name, None)
        self.state.refused.pop(name, None)

    def _reduction_key(self, name: str) -> None:
        known = self.state.reducing.of.get(name)
        self.state.reducing.stands(name, self._seq if known and known.entries and name in self.state.topics else 0)

    def _assignments(self, topic: str) -> tuple[Replicas, ...]:
        """R of every partition, as a topic key would have it."""
        return tuple(p.replicas for p in self.state.partitions_of(topic))

    def _check_stored(self) -> None:
        """A takeover now would load what the state holds, though topic keys may be behind."""
        for row in self.state.partitions():
            self._stored.setdefault(row.topic, self._assignments(row.topic))  # planted
            stored = self._stored[row.topic]
            if not row.has_state or row.partition >= len(stored):
                continue
            value = parse(partition_state.encode(row, 7))
            loaded = partition_state.decode(value, row.topic, row.partition, stored[row.partition], 0)
            assert sorted(loaded.replicas) == sorted(row.replicas), f"a takeover would lose a replica: {loaded} {row}"
            assert attrs.evolve(loaded, replicas=row.replicas) == row

    def die(self, broker: int) -> Ran:
        return self.run(BrokerGone(self.now_ms, broker, self.state.brokers[broker].epoch))

    def come(self, broker: int, rack: str | None = None, epoch: int = 2) -> Ran:
        return self.run(BrokerCame(self.now_ms, Broker(BrokerRegistration(broker, rack=rack), epoch)))

    def partition(self, topic: str, partition: int = 0) -> Partition:
        found = self.state.partition(topic, partition)
        assert found is not None, f"no partition {topic}-{partition}"
        return found
