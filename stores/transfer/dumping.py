"""A whole tree as the image that a memory store's snapshot is made of.

Rules
* Versions, generations and `created` are those of the store it was read from, so that a dump says how old its keys are.
  Who loads it counts anew.
* `revision` is the store's own number of the moment, and never below any `created`: where the tree changed while it was
  read, keys may be newer than the moment it began.
"""

from __future__ import annotations

from collections.abc import Container

import attrs

from stores.base import MetadataStore
from stores.memory.file import Image
from stores.memory.table import Row


@attrs.frozen
class Dump:
    """`image`, ready for `stores.memory.file`. `ephemerals`: how many keys were left out, being a session's."""

    image: Image
    ephemerals: int


def dump(store: MetadataStore, *, timeout_s: float, without: Container[str] = ()) -> Dump:
    """All keys of `store` but the ephemeral ones and those in `without`. Writes nothing. Raises what `store` raises."""
    snapshot = store.snapshot("/", timeout_s=timeout_s)
    lasting = [entry for entry in snapshot.entries if entry.owner is None]
    rows: dict[str, Row] = {
        e.key: (e.value, e.version, e.generation, e.created, None) for e in lasting if e.key not in without
    }
    revision = max([snapshot.cursor, *(row[3] for row in rows.values())])
    unique = store.capabilities.versions_unique
    image = Image("global" if unique else "per_key", revision, rows, snapshot.consistent)
    return Dump(image, len(snapshot.entries) - len(lasting))
