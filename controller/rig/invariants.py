"""What must never happen, held against every commit and every callback of a rig.

1. The leader is in the isr, or there is none; the isr is never empty. An isr gains only whom its leader named, a leader
   comes from the isr, but for unclean elections. (Each commit.)
2. The isr is within R, or R + T while a move runs. (Each commit.)
3. T is what was asked for, untouched until the end; a move completes only with every member of T in the isr. The legacy
   key gains nothing, and is gone in the end. (Each commit, the end.)
4. R loses nobody before the targets are in sync, gains only who is; nobody of R or T is told to delete, unless the
   topic is being deleted, whose moves are cancelled before. (Each commit, each StopReplica.)
5. Leader epochs, the controller epoch and the token never go back; one sender per controller epoch; every write of a
   controller carries the fence of the newest one. (Each commit.)
7. Who leaves R + T leaves a durable intent behind (or is named in the state key as one who is to get it); in the end
   none is open. (Each commit, the end.)
8. Partition ids are 0..n-1; one comes back only with fresh state, under the leader epoch that its id is due. What goes
   with a topic: `gone`. (Each commit, the end.)
9. Only what is committed is sent; in the end all brokers agree with the store. (Each callback, the end.)
0. What was acknowledged is in the leader's log. (The end.)
10. What a takeover could not read is left alone until it can be read: nobody is elected there, and no request is
   `full`; fields that somebody else added to a key stay. (Each commit, each callback, the end.)
11. Nothing is broken, inconsistent or left behind in the tree, by `controller.check`. (The end.)

The isr that a leader names is taken from its `alter_isr` calls, targets from the calls of the admin API: not from what
the controller says of itself. The numbers up to 9 are those of the design, of which 6 is about throttles; its 10,
determinism, is a test.
"""

from __future__ import annotations

import json
from typing import Final

from controller.check import inspect
from controller.codec import keys, legacy
from controller.model.host import LeaderAndIsrPartition, PartitionMetadata, StopReplicaRequest
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
from stores.base import Check, Delete, Put
from stores.memory.table import entry
from stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token

_BROKER: Final = "broker "


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
        self._named: dict[TopicPartition, dict[int, set[int]]] = {}  # leader epoch -> whom its leader named
        self._leaders: dict[int, str] = {}  # controller epoch -> who commits under it
        self._broken: InvariantBroken | None = (
            None  # by a callback: the dispatcher would take it for the host's failure
        )

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
            changes = self._committed.follow(commit)
            for name in known - set(self._committed.topics):
                self._deleted(name)
            if self._enabled and commit.sender != FOREIGN and not commit.sender.startswith(_BROKER):
                self._fenced(commit, token, epoch)
                self._left_alone(commit, blind)
                for change in changes:
                    self._partition(change)
                self._intents(changes)
                self._fresh_intents(commit)
                self._legacy_key(commit)
        return bool(commits)

    def _deleted(self, name: str) -> None:
        """What was known of a topic says nothing of the next one with its name."""
        self._rig.producers.forget(name)
        for tp in [tp for tp in self._named if tp.topic == name]:
            del self._named[tp]
        for key in [key for key in self._rig.foreign_fields if name in (keys.topic_of(key), _topic_of_state(key))]:
            del self._rig.foreign_fields[key]
        for tp in [tp for tp in self._rig.unclean_asked if tp.topic == name]:
            self._rig.unclean_asked.discard(tp)
        for tp in [tp for tp in self._rig.asked_targets if tp.topic == name]:
            self._rig.asked_targets[tp] &= targets_by_key(self._rig, tp)  # whoever has that name when it is read

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
            self._require(after.leader_epoch == created, 8, f"created with another leader epoch than {created}: {said}")
            return
        named = set(before.isr) | self._named.get(tp, {}).get(before.leader_epoch, set())
        if after.leader_recovery_state == 1 and self._is_unclean(tp):
            named |= set(after.isr)
        if after.leader == LEADER_DURING_DELETE and keys.state(tp.topic, tp.partition) in self._committed.found_blind:
            named |= set(after.replicas)  # what its deletion writes over what it could not read: R, led by nobody
        self._leadership(before, after, named, said)
        self._membership(before, after, named, said)
        self._target(before, after, named, said)

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
            if after.replicas == was != before.replicas:
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
            if moment.partition_epoch == said.partition_epoch and moment.revision <= sent.revision:
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
