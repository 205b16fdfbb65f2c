"""Fetches while somebody has a limit: all that want something stand in one line, and each takes what it may.

Rules
* Who waits longest is first. A fetch takes its share of what the network brings into its broker, within what the limits
  of both sides allow; one record at least, since a record may be larger than what a limit gives at a time.
* Who may take nothing is left out and stays where it stands in the line, and nobody waits for it. But the first in line
  at what has nothing to give (a limit, or the network) keeps for itself what one record takes of the rest: otherwise it
  might never find all of it free at once.
* Who is bound by no limit stands in the same line, for its share of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

from controller.quota import UNLIMITED, Bound, ReplicationQuota, Rotation
from controller.simulated.broker import Broker
from controller.simulated.fetching import Meeting

_Place: TypeAlias = tuple[int, str, int]  # the follower, and its replica
_Source: TypeAlias = ReplicationQuota | int  # a limit, or the network into a broker


@attrs.define(eq=False)
class Throttling:
    """The line of a cluster. `fetch`: lets one fetch so many bytes, and says how many it took."""

    brokers: Mapping[int, Broker]
    fetch: Callable[[Meeting, int], int]
    _line: Rotation[_Place] = attrs.field(factory=Rotation)

    def copy(self, meetings: Iterable[Meeting], network: dict[int, float]) -> list[tuple[Meeting, int]]:
        """Fetch for all that are behind; who took how many bytes, which `network` (bytes that may come into each
        broker; not named: any) is less by."""
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
    """One step. `waiting`: how many of the line go into a broker; `kept`: what is kept of a source for one that stands
    before; `wanted`: sources that somebody wanted something of."""

    network: dict[int, float]
    waiting: dict[int, int] = attrs.field(factory=dict)
    kept: dict[_Source, int] = attrs.field(factory=dict)
    wanted: set[_Source] = attrs.field(factory=set)

    def bytes_max(self, meeting: Meeting, bound: Bound) -> int:
        """How much one of the line may fetch, a record at least; or 0."""
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
        """It fetched so much."""
        bound.record(count)
        if meeting.replica.broker in self.network:
            self.network[meeting.replica.broker] -= count

    def _share(self, broker: int) -> float:
        """What the network brings, divided by those of the line that still stand."""
        among = self.waiting[broker]
        self.waiting[broker] -= 1
        return self.network[broker] / among if broker in self.network else UNLIMITED

    def _keep(self, left: Iterable[_Source], empty: set[_Source], record_bytes: int) -> None:
        if not empty & self.wanted:
            for source in left:
                if source not in empty:
                    self.kept.setdefault(source, record_bytes)
