"""Connections to a broker that is paused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kedge.controller.wire import Limits, Users, allow_all
from kedge.controller.wire.answers import Answer
from kedge.controller.wire.session import Session
from tests.wire.served import RawClient, Served


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


def test_client_that_is_to_log_in_at_a_paused_broker_has_all_its_time_afterwards() -> None:
    limits = Limits(login_s=1)
    with Served(users=Users({"a": "secret"}), authorizer=allow_all, limits=limits) as served:
        at = served.gateway.addresses([1])[1]
        served.gateway.pause(1)
        with RawClient(at, timeout_s=1.5) as client:
            with pytest.raises(TimeoutError):
                client.receive()
            served.gateway.resume(1)
            assert client.ask("ApiVersions", 0).api_keys
