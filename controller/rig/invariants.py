"""What must never happen, held against every commit and every callback of a rig.

1. The leader is in the isr, or there is none; the isr is never empty. An isr gains only whom its leader named, a leader
   comes from the isr, but for unclean elections. (Each commit.)
2. The isr is within R, or R + T while a move runs. (Each commit.)
3. T is what was asked for, untouched until the end; a move completes only with every member of T in the isr. The legacy
   key gains nothing, and is gone in the end. (Each commit, the end.)
4. R loses nobody before the targets are in sync, gains only who is; nobody of R or T is told to delete, unless the
   partition is offline or its topic is being deleted, whose moves are cancelled before. (Each commit, each
   StopReplica.)
5. Leader epochs, the controller epoch and the token never go back; one sender per controller epoch; every write of a
   controller carries the fence of the newest one. (Each commit.)
6. A mark of throttles loses whom it names only when nothing is being reassigned, but for topics that are deleted and
   requests that replace it; in the end there is none, and a throttle only where an operator set it, as he did. (Each
   commit, the end.)
7. Who leaves R + T leaves a durable intent behind (or is named in the state key as one who is to get it); in the end
   none is open. (Each commit, the end.)
8. Partition ids are 0..n-1; one comes back only with fresh state, under the leader epoch that its id is due. A status
   goes from online to read-only to offline, if its topic's reduction names the partition, and no sooner than that says;
   offline nobody is elected, and nothing moves. What goes with a topic or a partition: `gone`. (Each commit, the end.)
9. Only what is committed is sent; in the end all brokers agree with the store. (Each callback, the end.)
0. What was acknowledged is in the leader's log. (The end.)
10. What a takeover could not read is left alone until it can be read: nobody is elected there, and no request is
   `full`; fields that somebody else added to a key stay. (Each commit, each callback, the end.)
11. Nothing is broken, inconsistent or left behind in the tree, by `controller.check`. (The end.)

The isr that a leader names is taken from its `alter_isr` calls, targets from the calls of the admin API: not from what
the controller says of itself. The numbers up to 9 are those of the design; its 10, determinism, is a test.
"""

from __future__ import annotations

import json
from typing import Final

from controller.check import inspect
from controller.codec import keys, legacy
from controller.model.host import LeaderAndIsrPartition, PartitionMetadata, StopReplicaRequest
from controller.model.reductions import OFFLINE, ONLINE, READ_ONLY
from controller.model.values import LEADER_DURING_DELETE, NO_EPOCH, NO_LEADER, Partition, Replicas, TopicPartition
from controller.rig.committed import Change, CommittedTree
from controller.rig.gone import check_deletes, left_over
from controller.rig.legacy import targets_by_key
from controller.rig.network import Request, Sent
from controller.rig.parts import Parts
from controller.rig.replica import IsrAsked
from controller.rig.server import FOREIGN, Committed
from controller.rig.waits import describe, disagreements
from controller.rules.leader_election import UNCLEAN
from controller.rules.reduction.settings import RETENTION_MS
from stores.base import ABSENT, Check, Delete, Put
from stores.memory.table import entry
from stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token

_BROKER: Final = "broker "
_STATUS: Final = (ONLINE, READ_ONLY, OFFLINE)  # in the order in which a partition may have them
_SKEW_MS_MAX: Final = 7_200_000  # of the clocks of controllers, which write the times down, among each other


