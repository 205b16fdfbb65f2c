"""Ephemeral keys of an earlier session of the same process or node."""

from __future__ import annotations

from collections.abc import Callable

from ..base import (
    Conflict,
    Delete,
    Entry,
    MetadataStore,
)


def reap_own_leftover(store: MetadataStore, key: str, mine: bytes | Callable[[Entry], bool], timeout_s: float) -> bool:
    """Delete `key` if an older session of this node left it. True if the key does not exist afterwards.

    `mine`: the value that only this node writes, or a predicate on the entry. False, and nothing is deleted, if the key
    belongs to the present session, is not ephemeral, is not `mine`, or was rewritten meanwhile. Raises OutcomeUnknown
    and the other errors of the store; calling again is safe.
    """
    entry = store.get(key, sync=True, timeout_s=timeout_s)
    if entry is None:
        return True
    if entry.owner is None or entry.owner == store.session.session_id:
        return False
    if not (entry.value == mine if isinstance(mine, bytes) else mine(entry)):
        return False
    try:
        store.commit((Delete(key, entry.version),), timeout_s=timeout_s)
    except Conflict:
        return store.get(key, sync=True, timeout_s=timeout_s) is None
    return True
