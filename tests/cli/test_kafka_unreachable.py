"""Commands that reach a server and get no further: the line says which address, what would be spoken there, and why."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kedge.controller.cli.kafka.probing import misfit
from kedge.controller.cli.root import kedge
from kedge.controller.wire import Peers, Tls, Users, allow_all
from kedge.controller.wire.calls import Address
from kedge.stores import MemoryServer, MemoryStore
from tests.cli.ran import ended
from tests.kit.private import write_private
from tests.kit.waiting import until
from tests.wire.certificates import Authority
from tests.wire.served import RACKS, Served

pytestmark = pytest.mark.slow

_SETUP_S = 30.0


def ask(servers: str, folder: Path, *arguments: str, **properties: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as an operator runs it."""
    file = folder / "client.properties"
    write_private(file, "".join(f"{name.replace('_', '.')}={value}\n" for name, value in properties.items()))
    words = arguments or ("topics", "--list")
    return ended("kafka", *words, "--bootstrap-server", servers, "--command-config", file)


def test_unreachable_addresses_that_the_cluster_names_are_named(tmp_path: Path) -> None:
    nowhere = {broker: Address("127.0.0.1", broker) for broker in RACKS}
    with Served(elsewhere=nowhere) as served:
        done = ask(served.bootstrap, tmp_path, "topics", "--create", "--topic", "new", request_timeout_ms=1000)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert any(f"{broker} at 127.0.0.1:{broker}" in done.stderr for broker in RACKS), done.stderr


def test_unreachable_broker_is_named_with_its_address(tmp_path: Path) -> None:
    with Served(elsewhere={2: Address("127.0.0.1", 2)}) as served:
        done = ask(served.bootstrap, tmp_path, "configs", "--describe", "--broker", "2", request_timeout_ms=1000)
    assert done.returncode == 1
    assert "broker 2 at 127.0.0.1:2 cannot be reached" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("asks_for_certificates", [False, True])
