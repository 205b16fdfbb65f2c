"""Answers that no client reads: what they hold is bounded, and their connections end."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kedge.controller.model.logs import Batch
from kedge.controller.wire import Limits, connection
from kedge.controller.wire.data import batches
from tests.kit.waiting import until
from tests.wire.living import Living, records
from tests.wire.served import DEADLINE_S, RawClient

MIB = 1024 * 1024
CLIENTS = 20


def _fill(living: Living) -> None:
    """Ten batches of nearly a MiB, of which a Fetch gets eight."""
    (tp,) = living.topic("orders", [[1, 2]])
    batch = batches.read_batch(records(b"x" * (MIB - 1000)))
    assert isinstance(batch, Batch)
    for _ in range(10):
        assert not living.cluster.logs.append(None, tp, batch, acks=-1, timeout_ms=5000).result(DEADLINE_S).error


@pytest.fixture
def living(request: pytest.FixtureRequest) -> Iterator[Living]:
    with Living(limits=request.param) as opened:
        _fill(opened)
        yield opened


def _ask(client: RawClient) -> None:
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 50 * MIB}
    topics = [{"topic": "orders", "partitions": [part]}]
    fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 50 * MIB, "session_epoch": -1, "topics": topics}
    client.begin("Fetch", 12, **fields)


def _sockets() -> int:
    """How many this process has open."""
    names = []
    for file in Path("/proc/self/fd").iterdir():
        try:
            names.append(str(file.readlink()))
        except FileNotFoundError:
            continue  # of this very listing
    return sum(name.startswith("socket:") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("living", [Limits(answer_bytes=17 * MIB)], indirect=True)
def test_what_answers_hold_that_are_not_taken_is_bounded_and_small_ones_need_no_room(living: Living) -> None:
    tracemalloc.start()
    try:
        with ExitStack() as stack:
            for _ in range(CLIENTS):
                _ask(stack.enter_context(RawClient(living.address)))
            until(lambda: living.gateway.counts["Fetch"] == CLIENTS)
            with RawClient(living.address) as other:
                for _ in range(20):  # turns of the loop, in which answers are made that may be
                    assert other.ask("ApiVersions", 4).error_code == 0
            assert tracemalloc.get_traced_memory()[1] < 80 * MIB  # of 160 and more
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("living", [Limits(answer_bytes=9 * MIB)], indirect=True)
def test_who_takes_nothing_gives_way_to_those_who_wait_for_room(
    living: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STALLED_S", 0.2)
    with RawClient(living.address) as stalled, RawClient(living.address) as other:
        _ask(stalled)
        until(lambda: living.gateway.counts["Fetch"] == 1)
        _ask(other)
        answer = other.answer("Fetch", 12)
        assert len(answer.responses[0].partitions[0].records) > 7 * MIB
        assert living.gateway.counts["idle"] == 1
        _ask(other)  # and what it had has returned
        assert other.receive() is not None


@pytest.mark.slow
@pytest.mark.parametrize("living", [Limits(idle_s=1)], indirect=True)
def test_the_connection_of_who_takes_nothing_for_too_long_ends(living: Living) -> None:
    before = _sockets()
    with RawClient(living.address) as client:
        _ask(client)
        until(lambda: living.gateway.counts["idle"] == 1)
        until(lambda: _sockets() == before + 1)  # the client's own


@pytest.mark.slow
@pytest.mark.parametrize("living", [Limits()], indirect=True)
def test_a_gateway_that_is_closed_does_not_wait_for_who_takes_nothing(living: Living) -> None:
    before = _sockets()
    with RawClient(living.address) as client:
        _ask(client)
        until(lambda: living.gateway.counts["Fetch"] == 1)
        with RawClient(living.address) as other:  # by when it is answered, the answer is on its way
            assert other.ask("ApiVersions", 4).error_code == 0
        living.gateway.close()
        own, listener, loop = 1, 1, 2  # the client's end is there still, the others are gone
        until(lambda: _sockets() == before + own - listener - loop)
