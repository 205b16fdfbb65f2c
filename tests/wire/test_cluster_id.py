"""The id of a cluster, which tools are given as an argument."""

from __future__ import annotations

from contextlib import closing

from controller.runtime.clock import Chance
from controller.wire.cluster_id import cluster_id
from stores import MemoryStore


def test_an_id_never_begins_with_a_dash_and_is_written_once() -> None:
    dashed = [seed for seed in range(500) if Chance(seed).topic_id().startswith("-")]
    assert dashed
    for seed in dashed:
        with closing(MemoryStore()) as store:
            made = cluster_id(store, seed)
            assert not made.startswith("-")
            assert cluster_id(store, seed + 1) == made