def test_plain_text_to_a_tls_server_gets_the_reason(tmp_path: Path, *, asks_for_certificates: bool) -> None:
    authority = Authority(tmp_path)
    ours = authority.sign("gateway")
    tls = Tls(ours.certificate, ours.key, authority.file if asks_for_certificates else None)
    with Served(tls=tls, authorizer=allow_all, allow_anonymous=True) as served:
        done = ask(served.bootstrap, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("; the server speaks TLS: set security.protocol=SSL in --command-config\n")


@pytest.mark.full
def test_missing_certificate_is_reported_long_before_the_timeout(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ours = authority.sign("gateway")
    trust = {"ssl_truststore_type": "PEM", "ssl_truststore_location": authority.file}
    setup_ms = int(_SETUP_S * 1000)
    with Served(tls=Tls(ours.certificate, ours.key, authority.file), authorizer=allow_all) as served:
        began = time.monotonic()
        done = ask(
            served.bootstrap, tmp_path, security_protocol="SSL", socket_connection_setup_timeout_ms=setup_ms, **trust
        )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    said = "the server requires a client certificate: set ssl.keystore.location in --command-config\n"
    assert done.stderr.endswith(said), done.stderr
    assert time.monotonic() - began < _SETUP_S


@pytest.mark.parametrize(
    "who, said",
    [
        (None, "the server requires a client certificate: set ssl.keystore.location in --command-config"),
        ("stranger", "the server rejects the certificate of ssl.keystore.location: unknown ca"),
        ("late", "the server rejects the certificate of ssl.keystore.location: certificate expired"),
        ("anybody", "the server closes the connection after the TLS handshake; it may require ssl.keystore.location"),
    ],
)
def test_alert_of_a_server_about_our_certificate_is_printed(tmp_path: Path, who: str | None, said: str) -> None:
    """`anybody`: the server asks for no certificate, and closes the connection without an alert."""
    authority = Authority(tmp_path)
    gateway, late = authority.sign("gateway"), authority.sign("late", days=-2)
    shown = {"late": late, "stranger": Authority(tmp_path, "other").sign("stranger")}
    ours = ssl.create_default_context(cafile=str(authority.file))
    if who in shown:
        ours.load_cert_chain(shown[who].certificate, shown[who].key)
    theirs = Tls(gateway.certificate, gateway.key, None if who == "anybody" else authority.file).context()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_shake_hands_once, args=(listening, theirs))
        thread.start()
        assert misfit(Address("127.0.0.1", listening.getsockname()[1]), ours, None) == said
        thread.join(_SETUP_S)


def _shake_hands_once(listening: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = listening.accept()
    with contextlib.suppress(ssl.SSLError):
        connection = context.wrap_socket(connection, server_side=True)
    connection.close()


@pytest.mark.full
@pytest.mark.parametrize("with_tls", [False, True])
def test_client_without_login_gets_the_reason(tmp_path: Path, *, with_tls: bool) -> None:
    authority = Authority(tmp_path)
    ours = authority.sign("gateway")
    more: dict[str, object] = {}
    if with_tls:
        more = {"security_protocol": "SSL", "ssl_truststore_type": "PEM", "ssl_truststore_location": authority.file}
    tls = Tls(ours.certificate, ours.key) if with_tls else None
    with Served(users=Users({"alice": "secret"}), authorizer=allow_all, tls=tls) as served:
        done = ask(served.bootstrap, tmp_path, **more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    layer = "SASL_SSL" if with_tls else "SASL_PLAINTEXT"
    mechanisms = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"
    said = f"the server requires a login: set security.protocol={layer} and sasl.mechanism to one of {mechanisms}\n"
    assert done.stderr.endswith(said), done.stderr


@pytest.mark.full
def test_login_where_none_is_required_gets_the_reason(tmp_path: Path) -> None:
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_jaas_config": 'x.PlainLoginModule required username="alice" password="secret";',
    }
    with Served() as served:
        done = ask(served.bootstrap, tmp_path, **login)
    said = "the server has no login: set security.protocol=PLAINTEXT in --command-config"
    why = "the server refuses the login as 'alice': PLAIN is none of no mechanisms"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {served.bootstrap}: {why}; {said}\n")


LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-256",
    "sasl_jaas_config": 'x.ScramLoginModule required username="alice" password="secret";',
}


@contextlib.contextmanager
def sharing(properties: Mapping[str, str], **options: Any) -> Iterator[Served]:
    """A gateway that others log in to, as on any store that processes share; clients only where they have LOGIN."""
    server = MemoryServer(session_timeout_s=0.5)
    if properties:
        options["users"] = Users({"alice": "secret"})
    with contextlib.closing(MemoryStore(server)) as finding:
        peers = Peers(store=finding, secret="of the gateways")  # noqa: S106
        with Served(server=server, peers=peers, authorizer=allow_all, **options) as served:
            yield served


with_and_without_login = pytest.mark.parametrize("properties", [{}, LOGIN], ids=["no login", "login"])


@with_and_without_login
def test_cluster_without_its_store_is_reported_as_such(tmp_path: Path, properties: Mapping[str, str]) -> None:
    """Not as one that requires a login, or ends connections during it: its gateway closes those that cannot wait."""
    with sharing(properties) as served:
        served.store.disconnect()
        until(lambda: served.controller.is_cut_off)
        done = ask(served.bootstrap, tmp_path, socket_connection_setup_timeout_ms=4000, **properties)
    told = f"Error: {served.bootstrap}: no controller is active; its store does not answer\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


@with_and_without_login
def test_gateway_of_a_cluster_without_brokers_requires_no_login(tmp_path: Path, properties: Mapping[str, str]) -> None:
    with sharing(properties, racks={}) as served:
        done = ask(served.bootstrap, tmp_path, socket_connection_setup_timeout_ms=1000, **properties)
    told = f"Error: {served.bootstrap}: the cluster has no live broker\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


@pytest.mark.full
@pytest.mark.parametrize("backlog", [None, 0], ids=["accepts all", "accepts the first alone"])
def test_server_that_never_answers_is_reported_as_such(tmp_path: Path, backlog: int | None) -> None:
    """Not by what was left of the time when the last request was sent, or the last connection begun."""
    with socket.create_server(("127.0.0.1", 0), backlog=backlog) as listening:
        servers = f"127.0.0.1:{listening.getsockname()[1]}"
        done = ask(servers, tmp_path, socket_connection_setup_timeout_ms=2000)
    told = f"Error: {servers}: the server accepts connections, but did not answer within 2 s\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


@pytest.mark.parametrize("words", ["--describe", "--alter --add-config retention.ms=1"])
def test_client_without_rights_gets_kafkas_words(words: str) -> None:
    with Served(authorizer=lambda *_: False) as served:
        where = ["--bootstrap-server", served.bootstrap, "--topic", "orders"]
        done = CliRunner().invoke(kedge, ["kafka", "configs", *where, *words.split()])
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "Error: Topic authorization failed.\n")
