"""What the clients of a stand-by use of the active gateway: few connections, and each no more than its own share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any, Final

import pytest

from kedge.controller.wire import Limits, Peers, Users, allow_all, serving
from kedge.controller.wire.calls import Address
from kedge.controller.wire.peers import links, relay
from kedge.controller.wire.protocol import BRIEF, Header, read_request, write_request
from kedge.controller.wire.security import ANONYMOUS
from kedge.controller.wire.security.sasl import Login
from kedge.controller.wire.security.users import GATEWAY
from kedge.controller.wire.session import Session
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.wire.served import RawClient, Served, frame_of, framed
from tests.wire.sharing import SECRET, as_gateway
from tests.wire.test_forwarding import ALTER, METADATA, Pair
from tests.wire.test_relay import LISTENS, Frozen, broken, frozen, is_answered, send

LARGE: Final = 90_000
LIMITS: Final = Limits(request_bytes=100_000, queued_bytes=400_000)
SOURCES: Final = ("127.0.0.61", "127.0.0.62")


def test_clients_that_ask_in_turn_share_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is closed when it was idle for a while."""
    monkeypatch.setattr(links, "IDLE_S", 0.2)
    with broken(0) as (pair, breaking, client), ExitStack() as stack:
        for _ in range(20):
            other = stack.enter_context(RawClient(Address(LISTENS, pair.standby.address.port)))
            assert is_answered_now(other)
        assert is_answered_now(client)
        until(lambda: breaking.ended == breaking.connections)
        assert breaking.connections < 5
        assert is_answered_now(client)  # on a new one


def is_answered_now(client: RawClient) -> bool:
    send(client, "reads")
    return is_answered(client, "reads")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[Frozen]:
    """A stand-by with four connections, one for each client, to a gateway that answers nothing."""
    monkeypatch.setattr(links, "LINKS_MAX", 4)
    with frozen() as (cluster, _):
        yield cluster


def test_a_client_has_its_share_of_the_connections(few: Frozen) -> None:
    """However many requests it has in flight. They are answered in the end."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(RawClient(few.standby.address, source=source)) for source in SOURCES for _ in range(10)
        ]
        for client in clients:
            send(client, "reads")
        until(lambda: few.standby.gateway.counts["forwarded"] == len(clients))
        until(lambda: few.silent.connections == len(SOURCES))
        few.fail_over()
        assert all(is_answered(client, "reads") for client in clients)
        assert few.silent.connections == len(SOURCES)


def test_frames_of_one_relayed_client_leave_room_for_another() -> None:
    """Frames of one that do not end hold all that one may use."""
    store = MemoryStore()
    options: dict[str, Any] = {"peers": Peers(store=store, secret=SECRET), "limits": LIMITS}
    with closing(store), Served(users=Users({}), authorizer=allow_all, **options) as served, ExitStack() as stack:
        for _ in range(3):
            holding = stack.enter_context(as_gateway(served.address))
            holding.send(framed(relayed(1))[: 4 * BRIEF])
        other = stack.enter_context(as_gateway(served.address))
        other.send(framed(relayed(2)))
        assert other.answer("Relay", 0).error_code == 0


def relayed(number: int) -> bytes:
    """A large frame of the client with this number."""
    frame = frame_of(*METADATA, topics=[]) + bytes(LARGE)
    return frame_of("Relay", 0, correlation_id=number, principal="User:alice", broker_id=-1, frame=frame)


def test_only_a_gateway_names_the_client_that_holds_room() -> None:
    client = Session(lambda *_: None, 100, None, ANONYMOUS, address="10.0.0.1")  # type: ignore[arg-type]
    assert client.holder_of(relayed(1)) == "10.0.0.1"
    login = Login(Users({}))
    login.principal = f"User:{GATEWAY}"
    gateway = Session(lambda *_: None, 100, None, ANONYMOUS, login, has_gateways=True)  # type: ignore[arg-type]
    assert gateway.holder_of(relayed(1)[:BRIEF]) == "raw-1"
    assert gateway.holder_of(frame_of(*METADATA, topics=[])) == login.principal


def test_large_frames_are_passed_on_uncopied_and_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the loops of both gateways, other clients have their turn meanwhile."""
    names, sizes = list[str](), list[int]()

    def read(*arguments: Any) -> Any:
        names.append(threading.current_thread().name)
        return read_request(*arguments)

    def written(*arguments: Any) -> bytes:
        sizes.append(len(frame := write_request(*arguments)))
        return frame

    with Pair() as pair, RawClient(pair.standby.address) as client:
        monkeypatch.setattr(relay, "write_request", written)
        monkeypatch.setattr(serving, "read_request", read)
        client.send(framed(frame_of(*ALTER, resources=[]) + bytes(LARGE)))
        assert client.answer(*ALTER).responses == []
    assert [name.partition("_")[0] for name in names] == ["kedge-frames"]
    assert max(sizes) < BRIEF


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 3_000_000])
def test_parts_of_a_relayed_frame_are_the_bytes_of_the_codec(size: int) -> None:
    header, fields = Header(relay.RELAY.api_key, 0, 7, "alice"), {"principal": "User:alice", "broker_id": 3}
    frame = bytes(size)
    expected = write_request(relay.RELAY, header, {**fields, "frame": frame})
    assert b"".join(relay.parts(write_request(relay.RELAY, header, fields), frame)) == expected
