"""Refuses a store that a cluster was moved away from, or that is not filled yet: no controller can be active there."""

from __future__ import annotations

from typing import Final

from controller.cli.serve.options import CannotServe
from controller.codec import BadValue, keys
from controller.codec.migration import FROM, MOVED, decode_marker
from stores.base import MetadataStore

_READ_S: Final = 15.0


def require_there(store: MetadataStore, shown: str) -> None:
    """CannotServe with the place of the cluster, if it is not here. Raises StoreError."""
    entry = store.get(keys.MIGRATION, sync=True, timeout_s=_READ_S)
    try:
        marker = None if entry is None else decode_marker(entry.value)
    except BadValue:
        return  # the controller reports it
    if marker is None or marker.may_lead:
        return
    if marker.side != FROM:
        raise CannotServe(f"{shown}: a cluster is being moved here from {marker.other}, and is still led there")
    if marker.phase == MOVED:
        raise CannotServe(f"{shown}: this cluster was moved to {marker.other}; start with --store for it")
    raise CannotServe(f"{shown}: this cluster is being moved to {marker.other}; complete that with kedge store migrate")
