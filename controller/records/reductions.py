"""Records about reductions: topics get fewer partitions (KIP-694)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from ..codec.journal_text import dump
from ..codec.keys import DELETE_PARTITIONS, delete_partitions
from ..model.records import Record
from ..model.reductions import Retirements
from ..model.values import Extra, Partition
from ..state import ClusterState, DirtyKey
from ..state.reductions import Reduction
from .line import LineContext
from .publication import Publication


@attrs.define
class PartitionPurged(Record):
    """All logs of an offline partition, the last of its topic, are deleted, and so are its keys; it was `before`."""

    EVENTS = ("PartitionPurged",)

    before: Partition

    def apply(self, state: ClusterState) -> int:
        """Returns the number that the partition had."""
        topic = self.before.topic
        assert self.before.partition == state.partition_count(topic) - 1, "only the last one can be purged"
        purged = state.purge_last_partition(topic)
        state.batch.undone_by(state.unpurge, topic, purged)
        return purged.number

    def dirty(self, state: ClusterState, token: int) -> Sequence[DirtyKey]:
        before = self.before
        return ("state", token), ("parent", (before.topic, before.partition)), ("topic", before.topic)

    def lines(self, context: LineContext) -> Iterable[str]:
        """The partition before its purge; as a key it has no epoch any more."""
        p = self.before
        named = f'{context.topic(p.topic)},"partition":{p.partition},"leader_epoch":{p.leader_epoch}'
        yield context.line("PartitionPurged", named)

    def publish(self, to: Publication, token: int) -> None:
        to.purged(token, self.before)


@attrs.define
class ReductionChanged(Record):
    """A reduction has the entries `after` (if empty, its key is deleted). `is_written`: the key is not written now.
    `gone`: partitions that a former controller purged, perhaps without notifying its host. `extra`: unknown fields that
    were read; without any, the known ones stay. Not in the journal, which has a StatusChanged and a PartitionPurged for
    each partition."""

    topic: str
    after: Retirements
    is_written: bool = False
    gone: tuple[int, ...] = ()
    extra: Extra | None = None

    def apply(self, state: ClusterState) -> None:
        of, known = state.reducing.of, state.reducing.of.get(self.topic)
        if self.after or self.is_written:
            extra = self.extra or (None if known is None else known.extra)
            state.batch.put(of, self.topic, Reduction(self.after, extra))
        elif known is not None:
            state.batch.take(of, self.topic)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return () if self.is_written else (("reduction", self.topic),)

    def publish(self, to: Publication, token: object) -> None:
        to.finding(DELETE_PARTITIONS, None)
        for partition in self.gone:
            to.purged_before(self.topic, partition)


@attrs.define
class ReductionRefused(Record):
    """The key of a reduction is deleted, because it asks for something impossible or cannot be read. In the journal:
    ForeignChange."""

    EVENTS = ("ForeignChange",)

    topic: str
    detail: str

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("reduction", self.topic),)

    def lines(self, context: LineContext) -> Iterable[str]:
        what = f"{DELETE_PARTITIONS}: {self.detail}; removed"
        yield context.line("ForeignChange", context.topic(self.topic), dump({"what": what}))

    def publish(self, to: Publication, token: object) -> None:
        """Report a removed key, until a reduction is begun."""
        problem = f"{delete_partitions(self.topic)} was removed: {self.detail}"
        to.finding(DELETE_PARTITIONS, problem)
        to.warn(problem)
