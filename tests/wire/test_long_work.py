"""Work on records that takes long: other clients, logins and orders are not kept waiting by it.

The attackers are at 127.0.0.2. What is asserted is an order of answers: those to a good client come first."""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

import attrs
import pytest
from kafka.record.memory_records import MemoryRecordsBuilder

from kedge.controller.model.host import HostResponse, UpdateMetadataRequest
from kedge.controller.wire import Limits, Users
from kedge.controller.wire import messages as m
from kedge.controller.wire.data import fetch as fetching
from kedge.controller.wire.protocol import build
from kedge.controller.wire.remote import orders, with_orders
from kedge.controller.wire.security.sasl import PLAIN, Login
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import GZIP, packed
from tests.wire.served import DEADLINE_S, RawClient
from tests.wire.test_data import fetch, produce

MANY: Final = 50_000
ATTACKERS: Final = 4


class Attacker(RawClient):
    """A client at another address."""

    @property
    def is_answered(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0])


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """So many records with different keys, compressed."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=10**8)
    for number in range(MANY):
        builder.append(timestamp=TIME_MS + number, key=b"%d" % number, value=b"")
    builder.close()
    return packed(bytes(builder.buffer()), GZIP)


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(limits=Limits(connections_per_client=100)) as opened:
        opened.topic("orders", [[1, 2]] * 40)
        opened.topic("compacted", [[1, 2]] * ATTACKERS, cleanup_policy="compact")
        yield opened


@pytest.fixture
def attackers(living: Living) -> Iterator[list[Attacker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Attacker(living.address, source="127.0.0.2")) for _ in range(ATTACKERS)]


def write(attacker: Attacker, topic: str, partition: int, payload: bytes) -> None:
    topics = [{"name": topic, "partition_data": [{"index": partition, "records": payload}]}]
    attacker.begin("Produce", 9, transactional_id=None, acks=1, timeout_ms=30_000, topic_data=topics)


def work_of_a_good_client(client: RawClient) -> None:
    """Small batches and large ones, plain and compressed, that are read again, and metadata."""
    large = records(*[b"x" * 100] * 300)
    for partition, payload in ((0, records(b"a")), (1, large), (2, packed(large, GZIP))):
        answer = produce(client, payload, partition=partition)
        assert answer.error_code == 0
        assert fetch(client, answer.base_offset, partition=partition).records
        named = [{"name": "orders", "topic_id": None}]
        assert client.ask("Metadata", 12, topics=named).topics


@pytest.mark.slow
def test_batches_of_many_records_for_a_compacted_topic_delay_no_other_client(
    living: Living, attackers: list[Attacker], bomb: bytes
) -> None:
    for partition, attacker in enumerate(attackers):
        write(attacker, "compacted", partition, bomb)
    with RawClient(living.address) as client:
        work_of_a_good_client(client)
    assert not all(attacker.is_answered for attacker in attackers)
    assert all(attacker.receive() for attacker in attackers)


@pytest.mark.slow
def test_searches_for_a_time_in_large_batches_delay_no_other_client(
    living: Living, attackers: list[Attacker], bomb: bytes
) -> None:
    write(attackers[0], "orders", 10, bomb)
    assert attackers[0].receive()
    part = {"partition_index": 10, "current_leader_epoch": -1, "timestamp": TIME_MS + MANY - 1}
    topics = [{"name": "orders", "partitions": [part]}]
    for attacker in attackers:
        attacker.begin("ListOffsets", 5, replica_id=-1, isolation_level=0, topics=topics)
    with RawClient(living.address) as client:
        work_of_a_good_client(client)
    assert not all(attacker.is_answered for attacker in attackers)
    assert all(attacker.receive() for attacker in attackers)


# --- long polls


def poll(client: RawClient, partitions: range, wait_ms: int = 30_000) -> None:
    rows = [{"partition": each, "fetch_offset": 0, "partition_max_bytes": 1000} for each in partitions]
    topics = [{"topic": "orders", "partitions": rows}]
    limits = {"max_wait_ms": wait_ms, "min_bytes": 1, "max_bytes": 1000, "session_epoch": -1}
    client.begin("Fetch", 12, topics=topics, **limits)


def test_one_client_waits_for_so_many_partitions_at_most(
    living: Living, attackers: list[Attacker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch beyond that is not woken by records, but gets them when its time is over; other clients are woken."""
    monkeypatch.setattr(fetching, "WAITING_MAX", 3)
    first, second, *_ = attackers
    poll(first, range(20, 22))
    with RawClient(living.address) as other, RawClient(living.address) as producer:
        produce(producer, records(b"a"), partition=0)  # a turn of the loop, in which the first one is counted
        poll(second, range(22, 24), wait_ms=2_000)
        poll(other, range(22, 23))
        produce(producer, records(b"a"), partition=22)
        assert other.receive()
        assert not second.is_answered
    answer = second.answer("Fetch", 12)
    assert [bool(part.records) for part in answer.responses[0].partitions] == [True, False]
    assert not first.is_answered


# --- logins and orders


class Brokers:
    """They obey at once."""

    def obeyed(self, request: Any) -> HostResponse:
        assert request.broker_id == 5
        return HostResponse()


async def _beside_a_full_pool(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The result of `work`, while the only thread of asyncio's pool is held."""
    loop, is_over = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    held = asyncio.ensure_future(asyncio.to_thread(is_over.wait))
    try:
        return await asyncio.wait_for(work(), DEADLINE_S)
    finally:
        is_over.set()
        await held


def test_a_login_waits_for_no_other_work_in_threads() -> None:
    login = Login(Users({"alice": "wonder"}))
    login.handshake(PLAIN, 1)
    asyncio.run(_beside_a_full_pool(lambda: login.step(b"\0alice\0wonder")))
    assert login.principal == "User:alice"


def test_an_order_waits_for_no_other_work_in_threads() -> None:
    kind = m.UpdateMetadataRequest
    api = with_orders(Brokers())[kind.API_KEY]
    order = UpdateMetadataRequest(5, 77, 1, 3, False, (), ())
    fields = orders.update_metadata(order, kind.max_version)
    request = kind.decode(bytes(build(kind, kind.max_version, fields).encode()), version=kind.max_version)
    call: Any = _Call(5)
    assert asyncio.run(_beside_a_full_pool(lambda: _awaited(api.handler(call, request)))) == {"error_code": 0}


@attrs.frozen
class _Call:
    broker_id: int


async def _awaited(answer: Any) -> Any:
    return await answer
