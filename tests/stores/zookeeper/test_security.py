"""Credentials, access lists and TLS, against a server that has them."""

from __future__ import annotations

import contextlib
import logging
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kedge.stores import ABSENT, PRESENT, MetadataStore, Put, StoreError, Unauthorized, Unavailable, open_store
from servers import LocalZooKeeper, free_port
from servers.zookeeper import java
from tests.conformance.frames import AUTH_FAILED, SASL, FrameProxy
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0
SECRET = "only-for-me"  # noqa: S105 - of a server of this test's own


def opened(url: str, **options: str) -> MetadataStore:
    return open_store(f"{url}?{'&'.join(f'{name}={value}' for name, value in options.items())}")


def test_what_the_creator_made_only_the_creator_reads(url: str) -> None:
    """acl=creator with digest: another password, or none, is Unauthorized for reads and commits alike."""
    mine = opened(url, auth=f"digest:me:{SECRET}", acl="creator")
    mine.commit([Put("/a/b", b"1", ABSENT)], timeout_s=CALL_S)
    for other in (opened(url, auth="digest:me:wrong"), open_store(url)):
        with pytest.raises(Unauthorized) as caught:
            other.get("/a/b", timeout_s=CALL_S)
        assert caught.value.applied == "no"
        with pytest.raises(Unauthorized):
            other.get_columns(["/a/b"], timeout_s=CALL_S)
        with pytest.raises(Unauthorized):
            other.commit([Put("/a/b", b"2", PRESENT)], timeout_s=CALL_S)
        with pytest.raises(Unauthorized):
            other.commit([Put("/a/c", b"2", ABSENT)], timeout_s=CALL_S)
        other.close()
    entry = mine.get("/a/b", timeout_s=CALL_S)
    assert entry is not None
    assert entry.value == b"1"
    mine.close()


def test_creator_read_lets_the_world_look(url: str) -> None:
    """As Kafka's zookeeper.set.acl does for what holds no secrets."""
    mine, other = opened(url, auth=f"digest:me:{SECRET}", acl="creator-read"), open_store(url)
    mine.commit([Put("/a/b", b"1", ABSENT)], timeout_s=CALL_S)
    assert other.get_columns(["/a/b"], timeout_s=CALL_S).values == [b"1"]
    with pytest.raises(Unauthorized):
        other.commit([Put("/a/b", b"2", PRESENT)], timeout_s=CALL_S)
    mine.close()
    other.close()


