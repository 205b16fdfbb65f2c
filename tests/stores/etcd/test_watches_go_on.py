"""Watches of a client that was cut off: what was written meanwhile is hinted, or a Resync says to look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    SessionState,
    StoreEvent,
)
from kedge.stores.etcd.keys import Keys
from kedge.stores.etcd.rpc import etcdrpc
from kedge.stores.etcd.watches import Watches
from kedge.stores.suite.backend import delete, put
from servers import Proxy
from tests.stores.etcd.served import server
from tests.stores.kit import CALL_S, drained, until_event, until_state, watched


@pytest.mark.server
@pytest.mark.slow
def test_a_deletion_at_the_revision_of_a_compaction_while_cut_off_is_not_missed(
    proxy: Proxy, root: str, other: MetadataStore, opening: Callable[[str], MetadataStore]
) -> None:
    """An etcd that is compacted there knows the revision, and not that the key was deleted: it would send nothing."""
    store = opening(f"etcd://{proxy.address}{root}")
    put(other, "/w/a")
    stream = watched(store, "/w")
    proxy.cut()
    until_state(stream, SessionState.SUSPENDED)
    delete(other, "/w/a", PRESENT)
    server().ask("kv/compaction", {"revision": other.snapshot("/w", timeout_s=CALL_S).cursor, "physical": True})
    proxy.mend()
    until_state(stream, SessionState.RESUMED)
    put(other, "/w/b")
    until_event(stream, lambda event: event in {Changed("/w/a"), Resync("/w", "compacted")})


@pytest.mark.server
@pytest.mark.slow
def test_names_and_values_of_one_prefix_in_one_stream(store: MetadataStore, other: MetadataStore) -> None:
    """Each depth that is added gives its own initial Resync; then each hint is given once, also for what is deeper."""
    stream = store.subscribe("/w", Depth.CHILDREN)
    for added in range(2):
        stream.add("/w", Depth.VALUES)
        assert [stream.poll(CALL_S) for _ in range(2 - added)] == [Resync("/w", "initial")] * (2 - added)
    for op in (
        Put("/w/a", b"", ABSENT),
        Put("/w/a", b"2", PRESENT),
        Put("/w/b/deep", b"", ABSENT),
        Delete("/w/b/deep", PRESENT),
        Put("/w/b/deep", b"", ABSENT),
    ):
        other.commit([op], timeout_s=CALL_S)
        assert stream.poll(CALL_S) == Changed(op.key[:4])
    put(other, "/w/b/deep", b"2", PRESENT)
    put(other, "/w/c")
    assert stream.poll(CALL_S) == Changed("/w/c")


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


class Etcd:
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

    def answer(self, revision: int, to: int = -1, **fields: Any) -> list[StoreEvent]:
        """Of the server whose data are at `revision`, to the last watch that was requested; what is reported then."""
        number = self.wire.creates[to].watch_id
        header = etcdrpc.ResponseHeader(revision=revision)
        self.watches.take(self.wire, etcdrpc.WatchResponse(header=header, watch_id=number, **fields))  # type: ignore[arg-type]
        return drained(self.stream)

    def created(self, revision: int) -> list[StoreEvent]:
        return self.answer(revision, created=True)

    def compacted(self, revision: int, to: int = -1) -> list[StoreEvent]:
        return self.answer(revision, to, canceled=True, compact_revision=revision)

    def wrote(self, revision: int) -> list[StoreEvent]:
        """The server reports a write."""
        kv = etcdrpc.KeyValue(key=b"/w/a", create_revision=revision, mod_revision=revision, version=1)
        return self.answer(revision, events=[etcdrpc.Event(kv=kv)])


@pytest.fixture
def etcd() -> Etcd:
    """The watch was confirmed at revision 10."""
    made = Etcd()
    assert made.connect() == 0
    assert made.created(10) == [Resync("/w", "initial")]
    return made


def test_a_connection_that_breaks_between_the_answer_and_the_first_event_loses_no_write(etcd: Etcd) -> None:
    """The next one begins with the write that the server has more than when it was confirmed first."""
    for _ in range(3):
        assert etcd.connect() == 10
        assert etcd.created(11) == []
    assert etcd.wrote(10) == []  # known, and sent once more
    assert etcd.wrote(11) == [Changed("/w/a")]
    assert etcd.connect() == 11


def test_a_server_without_a_write_since_is_no_older_one(etcd: Etcd) -> None:
    """The revision that the watch waits for is the next one there. A lost one before that is reported by a Resync."""
    assert etcd.connect() == 10
    assert etcd.created(10) == []
    assert etcd.connect() == 10
    assert etcd.created(9) == []
    assert etcd.start == 0
    assert etcd.created(9) == [Resync("/w", "reconnected")]
    assert etcd.connect() == 9


def test_what_was_compacted_while_cut_off_is_a_resync_once_the_watch_stands_again(etcd: Etcd) -> None:
    """Not before: who looks then misses nothing. The connection may break at any step of it."""
    assert etcd.connect() == 10
    assert etcd.created(20) == []
    assert etcd.connect() == 10  # it broke before etcd said that this revision is gone
    assert etcd.created(20) == []
    assert etcd.compacted(20) == []
    assert etcd.start == 0
    assert etcd.connect() == 0  # it broke before the new watch was confirmed
    assert etcd.created(20) == [Resync("/w", "compacted")]
    assert etcd.wrote(21) == [Changed("/w/a")]
    assert etcd.connect() == 21


def test_watch_that_was_given_up_for_a_compaction_is_not_listened_to(etcd: Etcd) -> None:
    """Nor does the one in its place count as confirmed before etcd says so."""
    etcd.connect()
    etcd.created(20)
    etcd.compacted(20)
    assert etcd.compacted(20, to=0) == []
    assert len(etcd.wire.creates) == 2
    etcd.stream.add("/w", Depth.CHILDREN)
    assert drained(etcd.stream) == []
    assert etcd.created(20) == [Resync("/w", "compacted"), Resync("/w", "initial")]


def test_watch_that_is_refused_is_tried_once_more_over_a_new_connection(etcd: Etcd) -> None:
    """The token of the old one may have expired. Then the reader is to look, and its read is refused too."""
    assert etcd.answer(10, canceled=True) == []
    assert etcd.wire.is_closed
    etcd.connect()
    assert etcd.answer(10, canceled=True) == [Resync("/w", "reconnected")]
    assert not etcd.wire.is_closed


def test_closed_stream_takes_nothing_more(etcd: Etcd) -> None:
    etcd.stream.close()
    with pytest.raises(Closed):
        etcd.stream.add("/c", Depth.SELF)
    etcd.stream.push(Changed("/w/x"))
    assert etcd.stream.poll(0) is None
