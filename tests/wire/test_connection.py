"""Connections of clients that are slow, that take no answers, and whose requests wait."""

from __future__ import annotations

import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from kedge.controller.wire import Limits, Users, allow_all, connection
from kedge.controller.wire.apis import answering
from kedge.controller.wire.data import batches
from kedge.controller.wire.data import produce as producing
from kedge.controller.wire.security.client import Credentials
from tests.kit.waiting import until
from tests.wire.asking import ask, new_topic
from tests.wire.living import Living, records
from tests.wire.served import DEADLINE_S, RACKS, RawClient, Served, frame_of, framed, sockets
from tests.wire.sharing import log_in


@contextmanager
def dripping(client: RawClient, sends: Callable[[], bytes]) -> Iterator[None]:
    """The client sends, several times a second, until it cannot any more; that it comes to that."""
    over = threading.Event()

    def drip() -> None:
        try:
            while not over.wait(0.1):
                client.send(sends())
        except OSError:
            over.set()

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
        assert over.wait(DEADLINE_S)
    finally:
        over.set()
        thread.join(DEADLINE_S)


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 50_000_000])
def test_a_frame_that_drips_ends_its_connection_and_gives_its_room_back(size: int) -> None:
    """A second client has room for its frame meanwhile, however large the first one is to be."""
    limits = Limits(frame_s=1, queued_bytes=50_000_000)
    with Served(limits=limits) as served, RawClient(served.address) as slow, RawClient(served.address) as other:
        slow.send(struct.pack(">i", size))
        with dripping(slow, lambda: b"\0"):
            topics = [{"name": "x" * 200, "topic_id": None} for _ in range(200)]  # a frame that needs room
            assert other.ask("Metadata", 12, topics=topics).topics
            until(lambda: served.gateway.counts["slow_frame"] == 1)
        assert other.ask("ApiVersions", 0).api_keys


@pytest.mark.slow
def test_large_frames_wait_for_room_and_give_it_back() -> None:
    """Of 200 KiB for frames, each of these takes 150: they are read one after the other, all are answered."""
    request = struct.pack(">hhihi", 3, 1, 7, -1, 70_000) + bytes(140_000)
    with Served(limits=Limits(queued_bytes=200_000)) as served, ExitStack() as stack:
        clients = [stack.enter_context(RawClient(served.address)) for _ in range(5)]
        for client in clients:
            client.send(framed(request))
        assert all(client.receive() is not None for client in clients)


@pytest.mark.slow
def test_a_login_that_does_not_end_is_hung_up_on_though_every_frame_of_it_comes_in_time() -> None:
    users = Users({"alice": "wonder"})
    with Served(users=users, authorizer=allow_all, limits=Limits(login_s=1)) as served:
        with RawClient(served.address) as silent, RawClient(served.address) as chatty:
            versions = struct.pack(">ihhih", 10, 18, 0, 7, -1)
            with dripping(chatty, lambda: versions):
                until(lambda: served.gateway.counts["slow_login"] == 2)
            assert silent.receive() is None
        assert served.gateway.counts["idle"] == 0


@pytest.mark.slow
def test_who_has_logged_in_stays_for_longer_than_a_login_may_take() -> None:
    """No login is required here, so it is known at once; with a password, when that was right."""
    limits = Limits(login_s=1)
    with (
        Served(limits=limits) as known,
        Served(users=Users({"alice": "wonder"}), authorizer=allow_all, limits=limits) as guarded,
        RawClient(known.address) as first,
        RawClient(guarded.address) as second,
        RawClient(guarded.address) as silent,
    ):
        log_in(second, Credentials("alice", "wonder"))
        assert silent.receive() is None  # its time is over, and so would be that of the others
        for client in (first, second):
            assert client.ask("Metadata", 12, topics=[]).brokers
        assert guarded.gateway.counts["slow_login"] == 1


MIB = 1024 * 1024
CLIENTS = 20