class InvariantBroken(AssertionError):
    """Something happened that must never happen. `number`: which one of `controller.rig.invariants`."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(f"invariant {number}: {message}")
        self.number = number


class Invariants:
    """The guard of a rig."""

    def __init__(self, committed: CommittedTree, rig: Parts, *, enabled: bool) -> None:
        self._committed = committed
        self._rig = rig
        self._enabled = enabled
        self._epoch_former = -1  # the last one of the store that the cluster was moved away from
        self._named: dict[TopicPartition, dict[int, set[int]]] = {}  # leader epoch -> whom its leader named
        self._leaders: dict[int, str] = {}  # controller epoch -> who commits under it
        self._broken: InvariantBroken | None = (
            None  # by a callback: the dispatcher would take it for the host's failure
        )

    def moved(self, committed: CommittedTree) -> None:
        """The cluster goes on in another store; callbacks of whoever led in the former one are not looked at."""
        self._committed, self._epoch_former = committed, committed.controller_epoch

    # --- what is noted

    def proposed(self, tp: TopicPartition, asked: IsrAsked) -> None:
        """A leader asked for an isr."""
        self._named.setdefault(tp, {}).setdefault(asked.leader_epoch, set()).update(asked.isr)

    def step(self) -> bool:
        """Take in what was committed; whether anything was. Raises InvariantBroken, also for what a callback broke
        since the last call."""
        if self._broken is not None:
            raise self._broken
        return self._follow()

    def _follow(self) -> bool:
        commits = self._rig.server.take()
        for commit in commits:
            token = self._committed.token
            epoch = self._committed.controller_epoch
            known, blind = set(self._committed.topics), set(self._committed.blind)
            if self._enabled and commit.sender != FOREIGN:
                check_deletes(commit, self._committed, self._rig, self._require)
            existing, marked = set(self._committed.partitions), dict(self._committed.marked)
            changes = self._committed.follow(commit)
            for tp in existing - set(self._committed.partitions):
                if tp.topic in self._committed.topics:
                    self._purged(tp)
            for name in known - set(self._committed.topics):
                self._deleted(name)
            self._rig.operators.follow(commit)
            if self._enabled and commit.sender != FOREIGN and not commit.sender.startswith(_BROKER):
                self._fenced(commit, token, epoch)
                self._left_alone(commit, blind)
                for change in changes:
                    self._partition(change)
                self._intents(changes)
                self._fresh_intents(commit)
                self._legacy_key(commit)
                self._marks(commit, marked, changes)
        undone = self._rig.operators.settle(self._committed.controller_epoch)
        self._require(not undone or not self._enabled, 6, f"of throttles: {undone}")
        return bool(commits)

    def _deleted(self, name: str) -> None:
        """What was known of a topic says nothing of the next one with its name."""
        self._rig.producers.forget(name)
        self._rig.operators.forget("topics", name)
        for tp in [tp for tp in self._named if tp.topic == name]:
            del self._named[tp]
        for key in [key for key in self._rig.foreign_fields if name in (keys.topic_of(key), _topic_of_state(key))]:
            del self._rig.foreign_fields[key]
        for tp in [tp for tp in self._rig.unclean_asked if tp.topic == name]:
            self._rig.unclean_asked.discard(tp)
        for tp in [tp for tp in self._rig.asked_targets if tp.topic == name]:
            self._rig.asked_targets[tp] &= targets_by_key(self._rig, tp)  # whoever has that name when it is read

    def _purged(self, tp: TopicPartition) -> None:
        """What was known of a partition says nothing of the next one with its id."""
        self._rig.producers.forget(tp.topic, tp.partition)
        self._named.pop(tp, None)
        self._rig.foreign_fields.pop(keys.state(tp.topic, tp.partition), None)
        self._rig.unclean_asked.discard(tp)
        if tp in self._rig.asked_targets:
            self._rig.asked_targets[tp] &= targets_by_key(self._rig, tp)

    def _require(self, holds: object, number: int, what: str) -> None:
        if not holds:
            where = f"seed {self._rig.seed}, at {self._rig.clock.elapsed_ms} ms"
            raise InvariantBroken(number, f"{what} ({where})")

    # --- 5: who may commit

    def _fenced(self, commit: Committed, before: Token | None, epoch_before: int) -> None:
        ops = {op.key: op for op in commit.ops}
        elected = isinstance(ops.get(LEADER_KEY), Put)
        if elected:
            epoch = self._committed.controller_epoch
            self._require(epoch > epoch_before, 5, f"{commit.sender} was elected under {epoch} after {epoch_before}")
            self._require(epoch not in self._leaders, 5, f"{commit.sender} was elected under {epoch}, as another was")
            self._leaders[epoch] = commit.sender
            return
        if all(isinstance(op, Delete) and op.key == LEADER_KEY for op in commit.ops):
            return  # resigns
        fenced = isinstance(ops.get(TOKEN_KEY), Put) and isinstance(ops.get(EPOCH_KEY), Check)
        self._require(fenced, 5, f"{commit.sender} commits without a fence: {list(ops)}")
        token = self._committed.token
        assert token is not None
        current = self._committed.controller_epoch
        self._require(
            token.controller_epoch == current,
            5,
            f"{commit.sender} commits under {token.controller_epoch}, the controller epoch is {current}",
        )
        leader = self._leaders.get(token.controller_epoch)
        self._require(leader == commit.sender, 5, f"{commit.sender} commits under the epoch of {leader}")
        seq = 0 if before is None else before.seq
        self._require(token.seq == seq + 1, 5, f"{commit.sender}: commit {token.seq} follows on {seq}")

    # --- 10: what cannot be read

    def _left_alone(self, commit: Committed, blind: set[str]) -> None:
        for op in commit.ops if blind else ():
            topic = keys.topic_of(op.key) or _topic_of_state(op.key)
            if isinstance(op, Put) and topic is not None and topic not in self._committed.deleting:
                written = {op.key, keys.topic(topic)}
                self._require(not written & blind, 10, f"{commit.sender} writes {op.key}, which it could not read")

    # --- 1 to 4: a partition

    def _partition(self, change: Change) -> None:
        tp, before, after = change.tp, change.before, change.after
        said = f"{tp}: {_words(before)} -> {_words(after)} by {change.by.sender}"
        self._require(after.isr, 1, f"an empty isr: {said}")
        nobody = (NO_LEADER, LEADER_DURING_DELETE) if tp.topic in self._committed.deleting else (NO_LEADER,)
        self._require(after.leader in (*after.isr, *nobody), 1, f"the leader is not in the isr: {said}")
        self._require(set(after.isr) <= set(after.members), 2, f"the isr is not within R and T: {said}")
        if before is None:
            topic = self._committed.topic(tp.topic)
            created = NO_EPOCH + 1 if topic is None else topic.created_epoch(tp.partition)
            # What befell it in the commit that it was created by, as a death, shows in what it is.
            is_led = after.leader == after.replicas[0] and after.isr == after.replicas
            is_as_made = is_led and after.move is None and after.status_code == ONLINE
            fits = after.leader_epoch == created or (after.leader_epoch > created and not is_as_made)
            self._require(fits, 8, f"created with another leader epoch than {created}: {said}")
            return
        named = set(before.isr) | self._named.get(tp, {}).get(before.leader_epoch, set())
        if after.leader_recovery_state == 1 and self._is_unclean(tp):
            named |= set(after.isr)
        if after.leader == LEADER_DURING_DELETE and keys.state(tp.topic, tp.partition) in self._committed.found_blind:
            named |= set(after.replicas)  # what its deletion writes over what it could not read: R, led by nobody
        else:
            self._status(before, after, said)
        self._leadership(before, after, named, said)
        self._membership(before, after, named, said)
        self._target(before, after, named, said)

    # --- 8: its status

    def _status(self, before: Partition, after: Partition, said: str) -> None:
        was, now = before.status_code, after.status_code
        if was == OFFLINE:
            same = after.leader in {before.leader, LEADER_DURING_DELETE} and after.move is None
            self._require(same, 8, f"offline, and elected or moved: {said}")
        if was == now:
            return
        entry = self._committed.reductions_lately.get(before.topic, {}).get(before.partition)
        self._require(_STATUS.index(now) > _STATUS.index(was), 8, f"the status goes back from {was} to {now}: {said}")
        self._require(entry is not None, 8, f"status {now}, and nobody asked for it: {said}")
        self._require(after.leader_epoch > before.leader_epoch, 8, f"status {now} under an old leader epoch: {said}")
        if now == OFFLINE and entry is not None and not entry.immediate:
            time_ms = self._rig.clock.now_ms() + _SKEW_MS_MAX - entry.timestamp_ms
            is_over = time_ms >= self._retention_ms(before.topic)
            self._require(is_over or self._is_empty(before.tp), 8, f"offline after {time_ms} ms, not empty: {said}")

    def _retention_ms(self, topic: str) -> int:
        """Whatever it was lately: a setting that somebody writes is heard of late."""
        own = self._committed.retentions.get(topic, set())
        return min(own | self._committed.retention_defaults | (set() if own else {RETENTION_MS}))

    def _is_empty(self, tp: TopicPartition) -> bool:
        """Whether nothing that was acknowledged is lost with it."""
        return self._rig.producers.acknowledged(tp) == 0

    def _leadership(self, before: Partition, after: Partition, named: set[int], said: str) -> None:
        self._require(after.leader_epoch >= before.leader_epoch, 5, f"the leader epoch goes back: {said}")
        if after.leader != before.leader:
            self._require(after.leader_epoch > before.leader_epoch, 5, f"a new leader under an old epoch: {said}")
        self._require(set(after.isr) <= named, 1, f"the isr gains whom no leader named: {said}")
        nobody = (NO_LEADER, LEADER_DURING_DELETE)
        self._require(after.leader in (*named, *nobody), 1, f"a leader from outside the isr: {said}")

    def _is_unclean(self, tp: TopicPartition) -> bool:
        own = self._committed.configs.get(f"/config/topics/{tp.topic}", {}).get(UNCLEAN)
        default = self._rig.settings.unclean_leader_election_enable or self._committed.unclean_default
        allowed = default if own is None else own == "true"
        return allowed or tp in self._rig.unclean_asked

    def _membership(self, before: Partition, after: Partition, named: set[int], said: str) -> None:
        gained = set(after.replicas) - set(before.replicas)
        self._require(gained <= named, 4, f"R gains {sorted(gained)}, not in sync: {said}")
        lost = set(before.replicas) - set(after.replicas)
        if lost:
            grown = set(after.isr) if after.move is not None else set()
            fits = any(
                set(target) <= named
                and lost.isdisjoint(target)
                and set(target) <= set(after.replicas)
                and set(after.replicas) - set(target) <= grown
                for target in self._targets(before)
            )
            self._require(fits, 4, f"R loses {sorted(lost)} before the targets are in sync: {said}")

    def _targets(self, before: Partition) -> set[Replicas]:
        """What the partition may move to: what was asked for, and back."""
        targets = set(self._rig.asked_targets.get(before.tp, ()))
        targets |= {before.replicas}
        if before.move is not None:
            targets |= {before.move.target, before.move.origin}
        return targets

    def _target(self, before: Partition, after: Partition, named: set[int], said: str) -> None:
        was, now = before.target_replicas, after.target_replicas
        if now is not None and now != was:
            self._require(now in self._targets(before), 3, f"nobody asked for T {list(now)}: {said}")
            self._require(after.leader_epoch > before.leader_epoch, 3, f"a new T under an old leader epoch: {said}")
        if was is not None and now is None:
            self._require(after.leader_epoch > before.leader_epoch, 3, f"T cleared under an old leader epoch: {said}")
            grown = (*before.replicas, *(b for b in after.isr if b not in before.replicas))  # a cancel leaves that, too
            if after.replicas == was not in {before.replicas, grown}:
                self._require(set(was) <= named, 3, f"completed before all of T were in sync: {said}")

    # --- 7: intents

    def _intents(self, changes: list[Change]) -> None:
        if not changes:
            return
        opened = {
            (intent.topic_id, intent.partition, intent.broker)
            for intents in self._committed.intents.values()
            for intent in intents
        }
        for change in changes:
            topic = self._committed.topic(change.tp.topic)
            topic_id = "" if topic is None else topic.topic_id
            members = set(change.after.members)
            left = set() if change.before is None else set(change.before.members) - members
            for broker in sorted(left):
                known = (topic_id, change.tp.partition, broker) in opened or broker in change.after.holders_left
                self._require(known, 7, f"{change.tp}: {broker} leaves {_words(change.before)} without an intent")

    def _fresh_intents(self, commit: Committed) -> None:
        """What a commit writes down to be deleted is on nobody who is a member by it, sent or not."""
        for op in commit.ops:
            for intent in self._committed.intents.get(op.key, ()) if isinstance(op, Put) else ():
                tp, topic = TopicPartition(intent.topic, intent.partition), self._committed.topic(intent.topic)
                partition = self._committed.partitions.get(tp)
                is_doomed = intent.topic_id in self._committed.doomed
                is_doomed |= partition is not None and partition.is_offline
                if partition is not None and topic is not None and topic.topic_id == intent.topic_id and not is_doomed:
                    stays = intent.broker in partition.members
                    self._require(
                        not stays, 4, f"{tp}: {intent.broker} is to delete, and a member: {_words(partition)}"
                    )

    # --- 3: the legacy key

    def _legacy_key(self, commit: Committed) -> None:
        """A controller takes entries out of the key, and puts none in."""
        for op in commit.ops:
            if isinstance(op, Put) and op.key == keys.REASSIGN_PARTITIONS:
                for entry in legacy.decode(op.value, 0).entries:
                    asked = self._rig.asked_targets.get(TopicPartition(*entry.name), set())
                    self._require(entry.target in asked, 3, f"the legacy key says what nobody asked for: {entry}")

    # --- 6: throttles

    def _marks(self, commit: Committed, marked: dict[str, tuple[str, ...]], changes: list[Change]) -> None:
        """Whom a mark names stays in it while something moves, or while the legacy key is there, unless he is deleted,
        or a request replaces. What begins in the same commit was decided after it."""
        now = self._committed.marked
        gone = {key: [one for one in owners if one not in now.get(key, ())] for key, owners in marked.items()}
        topics = gone.get(keys.REPLICAS_REMOVAL, [])
        topics[:] = [one for one in topics if one in self._committed.topics and one not in self._committed.deleting]
        if not any(gone.values()) or self._rig.operators.may_replace:
            return
        begun = {c.tp for c in changes if c.before is not None and c.before.move is None}
        known = [p.tp for p in self._committed.partitions.values() if p.move is not None and p.tp not in begun]
        # What the controller could not read when it took over may move, and it does not know.
        blind = self._committed.found_blind
        moving = [str(p) for p in known if not blind & {keys.topic(p.topic), keys.state(p.topic, p.partition)}]
        self._require(not moving, 6, f"the marks lose {gone} while {moving[:5]} move")
        is_there = keys.REASSIGN_PARTITIONS in self._rig.server.table.rows and not self._committed.is_plan_news
        made = {op.key for op in commit.ops if isinstance(op, Put) and op.expect == ABSENT}
        is_kept = is_there and keys.REASSIGN_PARTITIONS not in made
        self._require(not is_kept, 6, f"the marks lose {gone} while the legacy key is there")

    # --- 9, 4: callbacks

    def sent(self, sent: Sent) -> None:
        """A callback goes out, or arrives late."""
        if not self._enabled or self._broken is not None:
            return
        try:
            self._follow()
            self._sent(sent)
        except InvariantBroken as broken:
            self._broken = broken

    def allows(self, request: Request, revision: int) -> bool:
        """Whether a callback whose round went out at `revision` might arrive just now without breaking anything."""
        try:
            self._sent(Sent(0, request.controller_id, request.broker_id, request, revision, ""))
        except InvariantBroken:
            return False
        return True

    def _sent(self, sent: Sent) -> None:
        request = sent.request
        if request.controller_epoch <= self._epoch_former:
            return
        if isinstance(request, StopReplicaRequest):
            self._deletes(sent, request)
            return
        if request.full and request.controller_epoch == self._committed.controller_epoch:
            self._require(not self._committed.blind, 10, f"full, and {self._committed.blind} cannot be read: {sent}")
        for said in request.partitions:
            self._require(self._was_committed(sent, said), 9, f"sent and not committed: {said}")

    def _was_committed(self, sent: Sent, said: LeaderAndIsrPartition | PartitionMetadata) -> bool:
        for moment in reversed(self._committed.history.get(TopicPartition(said.topic, said.partition), [])):
            p = moment.partition
            if said.leader == LEADER_DURING_DELETE and p.is_offline and moment.revision <= sent.revision:
                return said.leader_epoch == p.leader_epoch  # purged
            # In the state key of a topic that is being deleted somebody else may write what he likes: it only goes.
            same_epoch = moment.partition_epoch == said.partition_epoch or said.topic_id in self._committed.doomed
            if same_epoch and moment.revision <= sent.revision:
                told = (said.leader, said.leader_epoch, said.isr, set(said.replicas))
                if told == (p.leader, p.leader_epoch, p.isr, set(p.replicas)):
                    return not isinstance(said, LeaderAndIsrPartition) or self._is_target(said, p)
        return False

    def _is_target(self, said: LeaderAndIsrPartition, partition: Partition) -> bool:
        if said.target_replicas is None and self._rig.has_old_versions:
            return True
        return said.target_replicas == partition.target_replicas

    def _deletes(self, sent: Sent, request: StopReplicaRequest) -> None:
        # A controller that was deposed meanwhile knows what stood when the next epoch began, no more.
        known = min(sent.revision, self._committed.epoch_ends.get(request.controller_epoch, sent.revision))
        for said in request.partitions:
            tp = TopicPartition(said.topic, said.partition)
            moment = self._committed.at(tp, known)
            topic = self._committed.topic(said.topic)
            if moment is None or topic is None or topic.topic_id != said.topic_id:
                continue
            member = sent.broker_id in moment.partition.members
            if moment.partition.is_offline:
                continue
            if said.topic_id in self._committed.doomed:
                moves = member and moment.partition.move is not None
                self._require(not moves, 4, f"{tp}: {sent.broker_id} is told to delete while it moves")
                continue
            self._require(
                not member, 4, f"{tp}: {sent.broker_id} is told to delete, member of {_words(moment.partition)}"
            )

    # --- the end

    def end(self) -> None:
        """What must hold once all is healed and quiet."""
        rig = self._rig
        differing = disagreements(rig)
        self._require(not differing, 9, f"not all agree: {differing[:5]}\n{describe(rig)}" if differing else "")
        left = [intent for intents in self._committed.intents.values() for intent in intents]
        self._require(not left, 7, f"intents are open in the end: {left}")
        wrong = rig.operators.wrong(self._committed.topics, rig.brokers)
        self._require(not wrong, 6, f"throttles in the end: {wrong[:5]}")
        remains = left_over(rig)
        self._require(not remains, 8, f"left of topics that there are not: {remains}")
        found = inspect(entry(key, row) for key, row in rig.server.table.rows.items()).at_least("warning")
        self._require(not found, 11, f"the tree is not as it should be: {found[:5]}\n{describe(rig)}" if found else "")
        for key, names in rig.foreign_fields.items():
            lost = names - set(json.loads(rig.server.table.rows[key][0]))
            self._require(not lost, 10, f"{key} has lost fields of somebody else's: {sorted(lost)}")
        for tp in rig.producers.partitions:
            leader = rig.leader(tp)
            log = None if leader is None else leader.log(tp)
            partition = self._committed.partitions.get(tp)
            if partition is not None and partition.is_offline:
                continue
            if log is not None and tp not in rig.unclean_asked and not self._is_unclean(tp):
                missing = rig.producers.lost(tp, log)
                said = f"{tp}: acknowledged and lost: {missing}" + (describe(rig) if missing else "")
                self._require(not missing, 0, said)


def _topic_of_state(key: str) -> str | None:
    of = keys.partition_of(key)
    return None if of is None else of[0]


def _words(p: Partition | None) -> str:
    if p is None:
        return "nothing"
    move = "" if p.move is None else f" T {list(p.move.target)}"
    return f"R {list(p.replicas)} I {list(p.isr)}{move} leader {p.leader}/{p.leader_epoch}"
