"""Consumer groups: members, the assignment of partitions to members, and committed offsets.

    requests      requests of members and tools
    replies       the answers
    records       the records in the partition
    coordinator   the state machine of one partition: requests and time in, answers and records out
    group         the state of a group and of its members
    held, growing the memory that groups take, and by how much a request adds to it
    consumer      groups of the consumer protocol (KIP-848)
    joining, rebalancing, syncing, offsets, expiring, listing, loading    the functions that change it

The package reads no clock, starts no thread and does no I/O. A host that keeps logs drives it, such as
`kedge.controller.server.groups`.
"""

from __future__ import annotations

from .coordinator import Coordinator as Coordinator
from .replies import refused as refused
