"""Ephemeral keys of a former self."""

from __future__ import annotations

from collections.abc import Callable

from stores.base import (
    Conflict,
    Delete,
    Entry,
    MetadataStore,
)


def reap_own_leftover(store: MetadataStore, key: str, mine: bytes | Callable[[Entry], bool], timeout_s: float) -> bool:
    """True if afterwards `key` does not exist: it was not there, or it was an ephemeral key of an older session of
    ourselves, and was deleted at the version that was looked at.

    `mine` is the value that we alone write, or a predicate on the entry. A key of the present session, a key that is
    not ephemeral and one that is not mine are left alone: False. So is one that somebody rewrote meanwhile. Raises
    OutcomeUnknown and whatever else the store raises; calling again is right.
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
