"""What answers hold, and answers that many clients share."""

from __future__ import annotations

import asyncio
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from kedge import NewTopic
from kedge.controller.wire import Limits
from kedge.controller.wire.answers import Answer, Budget, Growing, Room, Shared
from tests.kit.waiting import until
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


class Making:
    """Counts how often it was asked to make something, and makes it when it may."""

    def __init__(self) -> None:
        self.begun = 0
        self.may = asyncio.Event()

    async def __call__(self) -> Answer:
        self.begun += 1
        frame = b"%d" % self.begun
        await self.may.wait()
        return Answer(frame)


async def _turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_who_asks_while_an_answer_is_made_shares_the_next_one() -> None:
    async def main() -> None:
        shared, making = Shared(), Making()
        first = asyncio.create_task(shared.get("q", making))
        await _turns()
        late = [asyncio.create_task(shared.get("q", making)) for _ in range(5)]
        other = asyncio.create_task(shared.get("another", making))
        await _turns()
        assert making.begun == 2  # of "q" the first, and that of another question
        making.may.set()
        assert (await first).frame == b"1"
        assert (await other).frame == b"2"
        assert [answer.frame for answer in await asyncio.gather(*late)] == [b"3"] * 5
        assert (await shared.get("q", making)).frame == b"4"

    asyncio.run(main())


def test_who_hangs_up_takes_nothing_from_the_others_and_errors_go_to_all_of_them() -> None:
    async def main() -> None:
        shared, making = Shared(), Making()
        asking = [asyncio.create_task(shared.get("q", making)) for _ in range(3)]
        await _turns()
        asking[0].cancel()
        await _turns()
        making.may.set()
        assert [answer.frame for answer in await asyncio.gather(*asking[1:])] == [b"1", b"1"]

        async def fail() -> Answer:
            raise OSError("no")

        failing = [asyncio.create_task(shared.get("q", fail)) for _ in range(2)]
        for one in failing:
            with pytest.raises(OSError, match="no"):
                await one
        assert (await shared.get("q", making)).frame == b"2"

    asyncio.run(main())


def test_answer_without_a_client_that_waits_is_given_up() -> None:
    """One that is being made, and one that waits for it."""

    async def main() -> None:
        shared, making = Shared(), Making()
        asking = [asyncio.create_task(shared.get("q", making))]
        await _turns()
        asking.append(asyncio.create_task(shared.get("q", making)))
        await _turns()
        for one in reversed(asking):
            one.cancel()
        await asyncio.wait(asking)
        last = asyncio.create_task(shared.get("q", making))
        await _turns()
        assert making.begun == 2
        making.may.set()
        assert (await last).frame == b"2"

    asyncio.run(main())


@pytest.mark.parametrize("hang_up", [(), (0,), (0, 1), (0, 1, 2)])
def test_what_an_answer_holds_is_given_back_when_the_last_who_asked_has_left(hang_up: tuple[int, ...]) -> None:
    async def main() -> None:
        budget = Budget(100_000)
        shared, may = Shared(), asyncio.Event()

        async def make() -> Answer:
            room = Room(budget, 1.0)
            await room.take(100_000)
            try:
                await may.wait()
            except asyncio.CancelledError:
                room.let_go()
                raise
            return Answer(b"large", room)

        asking = [asyncio.create_task(shared.get("q", make)) for _ in range(3)]
        await _turns()
        for number in hang_up:
            asking[number].cancel()
        await _turns()
        waiting = asyncio.create_task(budget.take(100_000))
        may.set()
        answers = [await task for number, task in enumerate(asking) if number not in hang_up]
        await _turns()
        for answer in answers:
            assert not waiting.done()
            answer.let_go()
            await _turns()
        assert waiting.done()

    asyncio.run(main())


@pytest.mark.slow
def test_many_who_ask_for_everything_get_it_each_under_its_own_number() -> None:
    with Served() as served:
        served.controller.admin.create_topics({"wide": NewTopic(300, 3)}).all().result(30)
        until(lambda: len(_partitions(served, 0)) == 300)

        with ThreadPoolExecutor(20) as pool:
            for found in pool.map(lambda n: _partitions(served, n), range(100)):
                assert found == list(range(300))
        created = served.controller.admin.create_topics({f"t{n}": NewTopic(1, 1) for n in range(3)})
        created.all().result(30)
        with RawClient(served.address) as client:
            answer = client.ask("Metadata", 12, topics=None)
        assert {"t0", "t1", "t2"} <= {topic.name for topic in answer.topics}  # acknowledged, so seen


def _partitions(served: Served, number: int) -> list[int]:
    """Of the topic, as one more client sees it."""
    with RawClient(served.address) as client:
        answer = client.ask("Metadata", 12, correlation_id=number, topics=None)
    assert answer.header.correlation_id == number
    return [p.partition_index for topic in answer.topics for p in topic.partitions]
