"""All APIs of a cluster whose brokers keep records: those of `kedge.controller.wire.data`,
`kedge.controller.wire.groups` and `kedge.controller.wire.transactions`."""

from __future__ import annotations

from collections.abc import Mapping

from ..groups.requests import GroupSettings
from .apis import APIS
from .calls import Api
from .coordinators import PARTITIONS
from .data import Logs, with_logs
from .data.creating import with_creation
from .groups import Groups, with_groups
from .quotas import with_quotas
from .transactions import Transactions, with_transactions


def with_records(
    logs: Logs,
    groups: Groups,
    base: Mapping[int, Api] = APIS,
    *,
    transactions: Transactions | None = None,
    creates_topics: bool = True,
    settings: GroupSettings | None = None,
    offsets_partitions: int = PARTITIONS,
) -> dict[int, Api]:
    """The APIs of `base`, and all those of records, groups and transactions, by API key. `creates_topics`: those that
    clients name in Metadata. `offsets_partitions`: of each internal topic. The others are options of `with_groups`.
    Quotas of clients take effect if the logs have `settings`: the configs of users and client ids, by kind and name."""
    apis = with_logs(logs, base)
    apis = with_creation(apis) if creates_topics else apis
    apis = with_groups(groups, apis, settings=settings, offsets_partitions=offsets_partitions)
    if transactions is not None:
        apis = with_transactions(transactions, groups, logs, apis, partitions=offsets_partitions)
    settings = getattr(logs, "settings", None)
    return apis if settings is None else with_quotas(apis, settings)
