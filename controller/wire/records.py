"""All APIs of a cluster whose brokers keep records: those of `kedge.controller.wire.data` and
`kedge.controller.wire.groups`."""

from __future__ import annotations

from collections.abc import Mapping

from ..groups.requests import GroupSettings
from .apis import APIS
from .calls import Api
from .data import Logs, with_logs
from .data.creating import with_creation
from .groups import OFFSETS_PARTITIONS, Groups, with_groups


def with_records(
    logs: Logs,
    groups: Groups,
    base: Mapping[int, Api] = APIS,
    *,
    creates_topics: bool = True,
    settings: GroupSettings | None = None,
    offsets_partitions: int = OFFSETS_PARTITIONS,
) -> dict[int, Api]:
    """The APIs of `base`, and all those of records and groups, by API key. `creates_topics`: those that clients name in
    Metadata. The others are options of `with_groups`."""
    apis = with_logs(logs, base)
    apis = with_creation(apis) if creates_topics else apis
    return with_groups(groups, apis, settings=settings, offsets_partitions=offsets_partitions)
