"""Servers that fall silent, or are killed, under commits: the same of ZooKeeper and etcd."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count

import pytest

from kedge.stores import ABSENT, OutcomeUnknown, Put, Unavailable, open_store
from kedge.stores.recipes import Fence, Outcome, elect, resolve
from servers import LocalEtcd, LocalServer, LocalZooKeeper
from tests.kit.waiting import until
from tests.stores.kit import raised_by

pytestmark = [pytest.mark.server, pytest.mark.slow]

CALL_S = 10.0
SERVERS: dict[str, Callable[[], LocalServer]] = {
    "zookeeper": lambda: LocalZooKeeper(settings={"forceSync": "no"}),
    "etcd": lambda: LocalEtcd(durable=False),
}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """A server of this test alone."""
    with SERVERS[request.param]() as own:
        yield own


@pytest.mark.full
def test_a_silent_server_leaves_an_outcome_that_resolve_tells(server: LocalServer) -> None:
    """Several times, as it falls silent before or after the commit was applied."""
    with closing(open_store(server.url("/a", session_timeout=20))) as store:
        term = elect(store, b"me", "nonce", CALL_S)
        assert term is not None
        fence = Fence(term)
        for step in range(5):
            attempt = fence.attempt([Put(f"/x/{step}", b"", ABSENT)], f"n{step}")
            server.pause()
            error = raised_by(lambda ops=attempt.ops: store.commit(ops, timeout_s=0.5))  # type: ignore[misc]
            server.resume()
            assert isinstance(error, OutcomeUnknown)
            assert error.applied == "unknown"
            until(lambda: store.session.connected, "contact")
            resolution = resolve(store.another_session, attempt, CALL_S)
            there = store.get(f"/x/{step}", sync=True, timeout_s=CALL_S) is not None
            assert resolution.outcome is (Outcome.APPLIED if there else Outcome.NOT_APPLIED)
            if there:
                fence.resolved(attempt, resolution)
            else:
                fence.done(attempt, store.commit(attempt.ops, timeout_s=CALL_S))


def test_kills_amid_commits_lose_nothing_that_was_acknowledged(server: LocalServer) -> None:
    """One thread commits all the time. A commit that ended with an error is there as a whole or not at all, and only
    if its outcome was unknown."""
    acknowledged, unknown = set[int](), set[int]()
    stop = threading.Event()
    with closing(open_store(server.url("/a", session_timeout=40))) as store:

        def work() -> None:
            for number in count():  # without contact, some 100,000 attempts fail in a second
                if stop.is_set():
                    return
                try:
                    store.commit([Put(f"/{half}/{number}", b"", ABSENT) for half in "kl"], timeout_s=1.0)
                except (OutcomeUnknown, Unavailable) as error:
                    unknown.update([number] * (error.applied == "unknown"))
                else:
                    acknowledged.add(number)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(3):
                before = len(acknowledged)
                until(lambda before=before: len(acknowledged) > before + 50, "some commits")  # type: ignore[misc]
                server.restart()
        finally:
            stop.set()
            thread.join()
        until(lambda: store.session.connected, "contact")
        left, right = ({int(name) for name in store.children(f"/{half}", timeout_s=CALL_S)} for half in "kl")
    assert left == right
    assert acknowledged <= left <= acknowledged | unknown