def test_no_password_or_value_is_logged_or_shown(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not at the lowest level either, where kazoo writes every request down. Values may be credentials of users."""
    caplog.set_level(1)
    logging.getLogger("kedge.stores.zookeeper.kazoo").setLevel(1)
    try:
        store = opened(url, auth=f"digest:me:{SECRET}", acl="creator")
        store.commit([Put("/a", b"value-of-a-key", ABSENT)], timeout_s=CALL_S)
        store.get("/a", timeout_s=CALL_S)
        password = store.link.credentials[1]  # type: ignore[attr-defined]
        store.close()
    finally:
        logging.getLogger("kedge.stores.zookeeper.kazoo").setLevel(logging.NOTSET)
    assert ": Multi\n" in caplog.text
    assert SECRET not in caplog.text
    assert "value-of-a-key" not in caplog.text
    assert password.hex() not in caplog.text
    assert repr(password)[2:-1] not in caplog.text
    assert SECRET not in repr(store)


@pytest.fixture
def sasl_server(tmp_path: Path) -> Iterator[LocalZooKeeper]:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f'Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required user_me="{SECRET}"; }};\n')
    settings = {"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
    with LocalZooKeeper(settings=settings, properties=[f"java.security.auth.login.config={jaas}"]) as server:
        yield server


def test_sasl_names_who_may(sasl_server: LocalZooKeeper) -> None:
    """The right password opens and owns what it creates; a wrong one is Unauthorized when the store is opened."""
    url = f"zookeeper://{sasl_server.address}/x"
    store = opened(url, auth=f"sasl:me:{SECRET}", acl="creator-read")
    store.commit([Put("/a", b"1", ABSENT)], timeout_s=CALL_S)
    raw = KazooClient(hosts=sasl_server.address)
    raw.start(timeout=10)
    schemes = [entry.id.scheme for entry in raw.get_acls("/x/a")[0]]
    raw.stop()
    raw.close()
    store.close()
    assert schemes == ["sasl", "world"]
    with pytest.raises(Unauthorized, match="refuse") as caught:
        opened(url, auth="sasl:me:wrong-password", connect_timeout="5")
    assert "wrong-password" not in str(caught.value)


def test_sasl_at_a_server_without_it_is_one_refusal_in_words(server: LocalZooKeeper) -> None:
    """Such a server answers a login by nothing, and its log gets a line each time: it is asked a few times, not for
    as long as the connect timeout lasts."""
    log = server.folder / "server.log"
    before = log.read_text(errors="replace").count("saslServer is null")
    with pytest.raises(Unauthorized, match="refused the credentials: the server has no SASL login"):
        opened(f"zookeeper://{server.address}/x", auth=f"sasl:me:{SECRET}")
    said = log.read_text(errors="replace").count("saslServer is null") - before
    assert 0 < said < 10


def test_a_refusal_in_the_middle_of_its_life_is_not_the_end_of_a_store(sasl_server: LocalZooKeeper) -> None:
    """Kazoo takes a connection that breaks during SASL for a wrong password, and gives up for good; who was let in
    once tries again."""
    proxy = FrameProxy(sasl_server.port, lambda _: None)
    store = opened(f"zookeeper://{proxy.address}/x", auth=f"sasl:me:{SECRET}")
    store.commit([Put("/a", b"1", ABSENT)], timeout_s=CALL_S)
    proxy.judge = lambda opcode: AUTH_FAILED if opcode == SASL else None
    proxy.drop()
    until(lambda: proxy.judged > 0, "refused")
    proxy.judge = lambda _: None

    def read() -> bool:
        with contextlib.suppress(StoreError):
            return store.get("/a", timeout_s=1.0) is not None
        return False

    until(read, "it is let in again")
    store.close()
    proxy.close()


@pytest.mark.full
def test_tls_and_the_name_in_the_certificate(tmp_path: Path) -> None:
    """A server is believed only if the given authority signed it; without TLS its port answers no client."""
    keytool = shutil.which("keytool") or str(Path(java()).resolve().parent / "keytool")
    store_file, authority, port = tmp_path / "server.p12", tmp_path / "ca.pem", free_port()
    common = ["-alias", "zk", "-keystore", str(store_file), "-storepass", "changeit"]
    made = ["-genkeypair", "-keyalg", "RSA", "-storetype", "PKCS12", "-dname", "CN=zk", "-ext", "san=ip:127.0.0.1"]
    subprocess.run([keytool, *made, *common], check=True, capture_output=True)
    subprocess.run([keytool, "-exportcert", "-rfc", "-file", str(authority), *common], check=True, capture_output=True)
    settings = {
        "secureClientPort": str(port),
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(store_file),
        "ssl.keyStore.password": "changeit",
        "ssl.clientAuth": "none",
    }
    with LocalZooKeeper(settings=settings):
        store = opened(f"zookeeper://127.0.0.1:{port}/x", tls_ca=str(authority))
        keys = [f"/{index:04}" for index in range(1000)]
        store.commit([Put(key, b"v" * 200, ABSENT) for key in keys], timeout_s=CALL_S)
        assert set(store.get_columns(keys, timeout_s=CALL_S).values) == {b"v" * 200}
        store.close()
        for options in ({"tls": "true"}, {}):
            with pytest.raises(Unavailable):
                opened(f"zookeeper://127.0.0.1:{port}/x", connect_timeout="1.5", **options)
