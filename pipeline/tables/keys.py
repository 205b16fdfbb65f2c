"""Batches of rows that are sorted by some columns, cut where these change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

Batches: TypeAlias = Iterator[Any]
"""Of pyarrow.RecordBatch."""
Key: TypeAlias = tuple[Any, ...]


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
