"""Long lists do not keep the loop of a gateway from other clients, nor ask the authorizer or its file for each row."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from kedge.controller.wire import slices
from kedge.controller.wire.security.files import LOOK_S, Reread
from kedge.controller.wire.slices import CLIENT, sliced
from tests.wire.living import Living
from tests.wire.served import RawClient


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
