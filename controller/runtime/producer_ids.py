"""Hands out blocks of producer ids, so that no two producers of a cluster get the same id (KIP-730).

The key is written with the version that was read, not by a fenced commit: its writer, this controller or one
that was deposed, hands out a block that no other has.
"""

from __future__ import annotations

from ...stores.base import Corrupt, MetadataStore, Put, as_read
from ...stores.recipes import taken
from ..codec import BadValue, keys, producer_ids
from ..codec.producer_ids import ProducerIdBlock


def allocate(store: MetadataStore, broker_id: int, timeout_s: float) -> ProducerIdBlock:
    """The next block, which belongs to `broker_id` alone. A lost reply costs a block.

    `timeout_s` is for each call to the store. Raises Corrupt where the key holds something else or no ids are left,
    the last Conflict after 100 tries, and whatever else the store raises.
    """
    return taken(_allocate_once, store, broker_id, timeout_s)


def _allocate_once(store: MetadataStore, broker_id: int, timeout_s: float) -> ProducerIdBlock:
    entry = store.get(keys.PRODUCER_IDS, sync=True, timeout_s=timeout_s)
    try:
        # Brokers create the key without a value.
        before = None if entry is None or not entry.value else producer_ids.decode(entry.value)
        block = producer_ids.next_block(before, broker_id)
    except BadValue as error:
        raise Corrupt(f"{keys.PRODUCER_IDS}: {error}", key=keys.PRODUCER_IDS) from error
    expected = as_read(entry)
    store.commit([Put(keys.PRODUCER_IDS, producer_ids.encode(block), expected)], timeout_s=timeout_s)
    return block
