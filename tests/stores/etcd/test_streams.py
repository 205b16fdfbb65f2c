"""Streams of an etcd store: their queue, and one watch for several depths."""

from __future__ import annotations

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Changed,
    Closed,
    Delete,
    Depth,
    MetadataStore,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    StoreEvent,
    Subscription,
)
from kedge.stores.etcd.keys import Keys
from kedge.stores.etcd.stream import QUEUE_EVENTS_MAX, EtcdSubscription
from kedge.stores.etcd.watches import Watches

CALL_S = 10.0


def drained(stream: Subscription) -> list[StoreEvent]:
    events = []
    while (event := stream.poll(0)) is not None:
        events.append(event)
    return events


@pytest.fixture
def stream() -> EtcdSubscription:
    """Of a client that is not connected: nothing comes but what is pushed."""
    stream = Watches(Keys("")).open()
    for prefix in ("/a", "/b"):
        stream.add(prefix, Depth.VALUES)
    return stream


def test_a_hint_that_is_queued_is_not_queued_again_until_it_was_taken(stream: EtcdSubscription) -> None:
    for _ in range(2):
        for _ in range(3):
            stream.push(Changed("/a/x"))
        assert drained(stream) == [Changed("/a/x")]


def test_overflow_keeps_session_events_and_hints_at_every_key(stream: EtcdSubscription) -> None:
    """And hints that come after it are given."""
    lost = SessionChanged(SessionState.LOST, 1)
    stream.push(Changed("/a/x"))
    stream.push(lost)
    for number in range(QUEUE_EVENTS_MAX):
        stream.push(Changed(f"/a/{number}"))
    stream.push(Changed("/a/x"))
    events = drained(stream)
    assert events[:3] == [lost, Resync("/a", "overflow"), Resync("/b", "overflow")]
    assert len(events) <= 5
    assert events[-1] == Changed("/a/x")


def test_after_close_nothing_can_be_added(stream: EtcdSubscription) -> None:
    stream.close()
    with pytest.raises(Closed):
        stream.add("/c", Depth.SELF)
    stream.push(Changed("/a/x"))
    assert stream.poll(0) is None


@pytest.mark.server
@pytest.mark.slow
def test_names_and_values_of_one_prefix_in_one_stream(store: MetadataStore, other: MetadataStore) -> None:
    """Each depth that is added gives its own initial Resync; then each hint is given once, also for what is deeper."""
    stream = store.subscribe("/w", Depth.CHILDREN)
    stream.add("/w", Depth.VALUES)
    assert [stream.poll(CALL_S), stream.poll(CALL_S)] == [Resync("/w", "initial")] * 2
    stream.add("/w", Depth.VALUES)
    assert stream.poll(CALL_S) == Resync("/w", "initial")
    for op in (
        Put("/w/a", b"", ABSENT),
        Put("/w/a", b"2", PRESENT),
        Put("/w/b/deep", b"", ABSENT),
        Delete("/w/b/deep", PRESENT),
    ):
        other.commit([op], timeout_s=CALL_S)
        assert stream.poll(CALL_S) == Changed(op.key[:4])
    other.commit([Put("/w/b/deep", b"", ABSENT)], timeout_s=CALL_S)
    assert stream.poll(CALL_S) == Changed("/w/b")
    other.commit([Put("/w/b/deep", b"2", PRESENT)], timeout_s=CALL_S)
    other.commit([Put("/w/c", b"", ABSENT)], timeout_s=CALL_S)
    assert stream.poll(CALL_S) == Changed("/w/c")
