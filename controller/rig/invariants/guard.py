"""The guard of a rig: takes in all commits and callbacks, and checks them against the rules."""

from __future__ import annotations

import json
from typing import Final

from ....stores.memory.table import entry
from ...check import inspect
from ...codec import keys
from ...model.values import TopicPartition
from ...simulated.network import Request, Sent
from ..gone import left_over
from ..outside import targets_by_key
from ..parts import Parts
from ..server import FOREIGN
from ..waits import describe, disagreements
from .callbacks import CallbackRules
from .case import InvariantBroken, Rules, topic_of_state
from .commits import CommitRules
from .deletions import DeletionRules
from .partition import PartitionRules

_BROKER: Final = "broker "


class Invariants(Rules):
    """The guard of a rig. `enabled` False: it only follows the commits, and raises nothing."""

    def __init__(self, rig: Parts, *, enabled: bool) -> None:
        super().__init__(rig)
        self._enabled = enabled
        self.partitions = PartitionRules(rig)
        self._commits = CommitRules(rig)
        self._deletions = DeletionRules(rig)
        self._callbacks = CallbackRules(rig)
        # By a callback. If it were raised there, the dispatcher would take it for a failure of the host.
        self._broken: InvariantBroken | None = None

    # --- commits

    def step(self) -> bool:
        """Take in the commits; returns whether there were any. Raises InvariantBroken, also for what a callback broke
        since the last call."""
        if self._broken is not None:
            raise self._broken
        return self._follow()

    def _follow(self) -> bool:
        commits = self.rig.server.take()
        for commit in commits:
            token = self.committed.token
            epoch = self.committed.controller_epoch
            known, blind = set(self.committed.topics), set(self.committed.blind)
            if self._enabled and commit.sender != FOREIGN:
                self._deletions.check(commit)
            existing, marked = set(self.committed.partitions), dict(self.committed.marked)
            was_news = self.committed.is_plan_news
            changes = self.committed.follow(commit)
            for tp in existing - set(self.committed.partitions):
                if tp.topic in self.committed.topics:
                    self._purged(tp)
            for name in known - set(self.committed.topics):
                self._deleted(name)
            self.rig.operators.follow(commit)
            if commit.sender == FOREIGN:
                self.partitions.follow_foreign(changes)
            if self._enabled and commit.sender != FOREIGN and not commit.sender.startswith(_BROKER):
                self._commits.fenced(commit, token, epoch)
                self._commits.left_alone(commit, blind)
                for change in changes:
                    self.partitions.check(change)
                self._commits.intents(changes)
                self._commits.fresh_intents(commit)
                self._commits.legacy_key(commit)
                self._commits.marks(commit, marked, changes, was_news=was_news)
        undone = self.rig.operators.settle(self.committed.controller_epoch)
        self.require(not undone or not self._enabled, 6, f"of throttles: {undone}")
        return bool(commits)

    def _deleted(self, name: str) -> None:
        """Forget a topic: the next one with its name has nothing to do with it."""
        self.rig.producers.forget(name)
        self.rig.operators.forget("topics", name)
        for key in [key for key in self.rig.foreign_fields if name in (keys.topic_of(key), topic_of_state(key))]:
            del self.rig.foreign_fields[key]
        partitions = self.partitions
        for tp in {*partitions.named, *partitions.foreign, *self.rig.operators.unclean_asked, *self.rig.asked_targets}:
            if tp.topic == name:
                self._forget(tp)

    def _purged(self, tp: TopicPartition) -> None:
        """Forget a partition: the next one with its id has nothing to do with it."""
        self.rig.producers.forget(tp.topic, tp.partition)
        self.rig.foreign_fields.pop(keys.state(tp.topic, tp.partition), None)
        self._forget(tp)

    def _forget(self, tp: TopicPartition) -> None:
        self.partitions.forget(tp)
        if self.rig.operators.is_waited_for(tp):
            return
        self.rig.operators.unclean_asked.discard(tp)
        if tp in self.rig.asked_targets:
            # A key is for the topic that has the name when it is read.
            self.rig.asked_targets[tp] &= targets_by_key(self.rig, tp)

    # --- callbacks

    def sent(self, sent: Sent) -> None:
        """A callback is sent, or arrives late."""
        if not self._enabled or self._broken is not None:
            return
        try:
            self._follow()
            self._callbacks.check(sent)
        except InvariantBroken as broken:
            self._broken = broken

    def allows(self, request: Request, revision: int) -> bool:
        """Whether a callback whose round was sent at `revision` could arrive now without a violation."""
        try:
            self._callbacks.check(Sent(0, request.controller_id, request.broker_id, request, revision, ""))
        except InvariantBroken:
            return False
        return True

    # --- the end

    def end(self) -> None:
        """What must hold once all is healed and quiet."""
        rig = self.rig
        differing = disagreements(rig)
        self.require(not differing, 9, f"not all agree: {differing[:5]}\n{describe(rig)}" if differing else "")
        left = [intent for intents in self.committed.intents.values() for intent in intents]
        self.require(not left, 7, f"intents are open in the end: {left}")
        wrong = rig.operators.wrong(self.committed.topics, rig.brokers)
        self.require(not wrong, 6, f"throttles in the end: {wrong[:5]}")
        remains = left_over(rig)
        self.require(not remains, 8, f"left of topics that do not exist: {remains}")
        found = inspect(entry(key, row) for key, row in rig.server.table.rows.items()).at_least("warning")
        self.require(not found, 11, f"the tree is not as it should be: {found[:5]}\n{describe(rig)}" if found else "")
        for key, names in rig.foreign_fields.items():
            lost = names - set(json.loads(rig.server.table.rows[key][0]))
            self.require(not lost, 10, f"{key} has lost fields of another program: {sorted(lost)}")
        for tp in rig.producers.partitions:
            leader = rig.leader(tp)
            log = None if leader is None else leader.log(tp)
            partition = self.committed.partitions.get(tp)
            if partition is not None and partition.is_offline:
                continue
            if log is not None and tp not in rig.operators.unclean_asked and not self.partitions.is_unclean(tp):
                missing = rig.producers.lost(tp, log)
                said = f"{tp}: acknowledged and lost: {missing}" + (describe(rig) if missing else "")
                self.require(not missing, 0, said)
