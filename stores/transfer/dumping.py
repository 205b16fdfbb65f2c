"""A whole tree as an image, the content of a memory store's snapshot.

Rules
* Versions, generations and `created` are those of the source, so that a dump shows how old its keys are. Loading it
  counts them again.
* `revision` is the store's cursor of the snapshot, but at least every `created`: if the tree changed while it was read,
  keys may be newer than the cursor.
"""

from __future__ import annotations

import attrs

from ..base import MetadataStore
from ..memory.file import Image
from ..memory.table import Row


@attrs.frozen
class Dump:
    """`image`: for `kedge.stores.memory.file`. `ephemerals`: how many ephemeral keys were left out."""

    image: Image
    ephemerals: int


def dump(store: MetadataStore, *, timeout_s: float) -> Dump:
    """All keys of `store` except ephemeral ones. Writes nothing. Raises the store's errors."""
    snapshot = store.snapshot("/", timeout_s=timeout_s)
    lasting = [entry for entry in snapshot.entries if entry.owner is None]
    rows: dict[str, Row] = {e.key: (e.value, e.version, e.generation, e.created, None) for e in lasting}
    revision = max([snapshot.cursor, *(row[3] for row in rows.values())])
    unique = store.capabilities.versions_unique
    image = Image("global" if unique else "per_key", revision, rows, snapshot.consistent)
    return Dump(image, len(snapshot.entries) - len(lasting))
