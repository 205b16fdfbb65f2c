"""The words of the tables: what applying and dirtying are, and those that do nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from controller.model import records as r
from controller.state.batch import DirtyKey
from controller.state.cluster import ClusterState

Apply: TypeAlias = Callable[[ClusterState, Any], object]
Dirty: TypeAlias = Callable[[ClusterState, Any, Any], Sequence[DirtyKey]]
Table: TypeAlias = dict[type[r.Record], tuple[Apply | None, Dirty]]
"""Without an Apply a record puts the row of a partition, `after` in the place of `before`; its token is the number."""


def nothing(state: ClusterState, record: r.Record) -> None:
    """For the journal only."""


def no_keys(state: ClusterState, record: r.Record, token: object) -> Sequence[DirtyKey]:
    return ()
