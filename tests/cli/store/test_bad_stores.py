"""Urls that lead to something else than a store that may be used: each command says one line, within its deadline, and
writes nothing."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.stores import ABSENT, MetadataStore, Put, open_store
from servers import free_port
from servers.etcd import LocalEtcd
from tests.cli.store.places import content, is_one_line, run, zookeeper_url
from tests.conformance.zookeeper import server as zookeeper
from tests.stores.etcd.served import server as etcd
from tests.wire.certificates import Authority

CONNECT_S = 1.0
PATIENT_S = 8.0  # where an answer is wanted: a busy machine takes a second to hash a password, or for a handshake
IN_TIME_S = 12.0  # the connect timeout, a second to let go of the connection, and a machine that is busy
SECRET = "only-for-me"  # noqa: S105 - of servers of these tests


@pytest.fixture
def commands(tmp_path: Path) -> Callable[[str], list[Result]]:
    """Every command that takes the url of a store, on one; each in time."""
    tree = tmp_path / "tree.json"
    tree.write_text('{"/a": {"value": "1", "version": 0}}')

    def invoke(url: str) -> list[Result]:
        results = []
        for arguments in (
            ["store", "ping", url],
            ["store", "dump", url, str(tmp_path / "dump.json")],
            ["store", "load", str(tree), url],
        ):
            began_s = time.monotonic()
            results.append(CliRunner().invoke(kedge, arguments))
            assert time.monotonic() - began_s < IN_TIME_S, arguments
        assert not (tmp_path / "dump.json").exists()
        return results

    return invoke


def all_one_line(results: list[Result]) -> bool:
    return all(is_one_line(result, 2) for result in results)


@contextmanager
def nobody() -> Iterator[str]:
    yield f"127.0.0.1:{free_port()}"


@contextmanager
def silent() -> Iterator[str]:
    """It accepts, by the backlog of the system, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


