"""Long work delays no other client, login or order."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from kafka.record.memory_records import MemoryRecordsBuilder

from kedge.controller.model.host import HostResponse, UpdateMetadataRequest
from kedge.controller.runtime.gc_tuning import tuned
from kedge.controller.wire import Limits, Users, slices, working
from kedge.controller.wire import messages as m
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.calls import Api
from kedge.controller.wire.data import fetch as fetching
from kedge.controller.wire.protocol import build
from kedge.controller.wire.remote import orders, with_orders
from kedge.controller.wire.security.files import LOOK_S, Reread
from kedge.controller.wire.security.sasl import PLAIN, Login
from kedge.controller.wire.slices import CLIENT, sliced
from tests.kit.waiting import until
from tests.wire.asking import fetch, produce
from tests.wire.attack_frames import fetch_partitions, fetch_topics
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import GZIP, packed
from tests.wire.served import DEADLINE_S, RawClient

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


def compact(_: Living, attackers: list[Attacker], payload: bytes) -> None:
    """Batches of many records for a compacted topic."""
    for partition, attacker in enumerate(attackers):
        write(attacker, "compacted", partition, payload)


def search(living: Living, attackers: list[Attacker], payload: bytes) -> None:
    """Searches for a time in a large batch."""
    with RawClient(living.address) as client:
        assert produce(client, payload, partition=10).error_code == 0
    part = {"partition_index": 10, "current_leader_epoch": -1, "timestamp": TIME_MS + MANY - 1}
    topics = [{"name": "orders", "partitions": [part]}]
    for attacker in attackers:
        attacker.begin("ListOffsets", 5, replica_id=-1, isolation_level=0, topics=topics)


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
@pytest.mark.parametrize("work", [compact, search])
def test_long_work_on_records_delays_no_other_client(
    living: Living, attackers: list[Attacker], bomb: bytes, work: Callable[..., None]
) -> None:
    work(living, attackers, bomb)
    with RawClient(living.address) as client:
        work_of_a_good_client(client)
    assert not all(attacker.is_answered for attacker in attackers)
    assert all(attacker.receive() for attacker in attackers)


def test_python_collects_nothing_within_a_large_request(living: Living) -> None:
    """Its full collections go through all elements, and stop all clients."""
    with tuned(), RawClient(living.address) as client:
        before = gc.get_stats()[1]["collections"]
        client.send(fetch_topics(working.MANY + 1))
        assert client.receive()
        assert gc.get_stats()[1]["collections"] < before + 5


def test_refused_frame_is_freed_without_a_collection(living: Living) -> None:
    frame = fetch_partitions(300_000)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(4):
            with RawClient(living.address) as client:
                client.send(frame)
                assert client.receive() is None
        until(lambda: tracemalloc.get_traced_memory()[0] < len(frame), "the frames are freed")
    finally:
        tracemalloc.stop()
        gc.enable()


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


def test_large_fetch_beyond_what_may_wait_is_answered_at_once(
    living: Living, attackers: list[Attacker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold its elements for as long as it waits. Its client is asked to wait before the next one."""
    monkeypatch.setattr(fetching, "MANY", 1)
    monkeypatch.setattr(fetching, "MANY_WAITING_MAX", 3)
    first, second, *_ = attackers
    poll(first, range(20, 22))
    with RawClient(living.address) as producer:
        produce(producer, records(b"a"), partition=0)  # a turn of the loop, in which the first one is counted
    poll(second, range(22, 24), wait_ms=30_000)
    assert second.answer("Fetch", 12).throttle_time_ms == fetching.THROTTLE_MS
    assert not first.is_answered


# --- turns of an API


@pytest.mark.parametrize(
    "api", [api for api in APIS.values() if not api.never_waits], ids=lambda api: api.messages.name
)
def test_no_client_has_all_turns_of_an_api(api: Api) -> None:
    """A client that holds as many as it may waits for its own."""

    async def run() -> None:
        turns = working.turns_of(api, Limits(requests_in_flight=40))
        assert turns is not None
        many = [asyncio.ensure_future(turns.take(1, "greedy")) for _ in range(40)]
        await asyncio.sleep(0)
        assert 0 < sum(task.done() for task in many) <= 10
        assert await asyncio.wait_for(turns.take(1, "other"), DEADLINE_S) == 1
        for task in many:
            task.cancel()
        await asyncio.wait(many)

    asyncio.run(run())


