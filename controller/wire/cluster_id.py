"""What a store holds once for all processes on it, written by whoever is first: the id of the cluster (/cluster/id), by
which Kafka's brokers and tools know it, and the secret by which gateways know each other where nobody gave them one.
Whoever can read that could as well write to the store what a controller writes."""

from __future__ import annotations

import secrets
from typing import Final

from controller.codec import keys, orders
from controller.codec.small import decode_gateways_secret, encode_gateways_secret
from controller.runtime.clock import Chance
from stores.base import ABSENT, Conflict, MetadataStore, Put

_CALL_S: Final = 15.0


def cluster_id(store: MetadataStore, seed: int | str | None = None) -> str:
    """The id that the store holds, or a new one, which it holds from now on. `seed`: of a new one. Raises BadValue
    where the key cannot be read, StoreError where the store cannot."""
    new = orders.encode_cluster_id(Chance(seed).topic_id())
    return orders.decode_cluster_id(_written_once(store, keys.CLUSTER_ID, new))


def gateways_secret(store: MetadataStore) -> str:
    """The secret that the store holds, as `cluster_id`."""
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
            continue  # somebody was faster: read what he wrote
        return new
