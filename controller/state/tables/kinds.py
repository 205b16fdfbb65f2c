"""The types of the tables, and functions that do nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...model import records as r
from ..batch import DirtyKey
from ..cluster import ClusterState

Apply: TypeAlias = Callable[[ClusterState, Any], object]
Dirty: TypeAlias = Callable[[ClusterState, Any, Any], Sequence[DirtyKey]]
Table: TypeAlias = dict[type[r.Record], tuple[Apply, Dirty]]


def nothing(state: ClusterState, record: r.Record) -> None:
    """For records that only concern the journal or keys."""


def no_keys(state: ClusterState, record: r.Record, token: object) -> Sequence[DirtyKey]:
    return ()
