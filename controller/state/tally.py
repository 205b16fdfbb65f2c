"""Counts over all partitions, kept as rows change: who asks for them need not walk over the cluster.

What a partition adds is a function of its row alone, so a row that is put, put back or taken out is added and removed
without knowing why. A partition that is stopped since its topic goes (leader -2), and one that a reduction took
offline, adds nothing. By broker nothing is kept that is 0.
"""

from __future__ import annotations

from controller.model.values import LEADER_DURING_DELETE, NO_LEADER, Partition
from controller.state.columns import Rows


class Tally:
    """`offline`: partitions that nobody leads. By leader: `reassigning`, and `under_replicated`, where one that is not
    being added is missing in the isr. By preferred leader: `imbalanced`, those that are not led by it."""

    __slots__ = ("imbalanced", "offline", "reassigning", "under_replicated")

    def __init__(self) -> None:
        self.offline = 0
        self.reassigning: dict[int, int] = {}
        self.under_replicated: dict[int, int] = {}
        self.imbalanced: dict[int, int] = {}

    @classmethod
    def of(cls, rows: Rows) -> Tally:
        """All of `rows`."""
        tally = cls()
        for row, count in rows.alike():
            tally.count(row, count)
        return tally

    def swap(self, before: Partition, after: Partition) -> None:
        """`after` stands where `before` stood."""
        self.count(before, -1)
        self.count(after, 1)

    def count(self, row: Partition, by: int) -> None:
        """`row` came (1, or as many as are alike), or went (-1)."""
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
        """As it stands now."""
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
