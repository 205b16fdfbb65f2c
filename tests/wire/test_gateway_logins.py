"""What a gateway sends its secret to, and what a client with a broker's rights can make a controller do."""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kedge import BrokerRegistration
from kedge.controller.model.values import Endpoint
from kedge.controller.wire import Acls, Gateway, Peers, Users
from kedge.controller.wire.calls import Address
from kedge.controller.wire.link import NotDelivered
from kedge.controller.wire.remote import Credentials, RemoteHost, with_remote_brokers
from kedge.controller.wire.security.client import NotLetIn
from kedge.controller.wire.security.gateways import login_at
from kedge.controller.wire.security.reachable import NotAllowed, connected, networks
from kedge.stores import MemoryStore
from tests.wire.peers import Peer
from tests.wire.served import RawClient, Served
from tests.wire.sharing import SECRET, Shared, log_in

REFUSED = 31


def registered(broker_id: int, at: socket.socket, protocol: str) -> BrokerRegistration:
    host, port = at.getsockname()
    return BrokerRegistration(broker_id, host, port, endpoints=(Endpoint("KEDGE", host, port, protocol),))


@pytest.fixture
def listening() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def is_called(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_an_address_that_a_broker_registered_gets_no_login_of_gateways(listening: socket.socket) -> None:
    """It would pass the login on to a gateway, and be one."""
    with closing(MemoryStore()) as store:
        host = RemoteHost(peers=Peers(store=store, secret=SECRET))
        with pytest.raises(NotDelivered, match="has no credentials for a login"):
            host.connect(registered(9, listening, "SASL_PLAINTEXT"))
    assert not is_called(listening)


@pytest.mark.slow
def test_a_login_that_is_relayed_to_another_gateway_is_refused_there() -> None:
    """The password is that of the address which was called."""
    with Shared() as shared:
        there, elsewhere = shared.active.address, shared.standby.address
        with RawClient(there) as client, pytest.raises(NotLetIn, match="error 58"):
            log_in(client, login_at(SECRET, elsewhere.host, elsewhere.port))
        with RawClient(there) as client:
            log_in(client, login_at(SECRET, there.host, there.port))
        counts = shared.active.counts
        assert counts["login_refused"] == 1


@pytest.mark.parametrize("kind, protocol, words", [
    ("tls", "PLAINTEXT", "calls brokers by TLS only"),
    ("login", "PLAINTEXT", "has to log in"),
])  # fmt: skip
def test_a_registration_cannot_lower_the_protocol(
    listening: socket.socket, kind: str, protocol: str, words: str
) -> None:
    how: dict[str, Any] = {"tls": ssl.create_default_context(), "login": Credentials("kedge", "secret")}
    with pytest.raises(NotDelivered, match=words):
        RemoteHost(**{kind: how[kind]}).connect(registered(9, listening, protocol))
    assert not is_called(listening)


@pytest.mark.parametrize("protocol, words", [
    ("PLAINTEXT", "has to log in"),
    ("SASL_PLAINTEXT", "has no credentials for a login"),
])  # fmt: skip
def test_broker_without_a_login_of_its_own_is_not_called(listening: socket.socket, protocol: str, words: str) -> None:
    """Where logins are by broker id, so that the owner of one broker cannot pass its login on to another."""
    host = RemoteHost(login={8: Credentials("kedge", "secret")})
    with pytest.raises(NotDelivered, match=words):
        host.connect(registered(9, listening, protocol))
    assert not is_called(listening)


def test_broker_gets_the_login_under_its_id_alone() -> None:
    logins = {broker: Credentials(f"of-{broker}", "secret") for broker in (1, 2)}
    with Peer({}, users=Users({"of-1": "secret"})) as peer, closing(RemoteHost(login=logins)) as host:
        one, two = (sasl_at(broker, peer.address) for broker in (1, 2))
        host.connect(one).close()
        with pytest.raises(NotDelivered, match="refuses the login as 'of-2'"):
            host.connect(two)


def sasl_at(broker_id: int, at: Address) -> BrokerRegistration:
    endpoint = Endpoint("INTERNAL", at.host, at.port, "SASL_PLAINTEXT")
    return BrokerRegistration(broker_id, at.host, at.port, endpoints=(endpoint,))


@pytest.mark.parametrize("by_id", [False, True])
def test_a_password_is_not_sent_in_clear_unless_that_is_allowed(*, by_id: bool) -> None:
    """The owner of any broker would get it."""
    plain = Credentials("kedge", "secret", "PLAIN")
    login = {1: plain} if by_id else plain
    with pytest.raises(ValueError, match="PLAIN sends the password in clear") as refused:
        RemoteHost(login=login)
    assert "secret" not in str(refused.value)
    RemoteHost(login=login, plain_without_tls=True).close()
    RemoteHost(login=login, tls=ssl.create_default_context()).close()


def test_brokers_are_called_within_the_networks_alone(listening: socket.socket) -> None:
    with pytest.raises(NotDelivered, match=r"has no address that brokers may have: 127\.0\.0\.1"):
        RemoteHost(networks=["10.0.0.0/8"]).connect(registered(9, listening, "PLAINTEXT"))
    assert not is_called(listening)
    host, port = listening.getsockname()
    connected(host, port, 5.0, networks(["10.0.0.0/8", "127.0.0.0/24"])).close()
    assert is_called(listening)
    with pytest.raises(ValueError, match="does not appear to be"):
        RemoteHost(networks=["everywhere"])


@pytest.mark.parametrize("host", [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "fe80::1",
    "224.0.0.1",
    "::",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "2001:0:a9fe:a9fe::1",
    "64:ff9b::6464:64c8",
    "100.100.100.200",
    "::ffff:100.100.100.200",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254",
    "x" * 64,
])  # fmt: skip
def test_addresses_that_no_broker_has_are_not_called(host: str) -> None:
    for within in ((), networks(["::/0", "0.0.0.0/0"])):
        with pytest.raises(NotAllowed):
            connected(host, 9092, 0.1, within)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_the_loopback_is_called_by_ipv6() -> None:
    """It looks like a compatible address of IPv4."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        connected("::1", server.getsockname()[1], 5.0).close()


def test_a_principal_is_the_broker_whose_id_it_owns_alone(tmp_path: Path) -> None:
    file = tmp_path / "acls.json"
    row = {"principal": "User:seven", "operations": ["CLUSTER_ACTION"], "resources": ["BROKER:7"]}
    file.write_text(json.dumps({"version": 1, "acls": [row]}))
    users, acls = Users({"seven": "secret"}), Acls.from_file(file)
    with Served() as served:
        gateway = Gateway(served.controller, apis=with_remote_brokers(), users=users, authorizer=acls)
        with gateway, RawClient(gateway.address) as client:
            log_in(client, Credentials("seven", "secret"))
            codes = {broker: register(client, broker) for broker in (7, 8)}
            assert codes == {7: 0, 8: REFUSED}
            beats = {broker: beat(client, broker) for broker in (7, 8, 1)}
            assert beats[8] == beats[1] == REFUSED
            assert beats[7] != REFUSED


def register(client: RawClient, broker_id: int) -> int:
    listener = {"name": "L", "host": "127.0.0.1", "port": 9, "security_protocol": 0}
    asked = {"broker_id": broker_id, "cluster_id": "any", "incarnation_id": uuid4(), "listeners": [listener]}
    return int(client.ask("BrokerRegistration", 0, **asked).error_code)


def beat(client: RawClient, broker_id: int) -> int:
    asked = {"broker_id": broker_id, "broker_epoch": 1}
    return int(client.ask("BrokerHeartbeat", 0, **asked).error_code)


def test_logins_of_gateways_differ_by_address() -> None:
    found = {login_at(SECRET, host, port).password for host, port in (("a", 1), ("a", 2), ("b", 1))}
    assert len(found) == 3
    assert SECRET not in found
