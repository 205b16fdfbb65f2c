"""One connection as the service sees it, while the broker that its client called is paused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kedge.controller.wire.answers import Answer
from kedge.controller.wire.session import Session


def test_answer_of_a_broker_that_is_paused_in_between_waits_until_it_goes_on() -> None:
    """A process that is stopped sends nothing, also if it took the request before."""

    async def run() -> None:
        goes_on, asked = asyncio.Event(), asyncio.Event()
        goes_on.set()

        @asynccontextmanager
        async def served(_: Session, frame: bytes) -> AsyncIterator[Answer]:
            goes_on.clear()
            asked.set()
            yield Answer(frame)

        session = Session(served, 100, 1, "User:a", goes_on=goes_on)

        async def answer() -> object:
            async with session.serve(b"x") as answer:
                return answer.frame

        answering = asyncio.create_task(answer())
        await asked.wait()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not answering.done()
        goes_on.set()
        assert await answering == b"x"

    asyncio.run(run())
