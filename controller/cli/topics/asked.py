"""What an operator asked for, as one value for all actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs


@attrs.frozen
class Asked:
    """`topic`: a name to create, else a regular expression; None: all. `assignment`: replicas of each partition.
    `shows`: which partitions are described, see `describing`."""

    topic: str | None = None
    topic_id: str | None = None
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Sequence[Sequence[int]] | None = None
    configs: Mapping[str, str] = attrs.field(factory=dict)
    if_exists: bool = False
    if_not_exists: bool = False
    ignore_racks: bool = False
    exclude_internal: bool = False
    delayed: bool = False
    yes: bool = False
    shows: str | None = None
    as_json: bool = False
