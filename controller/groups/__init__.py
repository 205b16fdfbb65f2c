"""Consumer groups: who is a member, who reads which partition, and which offsets are committed.

    partitions    which partition of `__consumer_offsets` holds a group
    requests      what members and tools ask
    replies       what they get, with Kafka's error codes
    records       what is written into the partition
    coordinator   requests and time in, answers and records out: the state machine of one partition
    group         a group and its members as values that change
    joining, rebalancing, syncing, offsets, listing, loading    what changes them

It reads no clock, starts no thread and does no I/O: whoever has logs drives it, as `controller.server.groups` does.
"""

from __future__ import annotations

from controller.groups.coordinator import Append, Coordinator, Output, refused
from controller.groups.partitions import OFFSETS_TOPIC, partition_of

__all__ = ["OFFSETS_TOPIC", "Append", "Coordinator", "Output", "partition_of", "refused"]
