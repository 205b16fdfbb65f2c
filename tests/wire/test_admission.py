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
USERS: Final = Users({"alice": "wonder", "mallory": "wonder"})
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
        known = [stack.enter_context(RawClient(served.address)) for _ in range(14)]
        for client in known:
            log_in(client, ALICE)
        for _ in range(10):
            stack.enter_context(idle(served.address, ATTACKERS, 4))
        until(lambda: served.gateway.counts["displaced"] == 74)
        assert all(is_served(client) for client in known)


def test_user_with_all_connections_of_an_address_refuses_no_other_user_there() -> None:
    """As where many come through one router."""
    with Served(users=USERS, authorizer=allow_all, limits=LIMITS) as served, ExitStack() as stack:
        mallory = [stack.enter_context(RawClient(served.address)) for _ in range(14)]
        for client in mallory:
            log_in(client, Credentials("mallory", "wonder", "PLAIN"))
        with RawClient(served.address) as alice:
            log_in(alice, ALICE)
            assert is_served(alice)
            until(lambda: served.gateway.counts["displaced"] == 1)
            assert sum(map(is_served, mallory[1:])) == 13


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


def admitted(*clients: Client, known: Sequence[str] = (), **limits: int) -> Admission:
    """These clients are served. There are as many as there may be."""
    found = Admission(Limits(**{"connections": len(clients), **limits}), lambda: 100.0)
    for each in known:
        found.left(there(each, 0.0, known=True))
    for client in sorted(clients, key=lambda each: each.came_at):
        found.came(client)
        if client.is_known:
            assert found.logged_in(client) is None
    return found


def gives_way(address: str, *clients: Client, known: Sequence[str] = (), **limits: int) -> object:
    """The number of the one that gives way to a newcomer, or the refusal."""
    given = admitted(*clients, known=known, **limits).makes_room(address)
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


def test_gateways_give_way_beyond_half_of_all_connections() -> None:
    """Links of gateways that are idle for longest, before any client that has logged in."""
    gateways = [there("a", 0, gateway=True, used_at=at) for at in (2, 1, 3)]
    clients = [there(name, 0, known=True, used_at=0) for name in "bcd"]
    assert gives_way("e", *gateways) == 1
    assert gives_way("e", *gateways, *clients[:2]) == "too_many"
    assert gives_way("e", *gateways, *clients) == "too_many"
    assert gives_way("a", *gateways, *clients) == 3
    assert gives_way("a", *gateways, clients[0], connections=4) == 1
    assert gives_way("e", *gateways, there("f", 5), connections=4) == 3
    assert gives_way("a", *gateways, connections=4, connections_per_client=1) is None


def test_connection_that_gave_way_counts_no_more() -> None:
    clients = [there("a", 1), there("a", 2), there("a", 3)]
    found = admitted(*clients, connections_per_client=3)
    assert found.makes_room("a") is clients[0]
    assert found.makes_room("a") is None
    assert found.logged_in(clients[0]) is None
    found.left(clients[0])
    found.came(there("a", 4))
    assert found.makes_room("a") is clients[1]


def user(name: str, *, used_at: float = 99.0, busy: bool = True) -> Client:
    """A connection of this user; all of them call from one address."""
    client = there("a", 0, known=True, used_at=used_at, busy=busy)
    assert client.session is not None
    client.session.known = f"User:{name}"
    return client


def test_users_of_one_address_have_equal_shares_of_it() -> None:
    """A part is kept for those who are logging in, however many connections of the others are in work."""
    mallory = [user("mallory", used_at=50 + number) for number in range(14)]
    found = admitted(*mallory, connections=100, connections_per_client=16)
    late = user("mallory")
    for client, gone in ((late, late), (user("alice"), mallory[0]), (user("bob"), mallory[1])):
        assert found.makes_room("a") is None
        found.came(client)
        assert found.logged_in(client) is gone
    assert mallory[5].session is not None
    mallory[5].session.is_busy, mallory[5].session.used_at = False, 100.0 - admission.IDLE_S
    found.came(late)
    assert found.logged_in(late) is mallory[5]  # it was idle for long


def test_a_newcomer_costs_no_look_at_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is no room, clients that have not logged in come as fast as they can."""
    looked_at = 0

    def is_busy(_: Client) -> bool:
        nonlocal looked_at
        looked_at += 1
        return False

    found = admitted(*[there(f"10.0.0.{number % 2}", number) for number in range(1000)])
    full = admitted(*[user("ANONYMOUS", used_at=95.0, busy=False) for _ in range(800)], connections=1000)
    monkeypatch.setattr(Client, "is_busy", property(is_busy))
    for number in range(100):
        gone = found.makes_room("10.0.0.1")
        assert isinstance(gone, Client)
        found.left(gone)
        found.came(there("10.0.0.1", 2000.0 + number))
        assert full.makes_room("a") == "too_many_from_one"
    assert looked_at <= 800 + 2 + 100


def test_so_many_addresses_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "KNOWN_MAX", 1)
    assert gives_way("c", there("a", 1), there("b", 2), known=["a", "b"]) == 0
