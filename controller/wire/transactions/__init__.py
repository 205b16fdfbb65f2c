"""Transactions (KIP-98, KIP-447, KIP-890), for a gateway whose brokers keep logs and groups.

    hosts       what has the coordinators: a protocol that a host implements (the live cluster's `transactions` does)
    records     records of `__transaction_state` as bytes
    producers   InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
    offsets     TxnOffsetCommit
    verifying   whether a batch may begin a transaction in a partition
    tools       WriteTxnMarkers, DescribeProducers, DescribeTransactions, ListTransactions

`with_transactions(transactions, groups, logs, with_groups(groups, with_logs(logs)))` is what `Gateway(apis=...)` takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...transactions.requests import TransactionSettings
from ..apis import versions
from ..calls import Api
from ..coordinators import BOTH, PARTITIONS
from ..coordinators import row as coordinators
from ..data import Logs, produce
from ..data.aside import Aside
from ..groups.hosts import Groups
from . import offsets, producers, tools
from .hosts import Transactions as Transactions
from .records import TransactionRecords as TransactionRecords
from .verifying import Verifying


def with_transactions(
    transactions: Transactions,
    groups: Groups,
    logs: Logs,
    base: Mapping[int, Api],
    *,
    settings: TransactionSettings | None = None,
    partitions: int = PARTITIONS,
) -> dict[int, Api]:
    """The APIs of `base`, and those of transactions, by API key. `partitions`: of an internal topic that has to be
    created."""
    transactions.begin(TransactionRecords(), settings)
    verifying = Verifying(logs, transactions)
    rows = (
        coordinators(partitions, BOTH),
        produce.row(logs, Aside(), verifying.append),
        *producers.table(transactions, groups, logs, partitions),
        *offsets.table(groups, verifying),
        *tools.table(transactions, logs),
    )
    return versions.with_apis(base, rows)
