"""Two values that the first process on a store writes there for all: the cluster id (`/cluster/id`), by which Kafka's
brokers and tools know the cluster, and the secret with which gateways log in to each other if none was configured. A
client that can read the secret can also write to the store as a controller does, so it gains nothing by the secret."""

from __future__ import annotations

import secrets
from typing import Final

from ...stores.base import ABSENT, Conflict, MetadataStore, Put
from ..codec import keys, orders
from ..codec.small import decode_gateways_secret, encode_gateways_secret
from ..runtime.clock import IdSource

_CALL_S: Final = 15.0


def cluster_id(store: MetadataStore, seed: int | str | None = None) -> str:
    """The cluster id in the store; if there is none, a new one is made from `seed` and written. Raises BadValue if the
    key has another content, StoreError if the store fails."""
    new = orders.encode_cluster_id(IdSource(seed).topic_id())
    return orders.decode_cluster_id(_written_once(store, keys.CLUSTER_ID, new))


def gateways_secret(store: MetadataStore) -> str:
    """The secret in the store; if there is none, a new one is made and written. Raises as `cluster_id`."""
    new = encode_gateways_secret(secrets.token_urlsafe())
    return decode_gateways_secret(_written_once(store, keys.GATEWAYS_SECRET, new))


def _written_once(store: MetadataStore, key: str, new: bytes) -> bytes:
    while True:
        entry = store.get(key, sync=True, timeout_s=_CALL_S)
        if entry is not None:
            return entry.value
        try:
            store.commit([Put(key, new, ABSENT)], timeout_s=_CALL_S)
        except Conflict:
            continue  # another process was faster: read its value
        return new
