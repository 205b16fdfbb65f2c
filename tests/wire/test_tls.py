from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kafka
import pytest

from kedge import Controller
from kedge.controller.wire import Gateway, Limits, Tls, Users, allow_all
from kedge.controller.wire.security.tls import principal
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.wire.certificates import Authority, Signed
from tests.wire.served import RACKS, RawClient, Served


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def ours(authority: Authority) -> Signed:
    return authority.sign("gateway")


@pytest.fixture(scope="module")
def served(authority: Authority, ours: Signed) -> Iterator[Served]:
    with Served(tls=Tls(ours.certificate, ours.key, authority.file), authorizer=allow_all) as opened:
        yield opened


def client_of(served: Served, authority: Authority, own: Signed | None = None, **options: Any) -> Any:
    if own is not None:
        options |= {"ssl_certfile": str(own.certificate), "ssl_keyfile": str(own.key)}
    return kafka.KafkaAdminClient(
        **{
            "bootstrap_servers": served.bootstrap,
            "security_protocol": "SSL",
            "ssl_cafile": str(authority.file),
            "bootstrap_timeout_ms": 10_000,
            **options,
        }
    )


def brokers(client: Any) -> set[int]:
    found = {broker["broker_id"] for broker in client.describe_cluster()["brokers"]}
    client.close()
    return found


def test_a_client_with_a_certificate_comes_in(served: Served, authority: Authority) -> None:
    assert brokers(client_of(served, authority, authority.sign("alice"))) == set(RACKS)


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize(
    "which, alert",
    [
        ("none", "HANDSHAKE_FAILURE|CERTIFICATE_REQUIRED"),
        ("expired", "CERTIFICATE_EXPIRED"),
        ("of another authority", "UNKNOWN_CA"),
    ],
)
def test_alert_gives_the_reason_for_a_refused_certificate(
    served: Served, authority: Authority, tmp_path: Path, *, which: str, alert: str, version: str
) -> None:
    context = ssl.create_default_context(cafile=authority.file)
    context.maximum_version = ssl.TLSVersion[version]
    if which != "none":
        signing = Authority(tmp_path, "another") if which == "of another authority" else authority
        own = signing.sign("late", days=-1 if which == "expired" else 30)
        context.load_cert_chain(own.certificate, own.key)
    failed = served.gateway.counts["tls_failed"]
    with pytest.raises(ssl.SSLError, match=f"(?i)alert.*({alert})|({alert}).*alert"):
        _asked(served, context)
    until(lambda: served.gateway.counts["tls_failed"] == failed + 1)


def _asked(served: Served, context: ssl.SSLContext) -> bytes:
    """What is answered to one who asks at once: a client of TLS 1.3 does not wait until it is let in."""
    at = served.address.host, served.address.port
    with (
        socket.create_connection(at, timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=served.address.host) as client,
    ):
        client.send(b"\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff")
        return client.recv(1)


def test_a_context_serves_others_than_gateways(authority: Authority, ours: Signed) -> None:
    """A host may give it to a server of its own, where no failure is delayed."""
    context = ssl.create_default_context(cafile=authority.file)

    async def exchanged(certificate: Signed | None) -> bytes:
        if certificate is not None:
            context.load_cert_chain(certificate.certificate, certificate.key)
        tls = Tls(ours.certificate, ours.key, authority.file).context()

        def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"in")
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
            at = server.sockets[0].getsockname()
            reader, writer = await asyncio.open_connection(*at, ssl=context)
            try:
                return await asyncio.wait_for(reader.readexactly(2), 30)
            finally:
                writer.close()

    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        asyncio.run(exchanged(None))
    assert asyncio.run(exchanged(authority.sign("alice"))) == b"in"


def test_passwords_go_over_tls(authority: Authority, ours: Signed) -> None:
    with Served(tls=Tls(ours.certificate, ours.key), users=Users({"alice": "wonder"}), authorizer=allow_all) as served:
        login: dict[str, Any] = {"sasl_plain_username": "alice", "sasl_plain_password": "wonder"}
        assert brokers(
            client_of(served, authority, security_protocol="SASL_SSL", sasl_mechanism="PLAIN", **login)
        ) == set(RACKS)


@pytest.mark.slow
@pytest.mark.parametrize("says", [b"", b"\x16\x03\x01", b"\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff"], ids=repr)
def test_who_speaks_no_tls_and_who_does_not_end_the_handshake_is_hung_up_on_and_counted(
    ours: Signed, says: bytes
) -> None:
    """None of it is taken for a request. Others are served meanwhile."""
    tls = Tls(ours.certificate, ours.key)
    with Served(tls=tls, authorizer=allow_all, limits=Limits(login_s=1)) as served:
        with RawClient(served.address) as client:
            client.send(says)
            with contextlib.suppress(ConnectionResetError):
                while client.receive() is not None:  # an alert is no frame of Kafka's
                    pass
            until(lambda: served.gateway.counts["tls_failed"] == 1)
        assert served.gateway.counts["connections"] == served.gateway.counts["requests"] == 0


def test_handshakes_that_do_not_end_refuse_no_other(ours: Signed, authority: Authority) -> None:
    """As many as there may be connections. The oldest one gives way."""
    tls, trusting = Tls(ours.certificate, ours.key), ssl.create_default_context(cafile=str(authority.file))
    limits = Limits(connections=4, login_s=600)
    with Served(tls=tls, authorizer=allow_all, limits=limits) as served, ExitStack() as stack:
        silent = [stack.enter_context(RawClient(served.address, source="127.0.0.66")) for _ in range(4)]
        with RawClient(served.address, trusting) as client:
            assert client.ask("ApiVersions", 4).error_code == 0
            assert silent[0].receive() is None
        assert served.gateway.counts["displaced"] == 1


def test_names_of_certificates_are_written_as_kafka_writes_them(authority: Authority) -> None:
    own = authority.sign('a, "b"', organization="Kedge+Co")
    found = _decoded(own.certificate)
    assert principal(found) == 'User:CN=a\\, \\"b\\",O=Kedge\\+Co'


def _decoded(file: Path) -> Any:
    return ssl._ssl._test_decode_cert(str(file))  # type: ignore[attr-defined]  # noqa: SLF001 - as a peer's would be


def test_others_than_this_machine_come_in_only_with_a_login_or_where_that_is_said(
    ours: Signed,
) -> None:
    store = MemoryStore()
    with Controller(store, 1, Brokers()) as controller:
        for host in ("0.0.0.0", "::", "", "example.org", "192.0.2.1"):  # noqa: S104 - nothing listens
            with pytest.raises(ValueError, match="is not only local"):
                Gateway(controller, host)
            with pytest.raises(ValueError, match="is not only local"):
                Gateway(controller, host, tls=Tls(ours.certificate, ours.key))  # a cipher is no login
            Gateway(controller, host, allow_anonymous=True, advertised="kafka.example.org")
        for host in ("127.0.0.1", "127.0.0.9", "::1", "localhost"):
            Gateway(controller, host)
    store.close()
