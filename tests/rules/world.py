"""A controller without store or threads: the real state and the real machine, committed after every command.

`World.run` decides an event and everything that follows from it, each held against the invariants and undone and done
again, so that every test that uses a World tests `undo_to` as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import attrs

from kedge.controller.codec import keys, partition_state
from kedge.controller.codec.text import parse
from kedge.controller.keys.base import KeyContext
from kedge.controller.keys.table import KeyKinds
from kedge.controller.machine import decide, step
from kedge.controller.model.events import LATER, BrokerCame, BrokerGone, Decision, Event
from kedge.controller.model.records import Record
from kedge.controller.model.values import (
    Broker,
    BrokerRegistration,
    Move,
    Partition,
    Replicas,
    Settings,
    Topic,
)
from kedge.controller.runtime.jobs import jobs_of
from kedge.controller.runtime.writer import Writer
from kedge.controller.state import Batch, ClusterState, start_batch, undo_to
from kedge.stores import MemoryStore
from kedge.stores.base import Op, Put, Version
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
        self._writer = Writer(KeyKinds(KeyContext(self.state, MemoryStore())))
        self._seq = 0
        self._is_checked = is_checked
        self._stored: dict[str, tuple[Replicas, ...]] = {}  # R of each partition, as the topic keys say

    # --- what stands in the store

    def plant_broker(self, broker_id: int, rack: str | None = None, epoch: int = 1) -> None:
        """A live broker that was admitted by an earlier term."""
        self.state.brokers[broker_id] = Broker(BrokerRegistration(broker_id, rack=rack), epoch)
        self.state.load_admitted(broker_id, epoch)
        self.state.versions.put(keys.admitted(broker_id), 1)

    def plant_topic(self, name: str, topic_id: str | None = None, configs: Mapping[str, str] | None = None) -> None:
        self.state.add_topic(Topic(name, f"id-of-{name}" if topic_id is None else topic_id), dict(configs or {}))
        self.state.versions.put(keys.topic(name), 1)
        self.state.versions.put(keys.topic_config(name), int(bool(configs)))

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
        """The batch is in the store, as the runtime writes it: the version of each key that is written rises by one."""
        self._seq += 1
        dirty_keys, ops = self._writer.ops(self.state.batch, self._seq)
        self._writer.committed(dirty_keys, ops, [_version_after(op) for op in ops], self._seq)
        self.state.changes.committed()
        done = start_batch(self.state)
        for kind, of in done.dirty_keys:
            if kind == "topic" and isinstance(of, str) and self._stored.pop(of, ()) and self.state.topic(of):
                self._stored[of] = self._assignments(of)
        return done

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


def _version_after(op: Op) -> Version | None:
    """What a store leaves that counts the versions of each key, as ZooKeeper does."""
    if not isinstance(op, Put):
        return None
    return Version(op.expect + 1 if isinstance(op.expect, int) else 1)
