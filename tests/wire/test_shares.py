"""One client cannot keep the room of requests from others."""

from __future__ import annotations

import asyncio
import struct
from contextlib import ExitStack

from kedge.controller.wire import Limits
from kedge.controller.wire.answers import Budget, Growing
from tests.wire.served import RawClient, Served

KIB = 1024


def test_frames_that_are_only_announced_keep_no_room_from_others() -> None:
    limits = Limits(request_bytes=128 * KIB, queued_bytes=128 * KIB)
    with Served(limits=limits) as served, ExitStack() as stack:
        for _ in range(6):
            slow = stack.enter_context(RawClient(served.address))
            slow.send(struct.pack(">i", 128 * KIB) + bytes(10))
        other = stack.enter_context(RawClient(served.address))
        topics = [{"name": "x" * 200, "topic_id": None} for _ in range(300)]  # a frame that needs room
        assert other.ask("Metadata", 12, topics=topics).topics
        assert served.gateway.counts["slow_frame"] == 0


def test_a_client_that_has_used_its_share_delays_no_other() -> None:
    async def run() -> None:
        budget = Budget(100, share=40)
        assert [await budget.take(30, "greedy"), await budget.take(10, "greedy")] == [30, 10]
        waiting = asyncio.create_task(budget.take(7, "greedy"))
        await asyncio.sleep(0)
        assert await budget.take(40, "other") == 40
        assert not waiting.done()
        budget.give(30, "greedy")
        assert await waiting == 7
        assert await budget.take(1000, "third") == 40  # 100 - 10 - 7 - 40 = 43 are left

    asyncio.run(run())


def test_a_client_that_gives_up_waiting_leaves_its_share_whole() -> None:
    async def run() -> None:
        budget = Budget(100, share=40)
        await budget.take(35, "greedy")
        waiting = asyncio.create_task(budget.take(20, "greedy"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        budget.give(35, "greedy")
        assert await budget.take(40, "greedy") == 40
        assert await budget.take(60) == 60

    asyncio.run(run())


def test_of_frames_that_wait_for_each_other_one_at_a_time_gets_its_rest() -> None:
    async def run() -> None:
        budget = Budget(100, share=100)
        first, second, third = (Growing(budget, "one client") for _ in range(3))
        await first.hold(60)
        await second.hold(40)
        await first.hold(60)  # 160 of 100
        waiting = asyncio.create_task(second.hold(40))
        begins = asyncio.create_task(third.hold(1))
        await asyncio.sleep(0)
        first.let_go()
        await waiting
        second.let_go()
        await begins
        third.let_go()
        assert await budget.take(100) == 100

    async def in_time() -> None:
        async with asyncio.timeout(30):
            await run()

    asyncio.run(in_time())
