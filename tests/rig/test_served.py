"""A rig on a store that it does not make itself: what it knows is what it read there, time keeps step with sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import pytest

from kedge.controller.rig import Rig
from kedge.controller.rig.served import StoreServer
from kedge.controller.simulated.store import StoreClient
from kedge.stores import ABSENT, FaultStore, Invalid, MemoryServer, MemoryStore, OutcomeUnknown, Put
from kedge.stores.faults import LoseReply, LoseRequest, Rule
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY
from kedge.stores.tree import TreeEntry

SESSION_S = 0.3


@pytest.fixture
def store() -> MemoryServer:
    """A server that is not the rig's, with a clock of its own, which is real."""
    return MemoryServer(session_timeout_s=SESSION_S)


@pytest.fixture
def served(store: MemoryServer) -> Iterator[StoreServer]:
    with closing(StoreServer(lambda: MemoryStore(store))) as server:
        yield server


@pytest.mark.slow
def test_a_move_goes_through_while_the_controller_dies(store: MemoryServer, served: StoreServer) -> None:
    """The stand-by takes over once the server has ended the session; all agree in the end, nothing is lost."""
    rig = Rig(1, brokers={1: "a", 2: "b", 3: "c", 4: "a"}, server=served)
    (tp,) = rig.create_topic("t", replicas=[[1, 2]], records=100)
    rig.copying.rate_bytes_s = 100_000
    rig.reassign({tp: [3, 4]})
    assert rig.active is not None
    dead, killed_s = rig.active.node_id, time.monotonic()
    rig.mishaps.kill_controller(dead)
    rig.until(lambda: rig.active is not None, what="the stand-by took over")
    assert time.monotonic() - killed_s >= SESSION_S * 0.9
    rig.wait.until_replicas({tp: [3, 4]})
    rig.wait.until_converged()
    rig.check_end()
    assert rows(served) == rows(store)


def rows(server: MemoryServer) -> dict[str, tuple[object, ...]]:
    return dict(server.table.rows)


def test_a_planted_tree_stands_in_the_store(store: MemoryServer, served: StoreServer) -> None:
    """Without ephemeral keys and mere parents."""
    entries = [TreeEntry("/a", b"1", 3), TreeEntry("/b", None, 0), TreeEntry("/b/c", b"", 0, ephemeral=True)]
    assert served.plant(entries) == 1
    assert list(store.table.rows) == list(served.table.rows) == ["/a"]
    assert rows(served) == rows(store)


@pytest.mark.parametrize("fault,applied", [(LoseReply(), True), (LoseRequest(), False)], ids=["applied", "not"])
def test_a_commit_of_unknown_outcome_is_found_out(store: MemoryServer, fault: LoseReply, *, applied: bool) -> None:
    """The sender stays in doubt; the rig remembers it only if it was applied."""
    clients = iter([MemoryStore(store), FaultStore(MemoryStore(store), [Rule(fault)])])
    with closing(StoreServer(lambda: next(clients))) as served:
        client = served.client()
        with pytest.raises(OutcomeUnknown):
            client.commit([Put("/a", b"1", ABSENT)], timeout_s=1)
        assert [commit.ops for commit in served.take()] == ([(Put("/a", b"1", ABSENT),)] if applied else [])
        assert rows(served) == rows(store)


def test_session_is_not_ended_at_once_without_the_means(served: StoreServer) -> None:
    client = served.client()
    client.commit([Put(LEADER_KEY, b"{}", ABSENT, ephemeral=True)], timeout_s=1)
    client.disconnect()
    with pytest.raises(Invalid):
        served.expire(client.session.session_id)


def test_session_ends_at_once_where_the_rig_can_end_it() -> None:
    """Its time is not waited for; what it never heard of it cannot end."""
    store = MemoryServer(session_timeout_s=3_600)
    with closing(StoreServer(lambda: MemoryStore(store), ends=lambda one: cast(MemoryStore, one).expire())) as served:
        client = served.client()
        client.commit([Put(LEADER_KEY, b"{}", ABSENT, ephemeral=True)], timeout_s=1)
        assert served.expire(client.session.session_id)
        assert not served.expire(-1)
        client.disconnect()
        served.tick()
        assert rows(served) == rows(store) == {}


@pytest.mark.slow
def test_keys_of_the_dead_are_gone_when_the_server_says_so(store: MemoryServer, served: StoreServer) -> None:
    """Not before; and a key of no session stays."""
    client = served.client()
    client.commit([Put(LEADER_KEY, b"{}", ABSENT, ephemeral=True), Put(EPOCH_KEY, b"1", ABSENT)], timeout_s=1)
    client.disconnect()
    served.tick()
    assert LEADER_KEY in served.table.rows
    deadline_s = time.monotonic() + 10
    while LEADER_KEY in served.table.rows:
        assert time.monotonic() < deadline_s
        served.tick()
    assert list(store.table.rows) == [EPOCH_KEY]


# --- its clients


def client_of(server: MemoryServer, *more: Any) -> StoreClient:
    return StoreClient(lambda: MemoryStore(server), *more)


def test_client_without_a_watcher_commits(store: MemoryServer) -> None:
    client, ops = client_of(store), (Put("/a", b"1", ABSENT),)
    client.commit(ops, timeout_s=1)
    client.play([Rule(LoseReply(), "commit")])
    with pytest.raises(OutcomeUnknown):
        client.commit(ops, timeout_s=1)


def test_borrowed_session_is_neither_ended_nor_cut(store: MemoryServer, served: StoreServer) -> None:
    owner, count = MemoryStore(store), len(store.sessions)
    for end in (StoreClient.close, StoreClient.disconnect):
        client = client_of(store, owner, served)
        end(client)
        assert client.is_over
        assert owner.session.connected
    assert len(store.sessions) == count


def test_client_that_was_cut_stays_cut_and_its_session_lives(store: MemoryServer) -> None:
    """One that was closed ends it."""
    client, other = client_of(store), client_of(store)
    client.disconnect()
    other.close()
    assert client.is_over
    assert other.is_over
    assert (len(store.sessions), client.session.connected) == (1, False)
    with pytest.raises(Invalid, match="cannot reconnect after it was cut"):
        client.reconnect()
