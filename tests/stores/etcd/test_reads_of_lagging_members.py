"""A plain read may lag behind other clients, and shows all the same what this client saw before.

The member that answers lags (`tests.stores.etcd.lagging`): its answer is older than what the client knows of, and is
thrown away.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.stores import ABSENT, PRESENT, Changed, Conflict, Depth, MetadataStore, Put, Resync, Version
from tests.stores.etcd.lagging import Lagging

pytestmark = [pytest.mark.server, pytest.mark.slow]

CALL_S = 10.0
WAIT_S = 30.0
KEY, MANY = "/k/a", [f"/k/{number:03}" for number in range(200)]


def values(store: MetadataStore) -> list[bytes | None]:
    return [None if e is None else e.value for e in store.get_many([KEY, "/none"], timeout_s=CALL_S)]


READS: dict[str, tuple[Callable[[MetadataStore], object], object]] = {
    "get": (lambda store: getattr(store.get(KEY, timeout_s=CALL_S), "value", None), b"new"),
    "get_many": (values, [b"new", None]),
    "get_columns": (lambda store: store.get_columns([KEY], timeout_s=CALL_S).values, [b"new"]),
    "many keys": (lambda store: store.get_columns([KEY, *MANY], timeout_s=CALL_S).values[0], b"new"),
    "children": (lambda store: store.children("/k", timeout_s=CALL_S), ["a"]),
    "snapshot": (lambda store: [e.value for e in store.snapshot("/k", timeout_s=CALL_S).entries], [b"new"]),
}
"""What is read, and what it gives after the commit."""


@pytest.mark.parametrize("name", READS)
def test_a_read_shows_what_this_client_has_committed(store: MetadataStore, name: str) -> None:
    """By each way to read."""
    read, wanted = READS[name]
    member = Lagging(store)
    assert read(store) != wanted
    store.commit([Put(KEY, b"new", ABSENT)], timeout_s=CALL_S)
    member.lags = True
    assert read(store) == wanted


def committed(store: MetadataStore, _: MetadataStore) -> None:
    store.commit([Put(KEY, b"new", PRESENT)], timeout_s=CALL_S)


def refused(store: MetadataStore, other: MetadataStore) -> None:
    """The answer to a commit that was refused, since another client had written the key."""
    other.commit([Put(KEY, b"new", PRESENT)], timeout_s=CALL_S)
    with pytest.raises(Conflict):
        store.commit([Put(KEY, b"ours", Version(1))], timeout_s=CALL_S)


def read_in_sync(store: MetadataStore, other: MetadataStore) -> None:
    other.commit([Put(KEY, b"new", PRESENT)], timeout_s=CALL_S)
    store.get("/other", sync=True, timeout_s=CALL_S)


def hinted(store: MetadataStore, other: MetadataStore) -> None:
    stream = store.subscribe("/k", Depth.VALUES)
    assert stream.poll(WAIT_S) == Resync("/k", "initial")
    other.commit([Put(KEY, b"new", PRESENT)], timeout_s=CALL_S)
    assert stream.poll(WAIT_S) == Changed(KEY)


@pytest.mark.parametrize("told", [committed, refused, read_in_sync, hinted])
def test_read_is_never_behind_what_this_client_has_seen(
    store: MetadataStore, other: MetadataStore, told: Callable[[MetadataStore, MetadataStore], None]
) -> None:
    """By a commit, by the refusal of one, by a read of any key, by a hint."""
    store.commit([Put(KEY, b"old", ABSENT)], timeout_s=CALL_S)
    member = Lagging(store)
    read = READS["get"][0]
    assert read(store) == b"old"
    told(store, other)
    member.lags = True
    assert read(store) == b"new"


def test_foreign_write_may_be_read_late(store: MetadataStore, other: MetadataStore) -> None:
    """Of which this client saw nothing: the member's own answer is good enough, which is why such reads are fast.
    A read in sync asks the others."""
    store.commit([Put(KEY, b"old", ABSENT)], timeout_s=CALL_S)
    member = Lagging(store)
    read = READS["get"][0]
    assert read(store) == b"old"
    member.lags = True
    other.commit([Put(KEY, b"new", PRESENT)], timeout_s=CALL_S)
    assert read(store) == b"old"
    entry = store.get(KEY, sync=True, timeout_s=CALL_S)
    assert entry is not None
    assert entry.value == b"new"
    assert read(store) == b"new"