def test_requests_that_need_a_part_of_a_slice_have_it_in_one_pass_of_the_loop() -> None:
    """Otherwise a small answer would wait for as many passes as there are others before it."""

    async def run() -> list[int]:
        passes: list[int] = []

        async def work(part: float) -> None:
            await slices.turn(part)
            passes.append(now)

        now = 0
        many = [asyncio.ensure_future(work(part)) for part in (0.4, 0.4, 0.4, 1.0, 0.1)]
        while not all(task.done() for task in many):
            now += 1
            await asyncio.sleep(0)
        return [each - passes[0] for each in passes]

    assert asyncio.run(run()) == [0, 0, 0, 1, 2]


# --- logins and orders


class Brokers:
    """They obey at once."""

    def obeyed(self, request: Any) -> HostResponse:
        assert request.broker_id == 5
        return HostResponse()


async def _beside_a_full_pool(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of `work`, while the only thread of asyncio's pool is held."""
    loop, is_over = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    held = asyncio.ensure_future(asyncio.to_thread(is_over.wait))
    try:
        return await asyncio.wait_for(work, DEADLINE_S)
    finally:
        is_over.set()
        await held


def test_a_login_waits_for_no_other_work_in_threads() -> None:
    login = Login(Users({"alice": "wonder"}))
    login.handshake(PLAIN, 1)
    asyncio.run(_beside_a_full_pool(login.step(b"\0alice\0wonder")))
    assert login.principal == "User:alice"


def test_an_order_waits_for_no_other_work_in_threads() -> None:
    kind = m.UpdateMetadataRequest
    api = with_orders(Brokers())[kind.API_KEY]
    order = UpdateMetadataRequest(5, 77, 1, 3, False, (), ())
    fields = orders.update_metadata(order, kind.max_version)
    request = kind.decode(bytes(build(kind, kind.max_version, fields).encode()), version=kind.max_version)
    call: Any = SimpleNamespace(broker_id=5)
    handler: Any = api.handler
    assert asyncio.run(_beside_a_full_pool(handler(call, request))) == {"error_code": 0}


def test_others_have_their_turn_while_a_long_list_is_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock takes a third of a slice here."""
    clock = count()
    monkeypatch.setattr("kedge.controller.wire.slices.time.monotonic", lambda: next(clock) * slices.SLICE_S / 3)
    had = 0

    async def other() -> None:
        nonlocal had
        while True:
            had += 1
            await asyncio.sleep(0)

    async def run() -> list[int]:
        task = asyncio.create_task(other())
        rows = [row async for row in sliced(range(slices.FEW + 30))]
        task.cancel()
        return rows

    assert asyncio.run(run()) == [*range(slices.FEW + 30)]
    assert had >= 8


def test_in_a_pass_of_the_loop_one_list_goes_on_and_clients_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with a hundred long lists delays that of another one by one slice, and does not keep the loop."""
    monkeypatch.setattr(slices, "SLICE_S", 0)  # over at once
    done: list[str] = []
    passes: list[int] = []
    now = 0

    async def work(client: str) -> None:
        CLIENT.set(client)
        async for row in sliced(range(slices.FEW + 2)):
            if row >= slices.FEW:
                done.append(client)
                passes.append(now)

    async def run() -> None:
        nonlocal now
        tasks = [asyncio.create_task(work("greedy")) for _ in range(100)]
        tasks.append(asyncio.create_task(work("other")))
        while not all(task.done() for task in tasks):
            now += 1
            await asyncio.sleep(0)

    asyncio.run(run())
    assert len(passes) == len(set(passes)) == 202
    assert "other" in done[:3]
    assert done[:6].count("other") == 2


def test_a_request_with_the_same_name_many_times_asks_for_its_right_once() -> None:
    asked: Counter[tuple[str, str]] = Counter()

    def authorizer(_: str, operation: str, resource: str) -> bool:
        asked[operation, resource] += 1
        return resource == "TOPIC:own"

    with Living(authorizer=authorizer) as living, RawClient(living.gateway.address) as client:
        partitions = [{"partition": p, "fetch_offset": 0, "partition_max_bytes": 1} for p in range(3)]
        topics = [{"topic": name, "partitions": partitions} for name in ("own", "other") * 100]
        answer = client.ask("Fetch", 11, max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics)
    assert asked == {("READ", "TOPIC:own"): 1, ("READ", "TOPIC:other"): 1}
    assert {row.topic for row in answer.responses} == {"own", "other"}


def test_a_file_is_looked_at_once_in_a_while(tmp_path: Path) -> None:
    now_s = 0.0
    file = tmp_path / "file.json"
    file.write_text(json.dumps({"version": 1, "value": "before"}))
    read = Reread(file, lambda said: said["value"], lambda: now_s)
    file.write_text(json.dumps({"version": 1, "value": "after"}))
    os.utime(file, ns=(1, 1))
    now_s = LOOK_S * 0.9
    assert read() == "before"
    now_s = LOOK_S
    assert read() == "after"
