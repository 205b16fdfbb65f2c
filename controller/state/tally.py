"""Counts over all partitions, updated with each changed row, so that readers need not visit the cluster.

What a partition contributes depends on its row alone, so rows that are put, restored or removed are added and
subtracted without a reason. A partition that is stopped because its topic is being deleted (leader -2), and one that a
reduction took offline, contribute nothing. Brokers with a count of 0 are left out.
"""

from __future__ import annotations

from ..model.values import LEADER_DURING_DELETE, NO_LEADER, Partition
from .columns import Rows


class Tally:
    """`offline`: partitions without a leader. By leader: `reassigning`, and `under_replicated` (the ISR lacks a replica
    that is not being added). By preferred leader: `imbalanced`, those that it does not lead."""

    __slots__ = ("imbalanced", "offline", "reassigning", "under_replicated")

    def __init__(self) -> None:
        self.offline = 0
        self.reassigning: dict[int, int] = {}
        self.under_replicated: dict[int, int] = {}
        self.imbalanced: dict[int, int] = {}

    @classmethod
    def of(cls, rows: Rows) -> Tally:
        tally = cls()
        for row, count in rows.grouped():
            tally.count(row, count)
        return tally

    def swap(self, before: Partition, after: Partition) -> None:
        """`after` replaces `before`."""
        self.count(before, -1)
        self.count(after, 1)

    def count(self, row: Partition, by: int) -> None:
        """Add `row` (1, or the number of equal rows), or subtract it (-1)."""
        leader, isr = row.leader, row.isr
        if leader == LEADER_DURING_DELETE or row.status_code == 1:
            return
        if leader == NO_LEADER:
            self.offline += by
        else:
            move = row.move
            if move is not None:
                _add(self.reassigning, leader, by)
            kept = row.replicas if move is None else move.origin
            if isr is not kept and isr != kept:
                for broker in kept:
                    if broker not in isr:
                        _add(self.under_replicated, leader, by)
                        break
        preferred = row.replicas[0]
        if leader != preferred and isr:
            _add(self.imbalanced, preferred, by)

    def copy(self) -> Tally:
        copied = Tally()
        copied.offline = self.offline
        copied.reassigning = self.reassigning.copy()
        copied.under_replicated = self.under_replicated.copy()
        copied.imbalanced = self.imbalanced.copy()
        return copied

    def as_dict(self) -> dict[str, object]:
        """Plain values, by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def _add(counts: dict[int, int], broker: int, by: int) -> None:
    count = counts.get(broker, 0) + by
    if count:
        counts[broker] = count
    else:
        del counts[broker]
