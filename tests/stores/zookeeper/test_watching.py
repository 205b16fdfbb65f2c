"""Thousands of nodes are watched by a few requests, and none of them is less watched for that."""

from __future__ import annotations

import queue
import time
from typing import Final

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import WatchedEvent

from kedge.stores import ABSENT, PRESENT, Changed, Delete, MetadataStore, Put, Subscription
from kedge.stores.zookeeper.link import Link
from kedge.stores.zookeeper.url import parse_url
from kedge.stores.zookeeper.watching import SetWatches, parted
from tests.stores.kit import CALL_S, WAIT_S, watched

MANY: Final = [f"/w/{number:04}" for number in range(1500)]


def hinted(stream: Subscription, keys: set[str]) -> bool:
    """Whether every one of `keys` is hinted in time."""
    left = set(keys)
    while left and (event := stream.poll(WAIT_S)) is not None:
        left -= {event.key} if isinstance(event, Changed) else set()
    return not left


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False], ids=["there before", "appear at once"])
def test_each_of_many_nodes_is_watched_again_and_again(store: MetadataStore, is_there: bool) -> None:
    """Every write of every node is reported, the second as the first, and so is its end and its return."""
    creation = [Put(key, b"", ABSENT) for key in MANY]
    if is_there:
        store.commit(creation, timeout_s=CALL_S)
    stream = watched(store)
    if not is_there:
        store.commit(creation, timeout_s=CALL_S)
        assert hinted(stream, set(MANY))
    for value in (b"1", b"2"):
        store.commit([Put(key, value, PRESENT) for key in MANY], timeout_s=CALL_S)
        assert hinted(stream, set(MANY))
    for op in (Delete(MANY[7], PRESENT), Put(MANY[7], b"again", ABSENT)):
        store.commit([op], timeout_s=CALL_S)
        assert hinted(stream, {MANY[7]})


@pytest.mark.server
@pytest.mark.slow
def test_what_happened_before_the_request_arrived_fires(url: str, raw: KazooClient) -> None:
    """A node that was written or deleted since the named transaction has its event at once, the others when it
    comes."""
    link = Link(parse_url(url))
    events: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    def note(event: WatchedEvent) -> None:
        events.put((event.path, event.type))

    try:
        for name in ("old", "written", "gone"):
            raw.create(f"/{name}", makepath=True)
        _, stat = raw.get("/gone")
        raw.set("/written", b"1")
        raw.delete("/gone")
        request = SetWatches(link.client, stat.czxid, {f"/{name}": note for name in ("old", "written", "gone")})
        link.wait(link.send(request), time.monotonic() + CALL_S)
        first = {events.get(timeout=WAIT_S), events.get(timeout=WAIT_S)}
        assert first == {("/written", "CHANGED"), ("/gone", "DELETED")}
        raw.set("/old", b"1")
        assert events.get(timeout=WAIT_S) == ("/old", "CHANGED")
    finally:
        link.close()
        for name in ("old", "written"):
            raw.delete(f"/{name}")


def test_watches_go_out_in_parts_that_a_request_takes() -> None:
    """No part is far over the bound, none is empty, and nothing is left out."""
    watchers = {f"/{'x' * 1000}{number}": print for number in range(1000)}
    parts = list(parted(watchers))
    assert len(parts) == 3
    assert all(0 < len(SetWatches(KazooClient(), 0, part).serialize()) < 402_000 for part in parts)
    assert {path for part in parts for path in part} == set(watchers)
    assert list(parted({})) == []
