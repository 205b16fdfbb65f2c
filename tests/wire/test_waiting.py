"""Requests that wait: they delay no other client, and end when their client hangs up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kedge.controller.wire import Limits
from kedge.controller.wire.apis import answering
from kedge.controller.wire.data import produce
from tests.kit.waiting import until
from tests.wire.asking import ask, new_topic
from tests.wire.living import Living, records
from tests.wire.served import RACKS, RawClient, Served, frame_of, framed

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
    monkeypatch.setattr(produce, "TIMEOUT_MS_MAX", 100)
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
