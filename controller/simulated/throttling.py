"""Fetches under limits: all followers that are behind form one queue, and each takes what it may.

* The one that has waited longest is first. A fetch takes its share of the network's bytes into its broker, within the
  limits of both sides, and at least one record, since a record may be larger than a limit allows at a time.
* A follower that may take nothing keeps its place and delays no other. But the first in the queue at an exhausted
  source (a limit, or the network) reserves one record's bytes of its other sources: otherwise it might never find all
  of them free at once.
* Followers without a limit are in the same queue, for their share of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

from ..quota import UNLIMITED, Bound, ReplicationQuota, Rotation
from .broker import Broker
from .fetching import Meeting

_Place: TypeAlias = tuple[int, str, int]  # the follower, and its replica
_Source: TypeAlias = ReplicationQuota | int  # a limit, or the network into that broker


@attrs.define(eq=False)
class Throttling:
    """The queue of a cluster. `fetch`: lets one fetch a number of bytes, and returns how many it took."""

    brokers: Mapping[int, Broker]
    fetch: Callable[[Meeting, int], int]
    _line: Rotation[_Place] = attrs.field(factory=Rotation)

    def copy(self, meetings: Iterable[Meeting], network: dict[int, float]) -> list[tuple[Meeting, int]]:
        """Fetch for all that are behind; returns who took how many bytes. `network`: the bytes that may still come into
        each broker (not named: unlimited), reduced by these."""
        line = {(m.replica.broker, m.replica.topic_id, m.replica.partition): m for m in meetings}
        step = _Step(network)
        for meeting in line.values():
            step.waiting[meeting.replica.broker] = step.waiting.get(meeting.replica.broker, 0) + 1
        fetched = []
        for place in self._line.order(line):
            meeting, bound = line[place], line[place].bound(self.brokers)
            bytes_max = step.bytes_max(meeting, bound)
            if bytes_max:
                taken = self.fetch(meeting, bytes_max)
                step.took(meeting, bound, taken)
                self._line.served(place)
                fetched.append((meeting, taken))
        return fetched


@attrs.define(eq=False)
class _Step:
    """One step. `waiting`: how many of the queue fetch into a broker; `kept`: bytes of a source that are reserved for
    an earlier one; `wanted`: sources that an earlier one needed."""

    network: dict[int, float]
    waiting: dict[int, int] = attrs.field(factory=dict)
    kept: dict[_Source, int] = attrs.field(factory=dict)
    wanted: set[_Source] = attrs.field(factory=set)

    def bytes_max(self, meeting: Meeting, bound: Bound) -> int:
        """How much one of the queue may fetch, a record at least; or 0."""
        broker, record_bytes = meeting.replica.broker, meeting.record_bytes
        left: dict[_Source, float] = {quota: quota.allowance() - self.kept.get(quota, 0) for quota in bound.quotas}
        empty = {source for source in left if left[source] < (record_bytes if source in self.kept else 1)}
        share = self._share(broker)
        if broker in self.network:
            left[broker] = self.network[broker] - self.kept.get(broker, 0)
            empty |= {broker} if left[broker] < record_bytes else set()
        if empty:
            self._keep(left, empty, record_bytes)
        self.wanted.update(left)
        return 0 if empty else max(record_bytes, int(min([*left.values(), share])))

    def took(self, meeting: Meeting, bound: Bound, count: int) -> None:
        """Count what it fetched."""
        bound.record(count)
        if meeting.replica.broker in self.network:
            self.network[meeting.replica.broker] -= count

    def _share(self, broker: int) -> float:
        """The network's bytes, divided among those of the queue that have not had their turn."""
        among = self.waiting[broker]
        self.waiting[broker] -= 1
        return self.network[broker] / among if broker in self.network else UNLIMITED

    def _keep(self, left: Iterable[_Source], empty: set[_Source], record_bytes: int) -> None:
        if not empty & self.wanted:
            for source in left:
                if source not in empty:
                    self.kept.setdefault(source, record_bytes)
