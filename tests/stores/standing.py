"""Stores with faults, and candidates that stand for election over them."""

from __future__ import annotations

from kedge.stores import ABSENT, Entry, FaultStore, MemoryServer, MemoryStore, MetadataStore, Put, Version
from kedge.stores.faults import Plan
from kedge.stores.recipes import ElectedTerm, elect


def faulty(plan: Plan = ()) -> tuple[FaultStore, MemoryStore]:
    server = MemoryServer()
    return FaultStore(MemoryStore(server), plan), MemoryStore(server)


def stand(store: MetadataStore) -> ElectedTerm | None:
    return elect(store, b"me", "nonce", 1.0)


def won(store: MetadataStore) -> ElectedTerm:
    term = stand(store)
    assert term is not None
    return term


def found(store: MetadataStore, key: str) -> Entry:
    entry = store.get(key, timeout_s=1)
    assert entry is not None
    return entry


def put(store: MetadataStore, key: str, value: bytes) -> Version:
    entry = store.get(key, timeout_s=1)
    version = store.commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=1).versions[0]
    assert version is not None
    return version
