"""The id of a cluster, which tools are given as an argument."""

from __future__ import annotations

from contextlib import closing

from controller.wire.cluster_id import cluster_id
from stores import MemoryStore


def test_an_id_is_written_once() -> None:
    with closing(MemoryStore()) as store:
        made = cluster_id(store, 7)
        assert cluster_id(store, 8) == made
