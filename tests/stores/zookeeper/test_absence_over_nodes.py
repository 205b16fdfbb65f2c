"""ABSENT over a node without data: a parent is no key, an empty key is one, and what is written meanwhile is not lost.

Kafka writes keys without data (/admin/delete_topics/t), and so are the parents that every client creates. The one is a
key and the other is not, by whether it ever had children.
"""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient

from kedge.stores import ABSENT, Check, Conflict, MetadataStore, Put
from kedge.stores.base import Op
from servers import LocalZooKeeper
from tests.stores.zookeeper.interposed import MULTI, before_request, make

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0
KEY = "/admin/delete_topics/t"
OPS = [Put(KEY, b"ours", ABSENT), Put(KEY, b"ours", ABSENT, ephemeral=True), Check(KEY, ABSENT)]


def parent(raw: KazooClient, chroot: str) -> None:
    """A node without data that had children, and has none now."""
    raw.ensure_path(f"{chroot}/admin/delete_topics")
    make(raw, chroot + KEY, None)
    raw.create(f"{chroot}{KEY}/below", b"")
    raw.delete(f"{chroot}{KEY}/below")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("data", [None, b""])
def test_a_key_without_data_is_not_absent(
    store: MetadataStore, raw: KazooClient, chroot: str, op: Op, data: bytes | None
) -> None:
    """It conflicts, names the op, and stays as it is; nothing else of the commit is applied."""
    raw.ensure_path(f"{chroot}/admin/delete_topics")
    make(raw, chroot + KEY, data)
    with pytest.raises(Conflict) as caught:
        store.commit([Put("/other", b"", ABSENT), op], timeout_s=CALL_S)
    assert (caught.value.index, caught.value.key) == (1, KEY)
    assert raw.get(chroot + KEY)[0] == data
    assert raw.get(chroot + KEY)[1].version == 0
    assert store.get("/other", timeout_s=CALL_S) is None


@pytest.mark.parametrize("op", OPS)
def test_a_key_with_empty_data_that_had_children_is_not_absent(
    store: MetadataStore, raw: KazooClient, chroot: str, op: Op
) -> None:
    """Empty is a value, whatever stood below it."""
    parent(raw, chroot)
    raw.set(chroot + KEY, b"")
    with pytest.raises(Conflict):
        store.commit([op], timeout_s=CALL_S)
    assert raw.get(chroot + KEY)[0] == b""


@pytest.mark.parametrize("op", OPS)
def test_a_parent_without_data_is_absent(store: MetadataStore, raw: KazooClient, chroot: str, op: Op) -> None:
    parent(raw, chroot)
    store.commit([op, Put("/other", b"", ABSENT)], timeout_s=CALL_S)
    found = store.get(KEY, sync=True, timeout_s=CALL_S)
    assert (None if found is None else found.value) == (b"ours" if isinstance(op, Put) else None)
    assert store.get("/other", timeout_s=CALL_S) is not None


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("data", [b"theirs", b""])
def test_data_that_a_parent_gets_meanwhile_is_a_conflict(
    server: LocalZooKeeper, chroot: str, raw: KazooClient, op: Op, data: bytes
) -> None:
    """It was seen without data, and another client made it a key before the transaction arrived. Theirs stays."""
    parent(raw, chroot)
    with (
        before_request(server, chroot, MULTI, 2, lambda: raw.set(chroot + KEY, data)) as store,
        pytest.raises(Conflict) as caught,
    ):
        store.commit([Put("/other", b"", ABSENT), op], timeout_s=CALL_S)
    assert caught.value.index == 1
    assert raw.get(chroot + KEY)[0] == data
    assert raw.exists(f"{chroot}/other") is None
