"""Watches of a client that was cut off: what was written meanwhile is hinted, or a Resync says to look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Changed,
    Delete,
    Depth,
    MetadataStore,
    Put,
    Resync,
    SessionState,
    StoreEvent,
    Subscription,
)
from kedge.stores.etcd.keys import Keys
from kedge.stores.etcd.rpc import etcdrpc
from kedge.stores.etcd.watches import Watches
from servers import Proxy
from tests.stores.etcd.served import server
from tests.stores.etcd.test_streams import drained
from tests.stores.waits import CALL_S, until_event, until_state, watched


def all_of(stream: Subscription, wanted: set[StoreEvent]) -> None:
    """Each of these comes."""
    left = set(wanted)

    def was_last(event: StoreEvent) -> bool:
        left.discard(event)
        return not left

    until_event(stream, was_last)


def compact(store: MetadataStore) -> None:
    """The server forgets all but the present."""
    server().ask("kv/compaction", {"revision": store.snapshot("/w", timeout_s=CALL_S).cursor, "physical": True})


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("writes", [0, 1, 2])
def test_what_was_written_while_cut_off_before_the_first_event_is_hinted(
    proxy: Proxy, root: str, other: MetadataStore, opening: Callable[[str], MetadataStore], writes: int
) -> None:
    """Nothing had happened since the watch stood: it goes on with the very first write after that, without a need to
    look at everything again."""
    store = opening(f"etcd://{proxy.address}{root}")
    stream = watched(store, "/w")
    proxy.cut()
    until_state(stream, SessionState.SUSPENDED)
    keys = [f"/w/{number}" for number in range(writes)]
    for key in keys:
        other.commit([Put(key, b"", ABSENT)], timeout_s=CALL_S)
    proxy.mend()
    until_state(stream, SessionState.RESUMED)
    other.commit([Put("/w/last", b"", ABSENT)], timeout_s=CALL_S)
    assert until_event(stream, lambda event: event == Changed("/w/last")) == [
        Changed(key) for key in (*keys, "/w/last")
    ]


@pytest.mark.server
@pytest.mark.slow
def test_each_prefix_of_each_stream_hears_of_a_compaction_while_cut_off(
    proxy: Proxy, root: str, other: MetadataStore, opening: Callable[[str], MetadataStore]
) -> None:
    """A Resync for each, at any depth, and after it hints as before."""
    store = opening(f"etcd://{proxy.address}{root}")
    streams = {watched(store, "/w"): ["/w"], watched(store, "/w"): ["/w", "/v", "/u"]}
    several = list(streams)[1]
    several.add("/v", Depth.CHILDREN)
    several.add("/u", Depth.SELF)
    all_of(several, {Resync("/v", "initial"), Resync("/u", "initial")})
    proxy.cut()
    for stream in streams:
        until_state(stream, SessionState.SUSPENDED)
    for key in ("/w/a", "/v/a", "/u"):
        other.commit([Put(key, b"", ABSENT)], timeout_s=CALL_S)
    compact(other)
    proxy.mend()
    for stream, prefixes in streams.items():
        all_of(stream, {Resync(prefix, "compacted") for prefix in prefixes})
    other.commit([Put("/w/a", b"", PRESENT), Put("/v/b", b"", ABSENT), Put("/u", b"", PRESENT)], timeout_s=CALL_S)
    keys = {"/w": "/w/a", "/v": "/v/b", "/u": "/u"}
    for stream, prefixes in streams.items():
        all_of(stream, {Changed(keys[prefix]) for prefix in prefixes})


@pytest.mark.server
@pytest.mark.slow
def test_a_deletion_at_the_revision_of_a_compaction_while_cut_off_is_not_missed(
    proxy: Proxy, root: str, other: MetadataStore, opening: Callable[[str], MetadataStore]
) -> None:
    """An etcd that is compacted there knows the revision, and not that the key was deleted: it would send nothing."""
    store = opening(f"etcd://{proxy.address}{root}")
    other.commit([Put("/w/a", b"", ABSENT)], timeout_s=CALL_S)
    stream = watched(store, "/w")
    proxy.cut()
    until_state(stream, SessionState.SUSPENDED)
    other.commit([Delete("/w/a", PRESENT)], timeout_s=CALL_S)
    compact(other)
    proxy.mend()
    until_state(stream, SessionState.RESUMED)
    other.commit([Put("/w/b", b"", ABSENT)], timeout_s=CALL_S)
    until_event(stream, lambda event: event in {Changed("/w/a"), Resync("/w", "compacted")})


class Wire:
    """Where a connection would send its requests for watches. Only the test answers."""

    def __init__(self) -> None:
        self.creates: list[Any] = []
        self.is_closed = False

    def ask(self, request: Any) -> None:
        if request.HasField("create_request"):
            self.creates.append(request.create_request)

    def close(self) -> None:
        self.is_closed = True


class Told:
    """Watches that have a stream below /w, and the answers that etcd gives, one by one."""

    def __init__(self) -> None:
        self.watches = Watches(Keys(""))
        self.stream = self.watches.open()
        self.stream.add("/w", Depth.VALUES)
        self.wire = Wire()

    def connect(self) -> int:
        """A new connection; after which revision the watch goes on, 0 for now."""
        self.watches.detach()
        self.wire = Wire()
        self.watches.attach(self.wire)  # type: ignore[arg-type]
        return self.start

    @property
    def start(self) -> int:
        start: int = self.wire.creates[-1].start_revision
        return start

    def answer(self, revision: int, asked: int = -1, **fields: Any) -> list[StoreEvent]:
        """Of the server whose data are at `revision`, to the last watch that was asked for; what is reported then."""
        number = self.wire.creates[asked].watch_id
        header = etcdrpc.ResponseHeader(revision=revision)
        self.watches.take(self.wire, etcdrpc.WatchResponse(header=header, watch_id=number, **fields))  # type: ignore[arg-type]
        return drained(self.stream)

    def wrote(self, revision: int) -> list[StoreEvent]:
        """The server tells of a write."""
        kv = etcdrpc.KeyValue(key=b"/w/a", create_revision=revision, mod_revision=revision, version=1)
        return self.answer(revision, events=[etcdrpc.Event(kv=kv)])


def test_a_connection_that_breaks_between_the_answer_and_the_first_event_loses_no_write() -> None:
    """The watch stands again, the server has one write more than when it stood first, and the connection breaks before
    the event of it comes: the next one begins with that write."""
    told = Told()
    assert told.connect() == 0
    assert told.answer(10, created=True) == [Resync("/w", "initial")]
    for _ in range(3):
        assert told.connect() == 10
        assert told.answer(11, created=True) == []
    assert told.wrote(10) == []  # known, and sent once more
    assert told.wrote(11) == [Changed("/w/a")]
    assert told.connect() == 11


def test_a_server_without_a_write_since_is_no_older_one() -> None:
    """The revision that the watch waits for is the next one there. A lost one before that is reported by a Resync."""
    told = Told()
    told.connect()
    told.answer(10, created=True)
    assert told.connect() == 10
    assert told.answer(10, created=True) == []
    assert told.connect() == 10
    assert told.answer(9, created=True) == []
    assert told.start == 0
    assert told.answer(9, created=True) == [Resync("/w", "reconnected")]
    assert told.connect() == 9


def test_what_was_compacted_while_cut_off_is_a_resync_once_the_watch_stands_again() -> None:
    """Not before: who looks then misses nothing. The connection may break at any step of it."""
    told = Told()
    told.connect()
    told.answer(10, created=True)
    assert told.connect() == 10
    assert told.answer(20, created=True) == []
    assert told.connect() == 10  # it broke before etcd said that this revision is gone
    assert told.answer(20, created=True) == []
    assert told.answer(20, canceled=True, compact_revision=20) == []
    assert told.start == 0
    assert told.connect() == 0  # it broke before the new watch stood
    assert told.answer(20, created=True) == [Resync("/w", "compacted")]
    assert told.wrote(21) == [Changed("/w/a")]
    assert told.connect() == 21


def test_a_watch_that_was_given_up_for_a_compaction_is_not_listened_to() -> None:
    """Nor does the one in its place pass for standing before etcd says so."""
    told = Told()
    told.connect()
    told.answer(10, created=True)
    told.connect()
    told.answer(20, created=True)
    told.answer(20, canceled=True, compact_revision=20)
    assert told.answer(20, asked=0, canceled=True, compact_revision=20) == []
    assert len(told.wire.creates) == 2
    told.stream.add("/w", Depth.CHILDREN)
    assert drained(told.stream) == []
    assert told.answer(20, created=True) == [Resync("/w", "compacted"), Resync("/w", "initial")]
