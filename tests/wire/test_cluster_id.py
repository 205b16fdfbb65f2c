"""The id of a cluster, which tools are given as an argument."""

from __future__ import annotations

from contextlib import closing

from kedge.controller.wire.cluster_id import cluster_id, gateways_secret
from kedge.stores import MemoryStore


def test_an_id_is_written_once() -> None:
    with closing(MemoryStore()) as store:
        made = cluster_id(store, 7)
        assert cluster_id(store, 8) == made


def test_a_secret_of_gateways_is_written_once_and_is_another_one_for_each_store() -> None:
    with closing(MemoryStore()) as store, closing(MemoryStore()) as other:
        made = gateways_secret(store)
        assert gateways_secret(store) == made != gateways_secret(other)
