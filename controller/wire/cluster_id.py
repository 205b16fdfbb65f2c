"""The id of a cluster, /cluster/id, by which Kafka's brokers and tools know it. Written once, by whoever is first."""

from __future__ import annotations

from typing import Final

from controller.codec import keys, orders
from controller.runtime.clock import Chance
from stores.base import ABSENT, Conflict, MetadataStore, Put

_CALL_S: Final = 15.0


def cluster_id(store: MetadataStore, seed: int | str | None = None) -> str:
    """The id that the store holds, or a new one, which it holds from now on. `seed`: of a new one. Raises BadValue
    where the key cannot be read, StoreError where the store cannot."""
    new = Chance(seed).topic_id()
    while True:
        entry = store.get(keys.CLUSTER_ID, sync=True, timeout_s=_CALL_S)
        if entry is not None:
            return orders.decode_cluster_id(entry.value)
        try:
            store.commit([Put(keys.CLUSTER_ID, orders.encode_cluster_id(new), ABSENT)], timeout_s=_CALL_S)
        except Conflict:
            continue  # somebody was faster: read what he wrote
        return new
