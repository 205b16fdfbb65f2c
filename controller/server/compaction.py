"""Compacts topics with `cleanup.policy=compact`: of each key the newest record stays, at its offset.

Rules
* Which batches, when, and what remains of them: `kedge.controller.server.compacting`. Partitions are looked at once a
  second.
* The leader compacts, up to its last stable offset. All replicas share the batches, so what a follower has or copies
  later is compacted as well. A replica that is elected uncleanly may therefore lack more than it would in Kafka.
* The work is done in steps of a few ms, one partition after the other, and takes effect at its end. It is dropped when
  the leader, its epoch or the policy of the topic changes.
* It begins when `LiveLogs.begin` has passed a codec.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from weakref import WeakKeyDictionary

import attrs

from ..coordinators import INTERNAL_TOPICS
from ..model.logs import BatchCodec
from ..model.values import TOPICS
from ..runtime.turns import Work
from ..simulated.replica import Replica, Role
from .compacting import Progress, Rules, compacted
from .logs import LiveLogs, wall_ms
from .policies import COMPACT, led, policies
from .record_store import RecordStore
from .rows import Row

_STEP_S: Final = 0.005
_ACTIVE_SHARE: Final = 8
"""The active part of a log is at most this part of what is kept of a partition, so that compaction begins early."""


@attrs.define(eq=False)
class _Job:
    """The compaction of a partition. `leader_epoch`: under which `replica` leads."""

    replica: Replica
    leader_epoch: int
    rows: Sequence[Row]
    work: Work[list[Row]]


@attrs.define(eq=False)
class Compaction:
    """Compaction of the topics in `logs`. `now_ms`: the time, in the clock of producers."""

    logs: LiveLogs
    now_ms: Callable[[], int] = wall_ms
    _jobs: deque[_Job] = attrs.field(factory=deque)
    _progress: WeakKeyDictionary[RecordStore, Progress] = attrs.field(factory=WeakKeyDictionary)

    # --- what to compact

    def clean(self) -> None:
        """Find the partitions that are to be compacted."""
        codec = self.logs.codec
        if codec is None:
            return
        busy = {job.replica for job in self._jobs}
        named = (name for kind, name in self.logs.settings if kind == TOPICS)
        wanted = {*INTERNAL_TOPICS, *(name for name in named if self._is_compacted(name))}
        for replica in led(self.logs.brokers, wanted.__contains__):
            if replica not in busy:
                with suppress(ValueError):  # a setting that cannot be read has no effect
                    self._look(replica, codec)

    def _is_compacted(self, topic: str) -> bool:
        return COMPACT in policies(topic, self.logs.settings)

    def _look(self, replica: Replica, codec: BatchCodec) -> None:
        shelf = self.logs.shelves.of(replica)
        if not shelf.size_bytes:
            return
        configs = self.logs.settings.get((TOPICS, replica.topic), {})
        rules = Rules.of(configs, self.logs.shelves.retention_bytes // _ACTIVE_SHARE)
        progress, now_ms = self._progress.setdefault(shelf, Progress()), self.now_ms()
        progress.look(shelf, replica.log, rules, now_ms)
        if progress.is_worth_it(shelf, rules, now_ms):
            rows = [row for row in shelf.rows(replica.log) if row.first_id < progress.ready_id]
            aborted = shelf.producers.aborted(replica.log, 0, progress.ready_offset)
            work = compacted(rows, codec, rules, now_ms, aborted)
            self._jobs.append(_Job(replica, replica.leader_epoch, rows, work))

    # --- the work

    def step(self) -> bool:
        """Go on for a few ms; returns whether there is more to do."""
        end_s = self.logs.clock() + _STEP_S
        while self._jobs and self.logs.clock() < end_s:
            job, is_over = self._jobs[0], True
            with self.logs.brokers[job.replica.broker].isolated(job.replica):
                is_over = not self._is_wanted(job) or self._advance(job)
            if is_over:
                self._jobs.popleft()
        return bool(self._jobs)

    def _is_wanted(self, job: _Job) -> bool:
        replica = job.replica
        is_led = replica.role is Role.LEADER and replica.leader_epoch == job.leader_epoch
        return is_led and self.logs.brokers[replica.broker].is_up and self._is_compacted(replica.topic)

    def _advance(self, job: _Job) -> bool:
        """One slice; returns whether it was the last."""
        try:
            next(job.work)
        except StopIteration as ended:
            self.logs.shelves.replace(job.replica, job.rows, ended.value)
            self._progress[self.logs.shelves.of(job.replica)].done(ended.value)
            return True
        return False
