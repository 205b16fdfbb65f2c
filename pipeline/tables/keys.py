"""The columns that say whose rows they are, and batches of rows that are sorted by such columns, cut where these
change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np

from ..errors import BadInput

KEYS: Final = ("cluster", "snapshot")
"""The columns before those of a table that holds many snapshots."""
Batches: TypeAlias = Iterator[Any]
"""Of pyarrow.RecordBatch."""
Key: TypeAlias = tuple[Any, ...]


def keys_in(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Those of KEYS that tables have, by the names of their columns. Raises BadInput if some have keys and others do
    not."""
    keyed = {name: tuple(key for key in KEYS if key in some) for name, some in columns.items()}
    if len(set(keyed.values())) != 1:
        had = "; ".join(f"{name}: {', '.join(keys) or 'neither'}" for name, keys in keyed.items())
        raise BadInput(f"expected the columns cluster and snapshot in all tables, or in none; got {had}")
    return next(iter(keyed.values()))


def by_key(batches: Iterable[Any], keys: Sequence[str]) -> Iterator[tuple[Key, Batches]]:
    """Each key with the batches of its rows, which are read one after the other and are gone with the next key."""
    for key, some in groupby(_pieces(batches, keys), itemgetter(0)):
        yield key, map(itemgetter(1), some)


def _pieces(batches: Iterable[Any], keys: Sequence[str]) -> Iterator[tuple[Key, Any]]:
    for batch in batches:
        for start, end in _cuts(batch, keys):
            key = tuple(batch.column(name)[start].as_py() for name in keys)
            yield key, batch.slice(start, end - start)


def _cuts(batch: Any, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    changes = np.zeros(batch.num_rows, np.bool_)
    changes[:1] = True
    for name in keys:
        codes = batch.column(name).dictionary_encode().indices.fill_null(-1).to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
    starts = np.nonzero(changes)[0].tolist()
    return zip(starts, [*starts[1:], batch.num_rows], strict=True)
