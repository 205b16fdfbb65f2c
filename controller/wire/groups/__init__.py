"""Consumer groups, for a gateway whose brokers keep logs.

    hosts          what has the coordinators: a protocol that a host implements (the live cluster's `groups` does)
    records        records of `__consumer_offsets` as bytes
    members        JoinGroup, SyncGroup, Heartbeat, LeaveGroup
    offsets        OffsetCommit, OffsetFetch, OffsetDelete
    listing        ListGroups, DescribeGroups, DeleteGroups
    consumers      ConsumerGroupHeartbeat, ConsumerGroupDescribe
    consumer_records   records of the consumer protocol as bytes

`with_groups(groups, with_logs(logs))` is what `Gateway(apis=...)` takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...groups.requests import GroupSettings
from ..apis import versions
from ..apis.coordinating import GROUP_KEYS
from ..calls import Api
from ..coordinators import GROUPS, PARTITIONS
from ..coordinators import row as coordinators
from . import consumers, listing, members, offsets
from .hosts import Groups as Groups
from .records import GroupRecords as GroupRecords


def with_groups(
    groups: Groups,
    base: Mapping[int, Api],
    *,
    settings: GroupSettings | None = None,
    offsets_partitions: int = PARTITIONS,
) -> dict[int, Api]:
    """The APIs of `base`, and those of groups, by API key. `offsets_partitions`: of `__consumer_offsets`, if it has to
    be created."""
    groups.begin(GroupRecords(), settings)
    rows = (
        coordinators(offsets_partitions, {GROUP_KEYS: GROUPS}),
        *members.table(groups),
        *offsets.table(groups),
        *listing.table(groups),
        *consumers.table(groups),
    )
    return versions.with_apis(base, rows)
