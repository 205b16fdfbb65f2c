"""The guard of a rig: takes in all commits and callbacks, and checks them against the rules."""

from __future__ import annotations

import json
from typing import Final

from ....stores.memory.table import entry
from ...check import inspect
from ...codec import keys
from ...model.values import TopicPartition
from ...simulated.network import Request, Sent
from ..committed import CommittedTree
from ..gone import check_deletes, left_over
from ..outside import targets_by_key
from ..parts import Parts
from ..server import FOREIGN
from ..waits import describe, disagreements
from .callbacks import CallbackRules
from .case import Case, InvariantBroken, topic_of_state
from .commits import CommitRules
from .partition import PartitionRules

_BROKER: Final = "broker "


class Invariants:
    """The guard of a rig. `enabled` False: it only follows the commits, and raises nothing."""

    def __init__(self, committed: CommittedTree, rig: Parts, *, enabled: bool) -> None:
        self._case = Case(committed, rig)
        self._enabled = enabled
        self.partitions = PartitionRules(self._case)
        self._commits = CommitRules(self._case)
        self._callbacks = CallbackRules(self._case)
        self._broken: InvariantBroken | None = (
            None  # by a callback: raised there, the dispatcher would take it for the host's failure
        )

    def moved(self, committed: CommittedTree) -> None:
        """The cluster continues in another store, which has what is `committed`."""
        self._case.committed = committed

    # --- commits

    def step(self) -> bool:
        """Take in the commits; returns whether there were any. Raises InvariantBroken, also for what a callback broke
        since the last call."""
        if self._broken is not None:
            raise self._broken
        return self._follow()

    def _follow(self) -> bool:
        commits = self._case.rig.server.take()
        for commit in commits:
            token = self._case.committed.token
            epoch = self._case.committed.controller_epoch
            known, blind = set(self._case.committed.topics), set(self._case.committed.blind)
            if self._enabled and commit.sender != FOREIGN:
                check_deletes(commit, self._case.committed, self._case.rig, self._case.require)
            existing, marked = set(self._case.committed.partitions), dict(self._case.committed.marked)
            was_news = self._case.committed.is_plan_news
            changes = self._case.committed.follow(commit)
            for tp in existing - set(self._case.committed.partitions):
                if tp.topic in self._case.committed.topics:
                    self._purged(tp)
            for name in known - set(self._case.committed.topics):
                self._deleted(name)
            self._case.rig.operators.follow(commit)
            if self._enabled and commit.sender != FOREIGN and not commit.sender.startswith(_BROKER):
                self._commits.fenced(commit, token, epoch)
                self._commits.left_alone(commit, blind)
                for change in changes:
                    self.partitions.check(change)
                self._commits.intents(changes)
                self._commits.fresh_intents(commit)
                self._commits.legacy_key(commit)
                self._commits.marks(commit, marked, changes, was_news=was_news)
        undone = self._case.rig.operators.settle(self._case.committed.controller_epoch)
        self._case.require(not undone or not self._enabled, 6, f"of throttles: {undone}")
        return bool(commits)

    def _deleted(self, name: str) -> None:
        """Forget a topic: the next one with its name has nothing to do with it."""
        self._case.rig.producers.forget(name)
        self._case.rig.operators.forget("topics", name)
        for tp in [tp for tp in self.partitions.named if tp.topic == name]:
            del self.partitions.named[tp]
        for key in [key for key in self._case.rig.foreign_fields if name in (keys.topic_of(key), topic_of_state(key))]:
            del self._case.rig.foreign_fields[key]
        for tp in [tp for tp in self._case.rig.operators.unclean_asked if tp.topic == name]:
            self._case.rig.operators.unclean_asked.discard(tp)
        for tp in [tp for tp in self._case.rig.asked_targets if tp.topic == name]:
            self._case.rig.asked_targets[tp] &= targets_by_key(
                self._case.rig, tp
            )  # a key is for the topic that has the name when it is read

    def _purged(self, tp: TopicPartition) -> None:
        """Forget a partition: the next one with its id has nothing to do with it."""
        self._case.rig.producers.forget(tp.topic, tp.partition)
        self.partitions.named.pop(tp, None)
        self._case.rig.foreign_fields.pop(keys.state(tp.topic, tp.partition), None)
        self._case.rig.operators.unclean_asked.discard(tp)
        if tp in self._case.rig.asked_targets:
            self._case.rig.asked_targets[tp] &= targets_by_key(self._case.rig, tp)

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
        rig = self._case.rig
        differing = disagreements(rig)
        self._case.require(not differing, 9, f"not all agree: {differing[:5]}\n{describe(rig)}" if differing else "")
        left = [intent for intents in self._case.committed.intents.values() for intent in intents]
        self._case.require(not left, 7, f"intents are open in the end: {left}")
        wrong = rig.operators.wrong(self._case.committed.topics, rig.brokers)
        self._case.require(not wrong, 6, f"throttles in the end: {wrong[:5]}")
        remains = left_over(rig)
        self._case.require(not remains, 8, f"left of topics that do not exist: {remains}")
        found = inspect(entry(key, row) for key, row in rig.server.table.rows.items()).at_least("warning")
        self._case.require(
            not found, 11, f"the tree is not as it should be: {found[:5]}\n{describe(rig)}" if found else ""
        )
        for key, names in rig.foreign_fields.items():
            lost = names - set(json.loads(rig.server.table.rows[key][0]))
            self._case.require(not lost, 10, f"{key} has lost fields of another program: {sorted(lost)}")
        for tp in rig.producers.partitions:
            leader = rig.leader(tp)
            log = None if leader is None else leader.log(tp)
            partition = self._case.committed.partitions.get(tp)
            if partition is not None and partition.is_offline:
                continue
            if log is not None and tp not in rig.operators.unclean_asked and not self.partitions.is_unclean(tp):
                missing = rig.producers.lost(tp, log)
                said = f"{tp}: acknowledged and lost: {missing}" + (describe(rig) if missing else "")
                self._case.require(not missing, 0, said)
