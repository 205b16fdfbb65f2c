"""Transactions of producers (KIP-98; KIP-890): who may write under a transactional id, which partitions a transaction
has, and how it ends.

    requests      requests of producers, brokers and tools
    replies       the answers
    records       the state of a transactional id, as in the records of `__transaction_state`
    changes       from one state to the next
    transaction   a transactional id in memory
    coordinator   the state machine of one partition: requests and time in, answers, records and markers out

The package reads no clock, starts no thread and does no I/O. A host that keeps logs drives it, such as
`kedge.controller.server.transactions`.
"""

from __future__ import annotations

from .coordinator import Coordinator as Coordinator
from .coordinator import refused as refused
