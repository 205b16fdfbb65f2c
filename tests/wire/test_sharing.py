"""One answer for all who ask the same at once, and never one that is older than the question."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from kedge import NewTopic
from kedge.controller.wire.answers import Answer, Budget, Room, Shared
from tests.kit.waiting import until
from tests.wire.served import RawClient, Served


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


@pytest.mark.parametrize("hang_up", [(), (0,), (0, 1), (0, 1, 2)])
def test_what_an_answer_holds_is_given_back_when_the_last_who_asked_has_left(hang_up: tuple[int, ...]) -> None:
    async def main() -> None:
        budget = Budget(100_000)
        shared, may = Shared(), asyncio.Event()

        async def make() -> Answer:
            room = Room(budget, 1.0)
            await room.take(100_000)
            await may.wait()
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
