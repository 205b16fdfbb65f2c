"""Users, passwords, tokens and TLS on a real server."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kedge.stores import (
    ABSENT,
    PRESENT,
    Changed,
    Depth,
    Invalid,
    Put,
    Resync,
    SessionState,
    Unauthorized,
    Unavailable,
    open_store,
)
from servers import Proxy
from servers.etcd import LocalEtcd

pytestmark = [pytest.mark.server, pytest.mark.slow]

CALL_S = 10.0
PASSWORD = "se&cret+1"  # noqa: S105 - of a server of this test
QUOTED = "se%26cret+1"


@contextmanager
def guarded() -> Iterator[LocalEtcd]:
    """A server with users: root, and `kedge`, which may do everything below /mine/."""
    with LocalEtcd(durable=False, sound=False) as server:
        server.ask("auth/user/add", {"name": "root", "password": "root"})
        server.ask("auth/user/grant", {"user": "root", "role": "root"})
        server.ask("auth/role/add", {"name": "keeper"})
        span = {"key": _b64("/mine/"), "range_end": _b64("/mine0"), "permType": "READWRITE"}
        server.ask("auth/role/grant", {"name": "keeper", "perm": span})
        server.ask("auth/user/add", {"name": "kedge", "password": PASSWORD})
        server.ask("auth/user/grant", {"user": "kedge", "role": "keeper"})
        server.ask("auth/enable")
        yield server


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def users() -> Iterator[LocalEtcd]:
    with guarded() as server:
        yield server


def test_a_user_works_below_the_prefix_that_it_was_given(users: LocalEtcd) -> None:
    """Ephemeral keys, streams and a second session included."""
    with closing(open_store(users.url("/mine", user="kedge", password=QUOTED))) as store:
        stream = store.subscribe("/a", Depth.VALUES)
        assert stream.poll(CALL_S) == Resync("/a", "initial")
        store.commit([Put("/a/b", b"", ABSENT, ephemeral=True), Put("/a/c", b"", ABSENT)], timeout_s=CALL_S)
        assert stream.poll(CALL_S) == Changed("/a/b")
        with closing(store.another_session()) as second:
            assert second.children("/a", timeout_s=CALL_S) == ["b", "c"]


@pytest.mark.parametrize("user, password", [("kedge", "not-this-one"), ("nobody", "hunter2")])
def test_a_wrong_password_is_unauthorized_at_once_and_not_said(users: LocalEtcd, user: str, password: str) -> None:
    with pytest.raises(Unauthorized) as raised:
        open_store(users.url("/mine", user=user, password=password, connect_timeout=60))
    assert password not in str(raised.value)


def test_who_may_not_is_unauthorized_and_nothing_is_written(users: LocalEtcd) -> None:
    """Outside of the prefix, for reads and for commits; a stream there makes its reader look, and so learn it."""
    with closing(open_store(users.url("/theirs", user="kedge", password=QUOTED))) as store:
        with pytest.raises(Unauthorized) as raised:
            store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
        assert raised.value.applied == "no"
        with pytest.raises(Unauthorized):
            store.get("/a", timeout_s=CALL_S)
        with pytest.raises(Unauthorized):
            store.get_many(["/a"], timeout_s=CALL_S)
        stream = store.subscribe("/a", Depth.SELF)
        events = [stream.poll(CALL_S) for _ in range(4)]
        assert Resync("/a", "initial") in events


def test_without_a_password_a_server_with_users_refuses(users: LocalEtcd) -> None:
    """Whether at the opening or at the first call."""
    with pytest.raises(Unauthorized), closing(open_store(users.url("/mine"))) as store:
        store.get("/a", timeout_s=CALL_S)


def test_password_of_an_unknown_user_is_a_clear_error() -> None:
    with LocalEtcd(durable=False, sound=False) as server, pytest.raises(Unauthorized, match="not enabled"):
        open_store(server.url("/a", user="me", password=QUOTED))


@pytest.mark.full
def test_a_token_that_the_server_forgot_is_renewed() -> None:
    """A restart forgets all tokens: reads, bulk reads, commits and streams go on, over the same session."""
    with guarded() as server, closing(Proxy(server.address)) as proxy:
        url = f"etcd://{proxy.address}/mine?user=kedge&password={QUOTED}&session_timeout=30"
        with closing(open_store(url)) as store:
            store.commit([Put("/a/b", b"", ABSENT)], timeout_s=CALL_S)
            session = store.session.session_id
            stream = store.subscribe("/a", Depth.VALUES)
            assert stream.poll(CALL_S) == Resync("/a", "initial")
            server.restart()
            store.commit([Put("/a/b", b"2", PRESENT)], timeout_s=CALL_S)
            states = [stream.poll(CALL_S) for _ in range(3)]
            assert {getattr(event, "state", event) for event in states} == {
                SessionState.SUSPENDED,
                SessionState.RESUMED,
                Changed("/a/b"),
            }
            assert store.get_columns(["/a/b"], timeout_s=CALL_S).values == [b"2"]
            assert store.session.session_id == session


@pytest.mark.full
def test_a_token_that_ran_out_is_renewed_by_each_kind_of_call() -> None:
    """Tokens of 1 s, and calls after longer silence: the server says so, before it does anything."""
    with LocalEtcd(durable=False, sound=False, flags=["--auth-token-ttl=1"]) as short:
        short.ask("auth/user/add", {"name": "root", "password": PASSWORD})
        short.ask("auth/user/grant", {"user": "root", "role": "root"})
        short.ask("auth/enable")
        with closing(open_store(short.url("/a", user="root", password=QUOTED, session_timeout=60))) as store:
            quiet = store.subscribe("/quiet", Depth.SELF)
            assert quiet.poll(CALL_S) == Resync("/quiet", "initial")
            calls = (
                lambda: store.commit([Put("/b", b"", ABSENT)], timeout_s=CALL_S),
                lambda: store.get("/b", sync=True, timeout_s=CALL_S),
                lambda: store.get_many([f"/{n}" for n in range(300)], timeout_s=CALL_S),
                lambda: store.snapshot("/", timeout_s=CALL_S),
            )
            for call in calls:
                assert quiet.poll(2.5) is None
                assert call() is not None
            assert quiet.poll(2.5) is None
            late = store.subscribe("/late", Depth.SELF)
            while (event := late.poll(CALL_S)) != Resync("/late", "initial"):
                assert event is not None


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and one certificate for server and client, made by openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("tls")
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
    for arguments in (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority",
        "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=kedge",
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out cert.pem",
    ):
        subprocess.run([openssl, *arguments.split()], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.full
def test_tls_with_certificates_on_both_sides(certificates: Path) -> None:
    """With them it works; without the authority, or without a certificate of its own, no client gets in."""
    names = {"tls_ca": "ca.pem", "tls_cert": "cert.pem", "tls_key": "key.pem"}
    files = {name: certificates / file for name, file in names.items()}
    flags = [
        f"--cert-file={files['tls_cert']}",
        f"--key-file={files['tls_key']}",
        f"--trusted-ca-file={files['tls_ca']}",
        "--client-cert-auth",
    ]
    with LocalEtcd(durable=False, sound=False, flags=flags, tls=True) as server:
        with closing(open_store(server.url("/a", **files))) as store:
            store.commit([Put("/b", b"", ABSENT)], timeout_s=CALL_S)
        for options in ({}, {"tls_ca": files["tls_ca"]}):
            with pytest.raises(Unavailable):
                open_store(server.url("/a", connect_timeout=1, **options))


def test_a_file_for_tls_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"none\.pem"):
        open_store(f"etcd://127.0.0.1:1/a?tls_ca={tmp_path / 'none.pem'}")
