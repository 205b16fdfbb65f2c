"""Reads by ranges and by points, and what is not a key."""

from __future__ import annotations

import base64
import random

import pytest

from kedge.stores import ABSENT, PRESENT, Changed, Depth, InvalidKey, MetadataStore, Put, Resync
from kedge.stores.etcd import reads
from kedge.stores.suite.backend import fill
from tests.stores.etcd.served import server

pytestmark = [pytest.mark.server, pytest.mark.slow]

CALL_S = 20.0


def foreign(root: str, key: bytes) -> None:
    """Write as another program would, without the contract."""
    server().ask("kv/put", {"key": base64.b64encode(root.encode() + key).decode(), "value": ""})


def test_many_keys_read_alike_however_they_lie(store: MetadataStore) -> None:
    """Close together, far apart among others, in any order, twice, and missing: as single reads would give them."""
    dense = [f"/dense/{number:05}/state" for number in range(5_000)]
    sparse = [f"/sparse/{number:04}" for number in range(600)]
    between = [f"{key}/{name}" for key in sparse for name in "abcdefgh"]
    fill(store, [*dense, *sparse, *between])
    for wanted in (dense, sparse, [*dense, *sparse], sparse[:100], [*dense[::7], *sparse[::3]]):
        keys = [*wanted, *wanted[:10], "/none/a", "/sparse/zzz"]
        random.Random(1).shuffle(keys)
        shot = {entry.key: entry for entry in store.snapshot("/", timeout_s=CALL_S).entries}
        assert store.get_many(keys, timeout_s=CALL_S) == [shot.get(key) for key in keys]
        columns = store.get_columns(keys, timeout_s=CALL_S)
        assert list(columns.versions) == [shot[key].version if key in shot else 0 for key in keys]


def test_a_snapshot_of_many_pages_is_one_instant(store: MetadataStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if etcd forgets the revision of the first page before the last was read: then it starts over."""
    monkeypatch.setattr(reads, "_PAGE_KEYS", 100)
    keys = [f"/k/{number:04}" for number in range(950)]
    fill(store, keys)
    shot = store.snapshot("/k", timeout_s=CALL_S)
    assert [entry.key for entry in shot.entries] == keys
    assert shot.consistent
    page, pages = reads.Reader._page, 0  # noqa: SLF001 - the moment between two pages is not to be had otherwise

    def compacting(self: reads.Reader, *arguments: object, **fields: object) -> object:
        nonlocal pages
        pages += 1
        if pages == 3:
            store.commit([Put("/k/0000", b"new", PRESENT)], timeout_s=CALL_S)
            revision = store.snapshot("/none", timeout_s=CALL_S).cursor
            server().ask("kv/compaction", {"revision": revision, "physical": True})
        return page(self, *arguments, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(reads.Reader, "_page", compacting)
    again = store.snapshot("/k", timeout_s=CALL_S)
    assert again.entries[0].value == b"new"
    assert len(again.entries) == len(keys)
    assert again.cursor > shot.cursor


def test_children_of_many_pages(store: MetadataStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are neither lost nor doubled where a page ends deep below one of them."""
    monkeypatch.setattr(reads, "_NAMES_PAGE_KEYS", 7)
    names = sorted([f"{name}{tail}" for name in ("a", "b", "b-c", "b.d", "c") for tail in ("", "-", ".", "0", "_")])
    fill(store, [f"/p/{name}/{number}/deep" for name in names for number in range(5)])
    fill(store, [f"/p/{name}" for name in names[::2]])
    assert store.children("/p", timeout_s=CALL_S) == names


def test_what_others_put_below_the_root_and_is_no_key_is_passed_over(store: MetadataStore, root: str) -> None:
    """By ranges, names and hints alike."""
    stream = store.subscribe("/a", Depth.VALUES)
    assert stream.poll(CALL_S) == Resync("/a", "initial")
    for odd in (b"/a//b", b"/a/ b", b"/a/\xff", b"/a/..", b"/a/"):
        foreign(root, odd)
    store.commit([Put("/a/b", b"", ABSENT)], timeout_s=CALL_S)
    assert stream.poll(CALL_S) == Changed("/a/b")
    assert [entry.key for entry in store.snapshot("/", timeout_s=CALL_S).entries] == ["/a/b"]
    assert store.children("/a", timeout_s=CALL_S) == ["b"]


@pytest.mark.parametrize("keys", [["/a", None], [b"/a"], ["/\ud800"], ["/a", "/a//b"], ["/!x"]])
def test_what_is_no_key_is_refused_among_many(store: MetadataStore, keys: list[str]) -> None:
    with pytest.raises(InvalidKey):
        store.get_many(keys, timeout_s=CALL_S)