class _Web(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client may hang up long after its test, while the output of another one is captured."""


class _Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextmanager
def web() -> Iterator[str]:
    server = _Web(("127.0.0.1", 0), _Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


IMPOSTORS = {"silent": silent, "web": web, "nobody": nobody}
ADDRESSES: Mapping[str, Callable[[], str]] = {
    "zookeeper": lambda: zookeeper().address,
    "etcd": lambda: etcd().address,
}


@pytest.mark.full
@pytest.mark.server
@pytest.mark.parametrize("scheme", ADDRESSES)
@pytest.mark.parametrize("impostor", [*IMPOSTORS, "other", "no tls"])
def test_a_server_that_is_no_store_is_one_line(
    commands: Callable[[str], list[Result]], tmp_path: Path, scheme: str, impostor: str
) -> None:
    """`other`: a server of the other kind. `no tls`: one of this kind, that is called by TLS."""
    options = f"connect_timeout={CONNECT_S}"
    with ExitStack() as stack:
        if impostor == "no tls":
            place, options = ADDRESSES[scheme](), f"{options}&tls_ca={Authority(tmp_path).file}"
        elif impostor == "other":
            place = next(address() for name, address in ADDRESSES.items() if name != scheme)
        else:
            place = stack.enter_context(IMPOSTORS[impostor]())
        results = commands(f"{scheme}://{place}/x?{options}")
    assert all_one_line(results), [result.output for result in results]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["zookeeper", "etcd"])
def test_the_url_stands_once_and_the_cause_is_said(scheme: str) -> None:
    with nobody() as place:
        url = f"{scheme}://{place}/x"
        for arguments in (("store", "ping"), ("store", "audit")):
            said = CliRunner().invoke(kedge, [*arguments, f"{url}?connect_timeout=0.3"]).stderr
            assert said.count("://") == 1, said
            assert url in said
            assert "refused" in said.lower()


@pytest.mark.full
@pytest.mark.server
def test_no_tls_or_another_authority_to_a_server_with_it_is_one_line(
    commands: Callable[[str], list[Result]], tmp_path: Path
) -> None:
    """With the right authority, ping prints the version."""
    authority = Authority(tmp_path)
    ours = authority.sign("server")
    files = [f"--cert-file={ours.certificate}", f"--key-file={ours.key}"]
    with LocalEtcd(durable=False, tls=True, flags=files) as server:
        url = f"etcd://{server.address}/x?connect_timeout="
        for options in ("", f"&tls_ca={Authority(tmp_path, 'other').file}"):
            results = commands(f"{url}{CONNECT_S}{options}")
            assert all_one_line(results), [result.output for result in results]
        said = json.loads(run("ping", f"{url}{PATIENT_S}&tls_ca={authority.file}", "--json").stdout)
    assert said["servers"][0]["version"] == server.version


@pytest.mark.parametrize("option", ["tls_ca=/no/such/file", "session_timeout=0", "unknown=1", "user=me"])
@pytest.mark.parametrize("scheme", ["zookeeper", "etcd"])
def test_options_that_cannot_be_used_are_one_line(
    commands: Callable[[str], list[Result]], scheme: str, option: str
) -> None:
    with nobody() as place:
        results = commands(f"{scheme}://{place}/x?connect_timeout={CONNECT_S}&{option}")
    assert all_one_line(results), [result.output for result in results]


@pytest.mark.slow
@pytest.mark.server
def test_a_wrong_password_is_one_line_without_it(commands: Callable[[str], list[Result]]) -> None:
    with LocalEtcd(durable=False) as server:
        secured(server)
        results = commands(f"{server.url('/x', user='root', password='wrong-' + SECRET, connect_timeout=PATIENT_S)}")
        assert all_one_line(results), [result.output for result in results]
        assert not any(SECRET in result.output for result in results)
        assert all("authentication failed" in result.stderr for result in results)
        check, *others = commands(server.url("/x", connect_timeout=PATIENT_S))  # every client gets a session
        assert (check.exit_code, "/controller: " in check.stdout) == (1, True)
        assert all_one_line(others)


def secured(server: LocalEtcd) -> None:
    server.ask("auth/user/add", {"name": "root", "password": SECRET})
    server.ask("auth/role/add", {"name": "root"})
    server.ask("auth/user/grant", {"user": "root", "role": "root"})
    server.ask("auth/enable")


@pytest.fixture
def guarded(tmp_path: Path) -> str:
    """A chroot of ZooKeeper in which only its creator reads and writes."""
    url = zookeeper_url(tmp_path)
    with closing(open_store(f"{url}&auth=digest:me:{SECRET}&acl=creator")) as store:
        fill(store)
    return url


def fill(store: MetadataStore) -> None:
    store.commit([Put("/controller_epoch", b"7", ABSENT), Put("/a/b", b"1", ABSENT)], timeout_s=10)


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("auth", ["", "&auth=digest:me:wrong-only-for-me"], ids=["none", "wrong"])
def test_keys_that_others_may_not_read_are_refused(guarded: str, tmp_path: Path, auth: str) -> None:
    """ZooKeeper accepts every client; it refuses keys: check says which (1), the others write nothing (2)."""
    tree = tmp_path / "tree.json"
    tree.write_text('{"/mine": {"value": "1", "version": 0}}')
    checked = run("ping", guarded + auth)
    assert checked.exit_code == 1
    assert "/controller_epoch: " in checked.stdout
    assert "NoAuthError (no rights: no user, another user, or a wrong password)" in checked.stdout
    for arguments in (
        ("dump", guarded + auth, str(tmp_path / "dump.json")),
        ("load", str(tree), guarded + auth),
        ("load", str(tree), guarded + auth, "--resume"),
    ):
        refused = run(*arguments)
        assert is_one_line(refused, 2), refused.output
        assert "NoAuth" in refused.stderr
        assert SECRET not in refused.output
    assert not (tmp_path / "dump.json").exists()
    assert content(f"{guarded}&auth=digest:me:{SECRET}") == {"/controller_epoch": b"7", "/a/b": b"1"}


@pytest.mark.slow
@pytest.mark.server
def test_no_command_prints_a_password(guarded: str, tmp_path: Path) -> None:
    url, file = f"{guarded}&auth=digest:me:{SECRET}", tmp_path / "dump.json"
    results = [run("ping", url), run("ping", url, "--json"), run("dump", url, str(file)), run("load", str(file), url)]
    assert [result.exit_code for result in results] == [0, 0, 0, 2]
    assert not any(SECRET in result.output for result in results)
    assert SECRET not in file.read_text()
