"""What the rows of a term have produced so far, and what its present commit must contain before its last row.

A Takeover lists what is in flight: a partition that is not listed does not move and has no open intent (`is_whole`).
After lost lines nothing is known except what the following rows say.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ..model.values import NO_EPOCH
from .standing import PartitionState, Row, broken, number, topic_id_of, word

Key: TypeAlias = tuple[str, int]
Slot: TypeAlias = tuple[str, str, int, int]
"""A replica: topic, topic_id, partition, broker."""


@attrs.define
class ReplayedCommit:
    """What rows of this commit have begun and must end in it. `completing`: the last row of a completion. `grows`:
    partitions whose R must contain what is in T and in the isr. `owed`: replicas that must get an intent, with the
    reason. `targeted`: partitions with a new T."""

    completing: dict[Key, Literal["ReplicasChanged", "TargetCleared"]] = attrs.field(factory=dict)
    grows: set[Key] = attrs.field(factory=set)
    owed: dict[Slot, str] = attrs.field(factory=dict)
    targeted: set[Key] = attrs.field(factory=set)


@attrs.define
class ReplayedTerm:
    """One controller epoch. `epochs`: the last leader epoch of each partition of a topic with an id, over all terms,
    until it is deleted.
    `topics`: ids of the topics that are known to exist; `counts`: their numbers of partitions, where a row had them.
    `brokers`: epochs of the registered brokers; `left`: brokers that left. `legacy_key` None: unknown whether it
    exists."""

    epoch: int
    epochs: dict[tuple[str, str, int], int]
    is_whole: bool
    partitions: dict[Key, PartitionState] = attrs.field(factory=dict)
    intents: dict[Slot, int] = attrs.field(factory=dict)
    topics: dict[str, str] = attrs.field(factory=dict)
    counts: dict[str, int] = attrs.field(factory=dict)
    deleting: set[str] = attrs.field(factory=set)
    brokers: dict[int, int | None] = attrs.field(factory=dict)
    left: set[int] = attrs.field(factory=set)
    forgotten: set[int] = attrs.field(factory=set)
    legacy_key: bool | None = None
    commit: ReplayedCommit = attrs.field(factory=ReplayedCommit)

    def lost(self) -> None:
        """Rows are missing: forget everything that earlier rows said."""
        self.is_whole = False
        for known in (self.partitions, self.intents, self.topics, self.counts, self.brokers):
            known.clear()
        for named in (self.deleting, self.left, self.forgotten):
            named.clear()
        self.legacy_key = None
        self.commit = ReplayedCommit()

    def stand(self, standing: PartitionState) -> None:
        self.partitions[standing.key] = standing
        if standing.topic_id:
            self.topics[standing.topic] = standing.topic_id
            if standing.leader_epoch != NO_EPOCH:
                self.epochs[standing.topic, standing.topic_id, standing.partition] = standing.leader_epoch

    def past_epoch(self, standing: PartitionState) -> int:
        """The last leader epoch of the partition in any row; -1 if there is none."""
        return self.epochs.get((standing.topic, standing.topic_id, standing.partition), NO_EPOCH)

    def topic_id(self, row: Row) -> str:
        """The id of the row's topic, which must equal the id in earlier rows. Raises Broken."""
        name, topic_id = word(row, "topic"), topic_id_of(row)
        known = self.topics.get(name, "")
        if known and topic_id and known != topic_id:
            broken("topic id", known, topic_id)
        return topic_id or known


def slot_of(row: Row) -> Slot:
    """The replica that a row about an intent names. Raises Broken."""
    return word(row, "topic"), topic_id_of(row), number(row, "partition"), number(row, "broker")
