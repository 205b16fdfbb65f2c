"""Who gets a connection when there are no more: attacks from several addresses of the loopback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import pytest

from kedge.controller.wire import Limits, Peers, Users, admission, allow_all
from kedge.controller.wire.admission import Admission, Client
from kedge.controller.wire.security.client import Credentials
from kedge.controller.wire.security.gateways import login_at
from kedge.controller.wire.security.sasl import Login
from kedge.controller.wire.security.users import GATEWAY
from kedge.controller.wire.session import Session
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.wire.served import RACKS, RawClient, Served
from tests.wire.sharing import SECRET, log_in

ATTACKERS: Final = ("127.0.0.66", "127.0.0.67")
USERS: Final = Users({"alice": "wonder"})
ALICE: Final = Credentials("alice", "wonder", "PLAIN")
LIMITS: Final = Limits(connections=20, connections_per_client=16, login_s=600)


@contextmanager
def idle(address: Any, origins: Sequence[str], each: int) -> Iterator[list[RawClient]]:
    """So many connections from each address, which send nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(RawClient(address, source=origin)) for origin in origins for _ in range(each)]


def is_served(client: RawClient) -> bool:
    return bool(client.ask("Metadata", 12, topics=[]).controller_id in RACKS)


def is_hung_up_on(client: RawClient) -> bool:
    with suppress(ConnectionResetError):
        return client.receive() is None
    return True


# --- attacks


def test_idle_connections_from_two_addresses_refuse_no_login() -> None:
    """As many as there may be. The oldest of them give way."""
    with Served(users=USERS, authorizer=allow_all, limits=LIMITS) as served:
        with idle(served.address, ATTACKERS, 10) as held, RawClient(served.address) as client:
            log_in(client, ALICE)
            assert is_served(client)
            assert is_hung_up_on(held[0])
        assert served.gateway.counts["displaced"] == 1
        assert not served.gateway.counts["too_many"]


def test_clients_that_never_log_in_take_no_connection_from_those_that_did() -> None:
    """Not even where nothing else is left but a few: the flood displaces itself."""
    with Served(users=USERS, authorizer=allow_all, limits=LIMITS) as served, ExitStack() as stack:
        known = [stack.enter_context(RawClient(served.address)) for _ in range(15)]
        for client in known:
            log_in(client, ALICE)
        for _ in range(10):
            stack.enter_context(idle(served.address, ATTACKERS, 4))
        until(lambda: served.gateway.counts["displaced"] == 75)
        assert all(is_served(client) for client in known)


def test_gateway_finds_room_where_every_address_has_as_many() -> None:
    """If one logged in from there before. And it keeps that room."""
    peers = Peers(store=MemoryStore(), secret=SECRET)
    with Served(peers=peers, limits=Limits(connections=5)) as served, ExitStack() as stack:
        login = login_at(SECRET, served.address.host, served.address.port)
        log_in(stack.enter_context(RawClient(served.address, source="127.0.0.9")), login)
        for number in range(4):
            assert is_served(stack.enter_context(RawClient(served.address, source=f"127.0.0.{20 + number}")))
        second = stack.enter_context(RawClient(served.address, source="127.0.0.9"))
        log_in(second, login)
        with RawClient(served.address, source="127.0.0.30") as late:
            assert is_hung_up_on(late)
        assert is_served(second)
        assert (served.gateway.counts["displaced"], served.gateway.counts["too_many"]) == (1, 1)
    peers.store.close()


# --- the rules


def there(
    address: str,
    came_at: float,
    *,
    known: bool = False,
    used_at: float = 0.0,
    busy: bool = False,
    gateway: bool = False,
) -> Client:
    """A connection from this address."""
    client = Client(address, came_at)
    if known or busy or gateway:
        client.session = Session(lambda *_: None, 100, None, "User:x", must_log_in=busy and not known)  # type: ignore[arg-type]
        client.session.used_at, client.session.is_busy = used_at, busy
    if gateway:
        assert client.session is not None
        client.session.login, client.session.has_gateways = Login(USERS), True
        client.session.login.principal = f"User:{GATEWAY}"
    return client


def gives_way(address: str, *clients: Client, known: Sequence[str] = (), **limits: int) -> object:
    """The number of the one that gives way to a newcomer, or the refusal. There are as many as there may be."""
    found = Admission(Limits(**{"connections": len(clients), **limits}), lambda: 100.0)
    for each in known:
        found.left(there(each, 0.0, known=True))
    given = found.makes_room(address, clients)
    return clients.index(given) if isinstance(given, Client) else given


def test_oldest_connection_of_the_address_with_most_that_did_not_log_in_gives_way() -> None:
    clients = [there("a", 3), there("b", 2), there("b", 1), there("c", 0), there("d", 0, known=True)]
    assert gives_way("e", *clients) == 2


def test_connections_from_where_a_client_logged_in_before_give_way_last() -> None:
    clients = [there("a", 1), there("a", 2), there("b", 3)]
    assert gives_way("c", *clients, known=["a"]) == 2
    assert gives_way("a", *clients, known=["a", "b"]) == 0
    assert gives_way("c", there("a", 1), there("a", 2), there("a", 3, known=True, used_at=99)) == 0  # by equal shares
    assert gives_way("c", there("a", 1), there("b", 2), known=["a", "b"]) == "too_many"


def test_address_with_fewer_connections_gets_one_that_was_idle_for_longest() -> None:
    clients = [there("a", 0, known=True, used_at=n, busy=n < 51) for n in (50, 53, 52)]
    others = [there("b", 0, known=True, used_at=1.0), there("b", 0, known=True, used_at=2.0)]
    assert gives_way("c", *clients, *others) == 2
    assert gives_way("c", *[there("a", 0, known=True, used_at=n, busy=True) for n in (3, 2)]) == 1
    assert gives_way("b", *clients, *others) == 3  # shares are equal enough: one of its own


def test_own_connections_give_way_only_if_they_were_idle_for_long() -> None:
    just, long = 100.0 - admission.IDLE_S + 0.1, 100.0 - admission.IDLE_S
    used = [there("a", 0, known=True, used_at=at) for at in (just, long)]
    assert gives_way("a", *used) == 1
    assert gives_way("a", used[0], there("b", 0, known=True)) == "too_many"
    assert gives_way("a", *used, connections=9, connections_per_client=2) == 1
    assert gives_way("a", used[0], connections=9, connections_per_client=1) == "too_many_from_one"
    assert gives_way("a", used[0], there("a", 5), connections=9, connections_per_client=2) == 1
    assert gives_way("a", there("a", 5, busy=True), connections=9, connections_per_client=1) == "too_many_from_one"


def test_gateways_never_give_way() -> None:
    gateways = [there("a", at, gateway=True) for at in (0, 1)]
    assert gives_way("b", *gateways) == "too_many"
    assert gives_way("a", *gateways) == "too_many"
    assert gives_way("a", *gateways, there("b", 0, known=True, used_at=99)) == 2
    assert gives_way("a", *gateways, connections=3, connections_per_client=1) is None


def test_connection_that_gave_way_counts_no_more() -> None:
    clients = [there("a", 1), there("a", 2)]
    clients[0].is_leaving = True
    assert gives_way("a", *clients, connections=2, connections_per_client=2) is None
    assert gives_way("a", *clients, connections=1) == 1


def test_so_many_addresses_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "KNOWN_MAX", 1)
    assert gives_way("c", there("a", 1), there("b", 2), known=["a", "b"]) == 0