@pytest.fixture
def filled(request: pytest.FixtureRequest) -> Iterator[Living]:
    """Ten batches of nearly a MiB, of which a Fetch gets eight."""
    with Living(limits=request.param) as opened:
        (tp,) = opened.topic("orders", [[1, 2]])
        batch: Any = batches.read_batch(records(b"x" * (MIB - 1000)))
        for _ in range(10):
            assert not opened.cluster.logs.append(None, tp, batch, acks=-1, timeout_ms=5000).result(DEADLINE_S).error
        yield opened


def _ask(client: RawClient) -> None:
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 50 * MIB}
    topics = [{"topic": "orders", "partitions": [part]}]
    fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 50 * MIB, "session_epoch": -1, "topics": topics}
    client.begin("Fetch", 12, **fields)


@pytest.mark.slow
@pytest.mark.parametrize("filled", [Limits(answer_bytes=17 * MIB)], indirect=True)
def test_what_answers_hold_that_are_not_taken_is_bounded_and_small_ones_need_no_room(filled: Living) -> None:
    tracemalloc.start()
    try:
        with ExitStack() as stack:
            for _ in range(CLIENTS):
                _ask(stack.enter_context(RawClient(filled.address)))
            until(lambda: filled.gateway.counts["Fetch"] == CLIENTS)
            with RawClient(filled.address) as other:
                for _ in range(20):  # turns of the loop, in which answers are made that may be
                    assert other.ask("ApiVersions", 4).error_code == 0
            assert tracemalloc.get_traced_memory()[1] < 80 * MIB  # of 160 and more
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("filled", [Limits(answer_bytes=9 * MIB)], indirect=True)
def test_who_takes_nothing_gives_way_to_those_who_wait_for_room(
    filled: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STALLED_S", 0.2)
    with RawClient(filled.address) as stalled, RawClient(filled.address) as other:
        _ask(stalled)
        until(lambda: filled.gateway.counts["Fetch"] == 1)
        _ask(other)
        answer = other.answer("Fetch", 12)
        assert len(answer.responses[0].partitions[0].records) > 7 * MIB
        assert filled.gateway.counts["idle"] == 1
        _ask(other)  # and what it had has returned
        assert other.receive() is not None


@pytest.mark.slow
@pytest.mark.parametrize("filled", [Limits(idle_s=1)], indirect=True)
def test_the_connection_of_who_takes_nothing_for_too_long_ends(filled: Living) -> None:
    before = sockets()
    with RawClient(filled.address) as client:
        _ask(client)
        until(lambda: filled.gateway.counts["idle"] == 1)
        until(lambda: len(sockets() - before) == 1)  # the client's own


@pytest.mark.slow
@pytest.mark.parametrize("filled", [Limits()], indirect=True)
def test_a_gateway_that_is_closed_does_not_wait_for_who_takes_nothing(filled: Living) -> None:
    before = sockets()
    with RawClient(filled.address) as client:
        _ask(client)
        until(lambda: filled.gateway.counts["Fetch"] == 1)
        with RawClient(filled.address) as other:  # by when it is answered, the answer is on its way
            assert other.ask("ApiVersions", 4).error_code == 0
        filled.gateway.close()
        own, listener, loop = 1, 1, 2  # the client's end is there still, the others are gone
        until(lambda: len(sockets() - before) == own and len(before - sockets()) >= listener + loop)


WAIT_MS = 20_000
FOR_EVER_MS = 2**31 - 1


@pytest.fixture
def living() -> Iterator[Living]:
    """Nothing is copied, so acks=all is not answered."""
    with Living(copy_rate_bytes_s=1, limits=Limits(requests_in_flight=2)) as opened:
        opened.topic("orders", [[1, 2]])
        yield opened


def _sent(api: str, version: int, **fields: Any) -> bytes:
    return framed(frame_of(api, version, **fields))


def _fetch(wait_ms: int = WAIT_MS) -> bytes:
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    topics = [{"topic": "orders", "partitions": [part]}]
    more = {"min_bytes": 1, "max_bytes": 1000, "session_epoch": -1, "topics": topics}
    return _sent("Fetch", 12, max_wait_ms=wait_ms, **more)


def _produce(acks: int = -1) -> bytes:
    topics = [{"name": "orders", "partition_data": [{"index": 0, "records": records(b"a" * 50)}]}]
    more = {"transactional_id": None, "topic_data": topics}
    return _sent("Produce", 9, acks=acks, timeout_ms=FOR_EVER_MS, **more)


@pytest.mark.slow
def test_waiting_for_records_or_replicas_delays_no_other_client(living: Living) -> None:
    """Five of each, where two of each other API are worked on at a time."""
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(living.address)) for _ in range(10)]
        for number, client in enumerate(clients):
            client.send(_fetch() if number < 5 else _produce())
        until(lambda: living.gateway.counts["requests"] == len(clients))
        began = time.monotonic()
        with RawClient(living.address) as other:
            assert other.ask("ApiVersions", 4).error_code == 0
            assert other.ask("Metadata", 12, topics=None).controller_id in RACKS
        assert time.monotonic() - began < WAIT_MS / 1000 / 4


