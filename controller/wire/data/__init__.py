"""Produce, Fetch, ListOffsets and DeleteRecords, for a gateway whose brokers keep logs.

    logs         the logs: a protocol that a host implements (the rig's live cluster does)
    batches      record batches: the fields of their headers, and what is checked of a new one
    unpacking    the records of compressed batches
    aside        the thread for long work on records, in which clients take turns
    times        the records of batches by time
    compacting   batches without some of their records, for logs that compact topics
    produce      Produce, and the ids of idempotent producers
    fetch        Fetch
    offsets      ListOffsets
    deletion     DeleteRecords
    creating     a Metadata that creates the topics that it is asked for

`with_logs(logs)` is the value for `Gateway(apis=...)`: all other APIs, and these. Groups are in
`kedge.controller.wire.groups`, transactions in `kedge.controller.wire.transactions`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..apis import APIS, versions
from ..calls import Api
from . import deletion, fetch, offsets, produce
from .aside import Aside
from .compacting import BatchRecords, Compacting
from .logs import Logs as Logs


def with_logs(logs: Logs, base: Mapping[int, Api] = APIS) -> dict[int, Api]:
    """The APIs of `base`, and those about records, by API key. Logs with a method `begin` (`Compacting`) compact topics
    from now on."""
    if isinstance(logs, Compacting):
        logs.begin(BatchRecords())
    aside = Aside()
    of_producers = (produce.row(logs, aside), produce.init_row(logs))
    rows = (*of_producers, *fetch.table(logs), *offsets.table(logs, aside), deletion.row(logs))
    return versions.with_apis(base, rows)
