"""Level-triggered sends: the dispatcher keeps what is dirty per broker, not requests.

A round to a broker has up to three requests: LeaderAndIsr, UpdateMetadata, StopReplica. They are built when the round
is sent, from the committed state. The content of a round that was not delivered becomes dirty again; what becomes dirty
meanwhile goes into the next round. A new broker, and every broker after a takeover, is dirty as a whole (`full`).
Metadata is the same for all brokers, so one log has the changes, and each broker a position in it; a broker that lags
by more than the cluster gets everything. The notice that a partition ends (leader -2) is kept as long as the log names
the partition, so that a slow broker gets it even if the partition no longer exists.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Mapping
from functools import partial

from ..model.errors import ErrorCode
from ..model.events import DeletionAcknowledged, DiskReported, Event
from ..model.host import (
    Host,
    PartitionMetadata,
    UpdateMetadataRequest,
)
from ..model.values import LEADER_DURING_DELETE, Broker, DeleteIntent, Partition, TopicPartition
from ..rules.completion import is_void
from ..state import ClusterState
from . import requests
from .clock import Clock, elapsed_ms
from .executors import Executor
from .inbox import Inbox
from .lanes import NEVER, Lane, slot_of, tp_of
from .rounds import Round, deliver

_log = logging.getLogger(__name__)

_LOG_MIN = 1024  # entries of the log that are kept for slow brokers, however small the cluster is


class Dispatcher:
    """The sends of one term. The loop drives it; only the callbacks run elsewhere. `acknowledged_max`: how many
    deletions one Decision may confirm; each may empty a key, and all deletions of a broker after a long absence may
    exceed a commit."""

    def __init__(
        self,
        state: ClusterState,
        host: Host,
        executor: Executor,
        inbox: Inbox,
        clock: Clock,
        *,
        acknowledged_max: int,
        metadata_linger_ms: int = 0,
    ) -> None:
        self._state = state
        self._acknowledged_max = acknowledged_max
        self._metadata_linger_ms = metadata_linger_ms
        self._host = host
        self._executor = executor
        self._inbox = inbox
        self._clock = clock
        self._lanes: dict[int, Lane] = {}
        self._busy: dict[int, Round] = {}  # callbacks that have not returned yet, also of brokers that left since
        self._unheard: dict[int, set[int]] = {}  # brokers that have not answered for a partition created in this term
        self._withheld: dict[str, dict[DeleteIntent, None]] = {}  # by topic, while a key is unreadable
        self._log = array("Q")  # numbers of partitions whose metadata changed, in order
        self._log_from = 0  # position of its first entry
        self._stopped: dict[int, PartitionMetadata] = {}  # for partitions in the log that end: their last metadata
        self._next_ms = 0  # no broker is due before, in `elapsed_ms`; 0: not known
        self.findings: dict[str, str] = {}

    # --- marking dirty

    def registered(self, broker: Broker) -> None:
        """A broker registered, or changed its registration: all others get it; a new one gets everything."""
        lane = self._lanes.get(broker.broker_id)
        if lane is None or lane.broker.epoch != broker.epoch:
            open_intents = self._state.intents.by_replica(broker.broker_id)
            self._lanes[broker.broker_id] = Lane(broker, intents=dict(open_intents))
        else:
            lane.broker = broker
        self._peers_changed()

    def left(self, broker_id: int) -> None:
        """A broker died: it is sent nothing any more, and the others are informed."""
        self._lanes.pop(broker_id, None)
        for number in list(self._unheard):  # it may have created a log before it died and must not create a new one
            self._heard(number, broker_id)
        self.findings.pop(_finding(broker_id), None)
        self._peers_changed()

    def _peers_changed(self) -> None:
        self._next_ms = 0
        for lane in self._lanes.values():
            lane.peers = True

    def partitions_changed(self, touched: Mapping[int, bool]) -> None:
        """Mark the committed changes of partitions (by number): as metadata, and, where the value is True, for their
        replicas. Partitions that no longer exist are skipped."""
        self._next_ms = 0
        rows, log = self._state.rows, self._log
        dirty = {broker: lane.dirty for broker, lane in self._lanes.items()}
        for number, to_members in touched.items():
            partition = rows[number]
            if partition is None:
                continue
            log.append(number)
            if partition.leader == LEADER_DURING_DELETE and partition.isr:
                self._stopped[number] = requests.metadata_of(self._state, number, partition)
            if to_members:
                for broker in partition.replicas if partition.move is None else partition.members:
                    of_broker = dirty.get(broker)
                    if of_broker is not None:
                        of_broker[number] = None

    def purged(self, number: int, partition: Partition) -> None:
        """A reduction removed the partition: all brokers are informed."""
        self._next_ms = 0
        if partition.has_state:
            self._log.append(number)
            self._stopped[number] = requests.metadata_of_purged(self._state, number, partition)
        self._unheard.pop(number, None)

    def created(self, number: int, members: Iterable[int]) -> None:
        """A partition got its first leader: a member that has not received it yet may create its log, even if the
        leader epoch has risen by then."""
        self._unheard[number] = set(members)

    def _heard(self, number: int, broker_id: int) -> None:
        waiting = self._unheard.get(number)
        if waiting is not None:
            waiting.discard(broker_id)
            if not waiting:
                del self._unheard[number]

    def intended(self, intents: Iterable[DeleteIntent]) -> None:
        """Add delete intents for brokers. An older intent for the same replica was dropped."""
        self._next_ms = 0
        lanes = self._lanes
        for intent in intents:
            lane = lanes.get(intent.broker)
            if lane is not None:
                lane.intents[intent.topic_id, intent.partition] = intent

    def deletion_started(self, name: str, topic_id: str) -> None:
        """The request to delete a topic is known (again). If the topic's key was unreadable when this term began, its
        partitions may have been stopped before, and the intents of their members seemed void until now."""
        for partition in self._state.partitions_of(name):
            if partition.leader == LEADER_DURING_DELETE:
                found = (self._state.open_intent(broker, topic_id, partition.partition) for broker in partition.members)
                self.intended(intent for intent in found if intent is not None)

    def readable_again(self, topic: str) -> None:
        """A key of the topic can be read again, or is gone: whether the intents that it kept waiting are void is known
        now."""
        self.intended(self._withheld.pop(topic, ()))

    def ask_again(self, broker_id: int) -> None:
        """Send a broker all its partitions again; its answer names those whose disk failed."""
        self._next_ms = 0
        lane = self._lanes.get(broker_id)
        if lane is not None:
            lane.dirty |= dict.fromkeys(self._state.numbers_on(broker_id))

    def everything_readable(self) -> None:
        """No key is unreadable any more: send the `full` requests that were withheld."""
        self._next_ms = 0
        for lane in self._lanes.values():
            lane.full = lane.metadata_full = True

    @property
    def _log_end(self) -> int:
        return self._log_from + len(self._log)

    # --- sending

    def send(self) -> int:
        """Start a round for each dirty broker without a running one; return how many."""
        now_ms = elapsed_ms(self._clock)
        if now_ms < self._next_ms:
            return 0
        times = {broker: lane.due_ms(self._log_end) for broker, lane in self._lanes.items() if broker not in self._busy}
        due = sorted(broker_id for broker_id, due_ms in times.items() if due_ms <= now_ms)
        if not due:
            self._next_ms = min(times.values(), default=NEVER)
            return 0
        builder = requests.Builder(self._state, self._unheard, self._stopped)
        for broker_id in due:
            sending = self._build(builder, self._lanes[broker_id], now_ms)
            self._busy[broker_id] = sending
            self._executor.submit(broker_id, partial(deliver, self._host, sending, self._inbox))
        self._trim()
        return len(due)

    def next_due_ms(self) -> int | None:
        """When the next broker may be tried again, in `elapsed_ms`; None if none is waiting."""
        if not self._next_ms:
            waiting = (lane.due_ms(self._log_end) for broker, lane in self._lanes.items() if broker not in self._busy)
            self._next_ms = min(waiting, default=NEVER)
        return None if self._next_ms == NEVER else self._next_ms

    def _build(self, builder: requests.Builder, lane: Lane, now_ms: int) -> Round:
        state, broker = self._state, lane.broker
        numbers = tuple(state.numbers_on(broker.broker_id)) if lane.full else tuple(lane.dirty)
        intents = tuple(self._standing(lane)) if lane.intents else ()
        lane.intents = {}
        if lane.intents_at_ms > now_ms:
            lane.intents, intents = {slot_of(i): i for i in intents}, ()
        sending = Round(broker, now_ms, lane.full, numbers, lane.metadata_full, lane.metadata_at, lane.peers, intents)
        if lane.full or numbers:
            sending.leader_and_isr = builder.leader_and_isr(broker, numbers, full=lane.full)
        if lane.peers or lane.metadata_full or lane.metadata_after_ms <= now_ms:
            sending.update_metadata = self._metadata(builder, lane)
        if sending.update_metadata is not None:
            linger_ms = self._metadata_linger_ms
            # All brokers wait until the same instants, so that they get the same objects.
            lane.metadata_sent(self._log_end, now_ms if not linger_ms else (now_ms // linger_ms + 1) * linger_ms)
        if intents:
            sending.stop_replica = builder.stop_replica(broker, intents)
        lane.full, lane.dirty = False, {}
        return sending

    def _standing(self, lane: Lane) -> list[DeleteIntent]:
        """The intents to send to the broker: open ones that are not void (a takeover may find void ones). An intent for
        a partition without this member is never void. Those of which this cannot be known, as a key of the topic is
        unreadable, are withheld: their broker may be a target since."""
        state, broker_id = self._state, lane.broker.broker_id
        rows, topics, open_intents = state.rows, state.topics, state.intents.by_replica(broker_id)
        standing: list[DeleteIntent] = []
        for slot, intent in lane.intents.items():
            found = open_intents.get(slot)
            if found is not intent and found != intent:
                continue
            if state.unreadable(intent.topic) or state.unreadable(intent.topic, intent.partition):
                self._withheld.setdefault(intent.topic, {})[intent] = None
                continue
            row, place = topics.get(intent.topic), intent.partition
            partition = rows[row.numbers[place]] if row is not None and 0 <= place < len(row.numbers) else None
            may_be_member = partition is not None and (broker_id in partition.replicas or partition.move is not None)
            if not may_be_member or not is_void(state, intent):
                standing.append(intent)
        return standing

    def _metadata(self, builder: requests.Builder, lane: Lane) -> UpdateMetadataRequest | None:
        if lane.metadata_full:
            return builder.full_metadata(lane.broker)
        since = lane.metadata_at - self._log_from
        if since == len(self._log) and not lane.peers:
            return None
        return builder.update_metadata(lane.broker, since, self._log[since:])

    def _trim(self) -> None:
        """Remove the log entries that all brokers have. A broker that lags by more than the cluster gets everything."""
        if len(self._log) > _LOG_MIN + 2 * len(self._state.rows):
            for broker_id, lane in self._lanes.items():
                if broker_id in self._busy or lane.metadata_at < self._log_end:
                    lane.metadata_full = True
            self._log_from += len(self._log)
            self._log = array("Q")
        places = [lane.metadata_at for lane in self._lanes.values()]
        places += [sending.metadata_from for sending in self._busy.values()]
        done = min(places, default=self._log_end) - self._log_from
        if done > 0:
            self._log = self._log[done:]
            self._log_from += done
        if self._stopped:
            logged = set(self._log)
            self._stopped = {number: told for number, told in self._stopped.items() if number in logged}

    # --- results

    def returned(self, sending: object) -> list[Event]:
        """Process the result of a round: what was not delivered becomes dirty; return the events from its answers."""
        assert isinstance(sending, Round)
        self._next_ms = 0
        broker_id = sending.broker.broker_id
        if self._busy.get(broker_id) is not sending:
            return []  # of a former term
        del self._busy[broker_id]
        self.findings.pop(_finding(broker_id), None)
        lane = self._lanes.get(broker_id)
        if lane is None or lane.broker.epoch != sending.broker.epoch:
            return []
        now_ms = elapsed_ms(self._clock)
        if sending.error is not None:
            if lane.not_delivered(sending, self._log_from, now_ms):
                _log.warning("callbacks of broker %d failed and will be repeated: %s", broker_id, sending.error)
            self.findings[_finding(broker_id)] = f"not delivered: {sending.error}"
            return []
        lane.delivered(sending, now_ms)
        return self._events_of(lane, sending, self._clock.now_ms())

    def _events_of(self, lane: Lane, sending: Round, now_ms: int) -> list[Event]:
        broker_id = lane.broker.broker_id
        events: list[Event] = []
        if sending.leader_and_isr is not None and (lane.disks_gone or sending.errors):
            for told in sending.leader_and_isr.partitions:
                tp = TopicPartition(told.topic, told.partition)
                gone = sending.errors.get(tp) == ErrorCode.KAFKA_STORAGE_ERROR
                if gone != (tp in lane.disks_gone):
                    (lane.disks_gone.add if gone else lane.disks_gone.discard)(tp)
                    events.append(DiskReported(now_ms, tp.topic, tp.partition, broker_id, gone))
        if self._unheard and sending.leader_and_isr is not None:
            for number in sending.numbers:
                row = self._state.rows[number]
                if row is None or row.tp not in sending.errors:
                    self._heard(number, broker_id)
        deleted = sending.intents
        if sending.undeleted:
            deleted = tuple([i for i in deleted if tp_of(i) not in sending.undeleted])
        if deleted:
            most = self._acknowledged_max
            groups = (deleted[i : i + most] for i in range(0, len(deleted), most))
            events += [DeletionAcknowledged(now_ms, group) for group in groups]
        return events

    def check_deadlines(self, deadline_ms: int, now_ms: int) -> None:
        """Report callbacks that exceed their deadline at `now_ms` (`elapsed_ms`). The next round to that broker still
        waits for them."""
        for broker_id, sending in self._busy.items():
            if now_ms - sending.started_ms >= deadline_ms:
                late_s = (now_ms - sending.started_ms) / 1000
                self.findings[_finding(broker_id)] = f"a callback has not returned for {late_s:.0f} s"


def _finding(broker_id: int) -> str:
    return f"callbacks of broker {broker_id}"
