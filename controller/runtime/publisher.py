"""After the store has said yes, and only then: the journal gets its lines, brokers become dirty, callers their answers,
timers their times."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from controller.codec import keys
from controller.model import records as r
from controller.model.events import LATER, Decision, Event, MoveDeadline, TopicKeyDue
from controller.model.values import BROKERS, TOPICS, DeleteIntent, Partition
from controller.runtime.dispatcher import Dispatcher
from controller.runtime.idle_throttles import IdleThrottles
from controller.runtime.inbox import Job
from controller.runtime.journal import Decided
from controller.runtime.legacy import SAID, say
from controller.runtime.lookout import Lookout
from controller.runtime.replies import ReplyFuture
from controller.runtime.services import Services
from controller.state import Batch, ClusterState, Mark
from controller.state.cluster import Purged

_log = logging.getLogger(__name__)

_TELLS_NOBODY: Final = frozenset({r.PartitionStopped, r.HoldersTold})  # its members hear of it by StopReplica
_MAY_BE_UNHEARD: Final = frozenset({r.LeaderElected, r.LeaderEpochRaised})
_TELLS_MORE: Final = frozenset({*_MAY_BE_UNHEARD, r.TargetSet, r.TargetReplaced, r.StateFound})


class Timers:
    """When to look at a move's deadline, at a topic's key that is behind, at throttles without a move."""

    def __init__(self, rewrite_after_ms: int, throttles: IdleThrottles) -> None:
        self.throttles = throttles
        self._rewrite_after_ms = rewrite_after_ms
        self._deadlines: list[tuple[int, str, int]] = []
        self._late_topics: dict[str, int] = {}  # topic -> when its key is due

    def moves(self, partitions: Iterable[Partition]) -> None:
        """The partitions move; the deadlines of those that have one are remembered."""
        for partition in partitions:
            if partition.move is not None and partition.move.deadline_ms is not None:
                heapq.heappush(self._deadlines, (partition.move.deadline_ms, partition.topic, partition.partition))

    def topics_late(self, topics: Iterable[str], now_ms: int) -> None:
        """Their keys are behind since `now_ms` (`elapsed_ms`)."""
        for topic in topics:
            self._late_topics.setdefault(topic, now_ms + self._rewrite_after_ms)

    def topics_written(self, marks: Iterable[Mark]) -> None:
        """The keys of topics among those that `marks` names are not behind any more."""
        if self._late_topics:
            for kind, of in marks:
                if kind == "topic":
                    self._late_topics.pop(str(of), None)

    def due(self, now_ms: int, elapsed_ms: int) -> list[Event]:
        """What time has come for, deadlines by the wall clock `now_ms`. A deadline that was replaced meanwhile changes
        nothing when it is decided."""
        self.throttles.say(elapsed_ms)
        events: list[Event] = []
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _, topic, partition = heapq.heappop(self._deadlines)
            events.append(MoveDeadline(now_ms, topic, partition))
        if self._late_topics:
            late = [topic for topic, due_ms in self._late_topics.items() if due_ms <= elapsed_ms]
            for topic in late:
                del self._late_topics[topic]
                events.append(TopicKeyDue(now_ms, topic))
        return events

    def next_due_ms(self, now_ms: int, elapsed_ms: int) -> int | None:
        """In `elapsed_ms`."""
        times = [*self._late_topics.values(), *(elapsed_ms + due_ms - now_ms for due_ms, _, _ in self._deadlines[:1])]
        if self.throttles.next_due_ms is not None:
            times.append(self.throttles.next_due_ms)
        return min(times, default=None)


class Publisher:
    """Makes a commit known."""

    def __init__(
        self, services: Services, state: ClusterState, dispatcher: Dispatcher, lookout: Lookout, timers: Timers
    ) -> None:
        self._services = services
        self._state = state
        self._dispatcher = dispatcher
        self._lookout = lookout
        self._timers = timers

    def publish(self, batch: Batch, marks: Iterable[Mark], decided: Sequence[tuple[Job, Decision]], seq: int) -> None:
        """Everybody hears of a commit; `marks`: the keys that it wrote."""
        now_ms = self._services.clock.now_ms()
        if batch.log:
            if self._services.journal.is_kept:
                rows = [
                    Decided(decision.records, job.cause, job.request, self._bytes_copied(decision))
                    for job, decision in decided
                    if decision.records
                ]
                self._services.journal.commit(seq, now_ms, rows, self._state.partition_epoch)
            self._timers.topics_written(marks)
            late = [t for t in batch.late_topics if ("topic", t) not in batch.marks]
            self._timers.topics_late(late, self._services.elapsed_ms())
            self._tell_brokers(batch)
        self.answer(decided)

    def _bytes_copied(self, decision: Decision) -> int | None:
        """What the replicas that a move added hold, as their brokers reported it; None where no move ends."""
        ended = next((record for record in decision.records if type(record) is r.TargetCleared), None)
        if ended is None or ended.before.move is None:
            return None
        added = [b for b in ended.before.isr if b not in ended.before.move.origin]
        return self._services.progress.bytes_of(ended.after.topic, ended.after.partition, added)

    def answer(self, decided: Sequence[tuple[Job, Decision]]) -> None:
        """The callers' futures are completed."""
        answers: list[tuple[ReplyFuture[Any], object]] = []
        for job, decision in decided:
            future, reply = job.future, decision.reply
            if future is not None and reply is not LATER:
                if job.answer is not None and not isinstance(reply, BaseException):
                    reply = job.answer(self._state, job.event)
                answers.append((future, reply))
        self._services.outstanding.complete_all(answers)

    def _tell_brokers(self, batch: Batch) -> None:  # noqa: C901, PLR0912 - one loop, for speed
        """Each record is looked at once. Of one that says how a partition is now, the token is its number."""
        touched: dict[int, bool] = {}
        intended: list[DeleteIntent] = []
        deleted: list[DeleteIntent] = []
        purged: list[tuple[Partition, object]] = []
        moves: list[Partition] = []
        for record, token, _ in batch.log:
            if isinstance(record, r.PartitionRecord):
                number: Any = token
                kind = type(record)
                if record.before.leader_epoch != record.after.leader_epoch and kind not in _TELLS_NOBODY:
                    touched[number] = True  # whatever the replicas must obey raises the leader epoch
                elif number not in touched:  # growth of R and I that the leader itself told, say: metadata only
                    touched[number] = False
                if kind in _TELLS_MORE:
                    if kind is r.TargetSet:
                        moves.append(record.after)
                    else:
                        self._tell_more(record, number, touched)
            elif type(record) is r.DeleteIntended:
                intended.append(record.intent)
            elif type(record) is r.ReplicaDeleted:
                deleted.append(record.intent)
            elif type(record) is r.PartitionPurged:
                purged.append((record.before, token))
            else:
                self._tell_other(record, touched)
        self._timers.moves(moves)
        self._dispatcher.intended(intended)
        self._dispatcher.partitions_changed(touched)
        self._services.progress.forget((i.topic, i.partition, i.broker) for i in deleted)
        for partition, token in purged:
            self._purged(partition, token)

    def _tell_more(self, record: r.PartitionRecord, number: int, touched: dict[int, bool]) -> None:
        """Of the few kinds that say more than how the partition is now."""
        kind = type(record)
        if kind in _MAY_BE_UNHEARD:
            if self._state.rows[number] is not None and self._may_be_unheard(record):
                self._dispatcher.created(number, record.after.isr)
            return
        if kind is r.StateFound:
            touched[number] = True  # of the same leader epoch, perhaps
            self._dispatcher.readable_again(record.after)
        self._timers.moves([record.after])  # with another deadline, perhaps

    def _purged(self, partition: Partition, token: object) -> None:
        assert isinstance(token, Purged)
        self._dispatcher.purged(token.number, partition)
        self._services.notices.partition_purged(partition.topic, partition.partition)
        self._forget_reports(partition)

    def _may_be_unheard(self, record: r.PartitionRecord) -> bool:
        """Whether its brokers may have no log of the partition yet: it got its first leader, or has still the one that
        the store told of, from which the cluster was moved here."""
        if isinstance(record, r.LeaderElected):
            return not record.before.has_state
        topic = self._state.topic(record.after.topic) if isinstance(record, r.LeaderEpochRaised) else None
        return topic is not None and record.before.leader_epoch == topic.created_epoch(record.after.partition)

    def _forget_reports(self, partition: Partition) -> None:
        """Nobody asks any more what its logs hold; a report that came after its log was deleted goes with the topic."""
        brokers = (*partition.members, *partition.isr)
        self._services.progress.forget([(partition.topic, partition.partition, broker) for broker in brokers])

    def _tell_other(self, record: r.Record, touched: dict[int, bool]) -> None:
        if isinstance(record, r.StateKeyRemoved):
            self._forget_reports(record.before)
        elif isinstance(record, r.IntentDropped):
            if record.forgotten:
                intent = record.intent
                self._services.progress.forget([(intent.topic, intent.partition, intent.broker)])
        elif isinstance(record, SAID):
            say(record)
        elif isinstance(record, r.ForeignChange):
            self._tell_of_rewritten(record, touched)
        else:
            self._tell_of_brokers(record, touched)

    def _tell_of_brokers(self, record: r.Record, touched: dict[int, bool]) -> None:
        if isinstance(record, r.BrokerRegistered):
            self._dispatcher.registered(record.broker)
            self._lookout.brokers_due = True  # another registration may have been seen before this one was decided
        elif isinstance(record, r.BrokerLeft):
            self._dispatcher.left(record.broker.broker_id)
            self._lookout.brokers_due = True
        elif isinstance(record, r.DeathWorkedOff):
            self._lookout.brokers_due = True
        elif isinstance(record, r.TopicDeletionStarted):
            self._dispatcher.deletion_started(record.topic.name, record.topic.topic_id)
        elif isinstance(record, r.DiskGone):
            number = self._state.number(record.topic, record.partition)
            if number is not None:
                touched.setdefault(number, False)
        elif isinstance(record, r.TopicFound):
            touched |= {self._state.topics[record.topic.name].numbers[i]: True for i in range(len(record.partitions))}
            self._timers.moves(record.partitions)
            self._lookout.configs.topic_hinted(record.topic.name)  # changed perhaps since it was read
            self._lookout.look_at_deletions()
            self._services.notices.config_changed(TOPICS, record.topic.name, record.configs)
        else:
            self._tell_of_others(record)

    def _tell_of_reduction(self, record: r.ReductionRefused | r.ReductionChanged) -> None:
        """People hear of a key that was removed until a reduction is begun."""
        if isinstance(record, r.ReductionChanged):
            self._lookout.findings.good(keys.DELETE_PARTITIONS)
            for partition in record.gone:
                self._services.notices.partition_purged(record.topic, partition)
            return
        said = f"{keys.delete_partitions(record.topic)} was removed: {record.detail}"
        self._lookout.findings.bad(keys.DELETE_PARTITIONS, said)
        _log.warning("%s", said)

    def _tell_of_rewritten(self, record: r.ForeignChange, touched: dict[int, bool]) -> None:
        """The state key has a later partition epoch, without which no leader may change the isr any more."""
        if record.partition is None or not record.is_rewritten:
            return
        number = self._state.number(record.topic, record.partition)
        if number is not None:
            touched[number] = True

    def _tell_of_others(self, record: r.Record) -> None:
        """What others wrote was taken in."""
        if isinstance(record, r.ErrandWorkedOff):
            self._lookout.errands.worked_off(record)
        elif isinstance(record, r.BadKey):
            if record.problem is None:
                self._lookout.look_at_deletions()  # one may have waited for the topic, which is there again, or gone
            if not self._state.problems:
                self._dispatcher.everything_readable()
        elif isinstance(record, r.ReductionRefused | r.ReductionChanged):
            self._tell_of_reduction(record)
        elif isinstance(record, r.BrokerAskedAgain):
            self._dispatcher.ask_again(record.broker_id)
        else:
            self._tell_of_settings(record)

    def _tell_of_settings(self, record: r.Record) -> None:
        tell = self._services.notices.config_changed
        if isinstance(record, r.ConfigsAltered):
            tell(record.entity.kind, record.entity.name, record.after)
        elif isinstance(record, r.TopicCreated):
            tell(TOPICS, record.topic.name, record.configs)  # also none: the host may remember a former topic's
        elif isinstance(record, r.TopicDeleted):
            tell(TOPICS, record.topic.name, {})
        elif isinstance(record, r.ThrottleMarkChanged):
            self._timers.throttles.marked(record, self._services.elapsed_ms())
        elif isinstance(record, r.ConfigChanged) and record.before != record.after:
            tell(TOPICS, record.topic, record.after)
        elif isinstance(record, r.BrokerConfigChanged) and record.before != record.after:
            tell(BROKERS, record.name, record.after)