@pytest.mark.full
@pytest.mark.parametrize("frame", [_fetch(), _produce(), _fetch() + _fetch()])
def test_a_client_that_hangs_up_waits_no_more(living: Living, frame: bytes) -> None:
    began = time.monotonic()
    with RawClient(living.address) as client:
        client.send(frame)
        until(lambda: living.gateway.counts["requests"] == 1)
    until(lambda: living.gateway.counts["hung_up"] == 1)
    assert time.monotonic() - began < WAIT_MS / 1000 / 2
    until(lambda: not living.cluster.logs.is_waited_for)
    assert living.gateway.counts["requests"] == 1


@pytest.mark.slow
def test_what_is_sent_behind_a_request_that_waits_is_answered_behind_it(living: Living) -> None:
    """Also what comes in pieces, and what comes before its client sends no more."""
    behind = _sent("ApiVersions", 4) + _produce(acks=1) + _sent("ApiVersions", 4)
    with RawClient(living.address) as client:
        client.send(_fetch(wait_ms=1500) + behind[:3])
        until(lambda: living.gateway.counts["requests"] == 1)
        began = time.monotonic()
        until(lambda: time.monotonic() - began > 1.2)  # from then on what comes is read ahead
        client.send(behind[3:-2])
        answers: list[Any] = []
        for api, version in (("Fetch", 12), ("ApiVersions", 4), ("Produce", 9), ("ApiVersions", 4)):
            if len(answers) == 3:
                client.send(behind[-2:])
                client.hang_up()
            answers.append(client.answer(api, version))
        assert client.receive() is None
    fetched, first, produced, last = answers
    assert fetched.responses[0].partitions[0].error_code == 0
    assert len(first.api_keys) == len(last.api_keys) > 10
    assert produced.responses[0].partition_responses[0].error_code == 0


@pytest.mark.slow
def test_a_producer_waits_no_longer_than_it_may(living: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producing, "TIMEOUT_MS_MAX", 100)
    with RawClient(living.address) as client:
        client.send(_produce())
        answer = client.answer("Produce", 9)
    assert answer.responses[0].partition_responses[0].error_code == 7


@pytest.mark.slow
def test_no_request_waits_for_the_controller_for_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is away, so nothing is written."""
    monkeypatch.setattr(answering, "TIMEOUT_MS_MAX", 100)
    with Served() as served, RawClient(served.address) as client:
        served.store.disconnect()
        asked = [new_topic("late", 1, 1)]
        assert ask(client, "CreateTopics", 7, topics=asked, timeout_ms=FOR_EVER_MS).topics[0].error_code == 7
        served.store.reconnect()
