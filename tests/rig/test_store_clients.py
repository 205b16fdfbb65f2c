"""Clients that a simulated cluster has of a store outside: what they do is reported, and they can be cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.controller.simulated.store import StoreClient
from kedge.stores import ABSENT, Invalid, MemoryStore, OutcomeUnknown, Put
from kedge.stores.base import Op
from kedge.stores.faults import LoseReply, Rule
from kedge.stores.memory import MemoryServer

OPS: Sequence[Op] = (Put("/a", b"1", ABSENT),)


class Told:
    """Keeps the reports."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, object]] = []

    def committed(self, client: StoreClient, ops: Sequence[Op]) -> None:
        self.heard.append(("committed", (client, ops)))

    def doubted(self, ops: Sequence[Op]) -> None:
        self.heard.append(("doubted", ops))

    def opened(self, client: StoreClient) -> None:
        self.heard.append(("opened", client))


def test_commits_and_sessions_are_reported() -> None:
    server, told = MemoryServer(), Told()
    client = StoreClient(lambda: MemoryStore(server), watcher=told)
    client.commit(OPS, timeout_s=1)
    other = client.another_session()
    other.play([Rule(LoseReply(), "commit")])
    lost = (Put("/b", b"1", ABSENT),)
    with pytest.raises(OutcomeUnknown):
        other.commit(lost, timeout_s=1)
    assert told.heard == [
        ("opened", client),
        ("committed", (client, OPS)),
        ("opened", other),
        ("doubted", lost),
    ]
    assert client.opened == [other]
    assert len(server.sessions) == 2


def test_client_without_a_watcher_commits() -> None:
    server = MemoryServer()
    client = StoreClient(lambda: MemoryStore(server))
    client.commit(OPS, timeout_s=1)
    client.play([Rule(LoseReply(), "commit")])
    with pytest.raises(OutcomeUnknown):
        client.commit((Put("/b", b"1", ABSENT),), timeout_s=1)


def test_session_that_is_borrowed_is_neither_ended_nor_cut_nor_reported() -> None:
    server, told = MemoryServer(), Told()
    owner = MemoryStore(server)
    for end in (StoreClient.close, StoreClient.disconnect):
        client = StoreClient(lambda: MemoryStore(server), owner, told)
        end(client)
        assert client.is_over
        assert owner.session.connected
    assert (len(server.sessions), told.heard) == (1, [])


def test_client_that_was_cut_stays_cut_and_its_session_is_not_ended() -> None:
    """One that was closed ends it."""
    server = MemoryServer()
    client, other = (StoreClient(lambda: MemoryStore(server)) for _ in range(2))
    client.disconnect()
    other.close()
    assert client.is_over
    assert other.is_over
    assert (len(server.sessions), client.session.connected) == (1, False)
    with pytest.raises(Invalid, match="cannot reconnect after it was cut"):
        client.reconnect()
