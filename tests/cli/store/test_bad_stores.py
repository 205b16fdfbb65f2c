"""Urls that lead to something else than a store that may be used: each command says one line, within its deadline, and
writes nothing."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.stores import ABSENT, MetadataStore, Put, open_store
from servers.etcd import LocalEtcd
from tests.cli.store.impostors import nobody, silent, web
from tests.cli.store.places import content, is_one_line, run, zookeeper_url
from tests.conformance.zookeeper import server as zookeeper
from tests.kit.waiting import until
from tests.stores.etcd.served import server as etcd

CONNECT_S = 1.0
PATIENT_S = 8.0  # where an answer is wanted: a busy machine takes a second to hash a password, or for a handshake
IN_TIME_S = 12.0  # the connect timeout, a second to let go of the connection, and a machine that is busy
SECRET = "only-for-me"  # noqa: S105 - of servers of these tests

Impostor = Callable[[], AbstractContextManager[int]]


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


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["zookeeper", "etcd"])
@pytest.mark.parametrize("impostor", [silent, web, nobody])
def test_a_server_that_is_no_store_is_one_line(
    commands: Callable[[str], list[Result]], scheme: str, impostor: Impostor
) -> None:
    """One that says nothing, one that speaks HTTP, none at all."""
    with impostor() as port:
        results = commands(f"{scheme}://127.0.0.1:{port}/x?connect_timeout={CONNECT_S}")
    assert all_one_line(results), [result.output for result in results]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["zookeeper", "etcd"])
def test_the_url_stands_once_and_the_cause_is_said(scheme: str) -> None:
    """Stores name themselves in what they raise, with ports that a url may leave out."""
    with nobody() as port:
        url = f"{scheme}://127.0.0.1:{port}/x"
        for arguments in (("store", "ping"), ("store", "audit")):
            said = CliRunner().invoke(kedge, [*arguments, f"{url}?connect_timeout=0.3"]).stderr
            assert said.count("://") == 1, said
            assert url in said
            assert "refused" in said.lower()


@pytest.mark.full
@pytest.mark.server
def test_etcd_is_no_zookeeper_and_zookeeper_no_etcd(commands: Callable[[str], list[Result]]) -> None:
    """The url of the one with the scheme of the other."""
    for url in (f"zookeeper://{etcd().address}/x", f"etcd://{zookeeper().address}/x"):
        results = commands(f"{url}?connect_timeout={CONNECT_S}")
        assert all_one_line(results), [result.output for result in results]
    assert content(f"zookeeper://{zookeeper().address}/x-nobody-wrote") == {}


@pytest.mark.full
@pytest.mark.server
def test_tls_to_a_server_without_it_is_one_line(
    commands: Callable[[str], list[Result]], certificate: tuple[Path, Path]
) -> None:
    authority = certificate[0]
    for url in (f"zookeeper://{zookeeper().address}/x", f"etcd://{etcd().address}/x"):
        results = commands(f"{url}?connect_timeout={CONNECT_S}&tls_ca={authority}")
        assert all_one_line(results), [result.output for result in results]


@pytest.mark.full
@pytest.mark.server
def test_no_tls_or_another_authority_to_a_server_with_it_is_one_line(
    commands: Callable[[str], list[Result]], certificate: tuple[Path, Path], other_authority: Path
) -> None:
    """And with the right one, check says the version."""
    files = [f"--cert-file={certificate[0]}", f"--key-file={certificate[1]}"]
    with LocalEtcd(durable=False, tls=True, flags=files) as server:
        url = f"etcd://{server.address}/x?connect_timeout="
        for options in ("", f"&tls_ca={other_authority}"):
            results = commands(f"{url}{CONNECT_S}{options}")
            assert all_one_line(results), [result.output for result in results]
        said = json.loads(run("ping", f"{url}{PATIENT_S}&tls_ca={certificate[0]}", "--json").stdout)
    assert said["servers"][0]["version"] == server.version


@pytest.mark.parametrize("option", ["tls_ca=/no/such/file", "session_timeout=0", "unknown=1", "user=me"])
@pytest.mark.parametrize("scheme", ["zookeeper", "etcd"])
def test_options_that_cannot_be_used_are_one_line(
    commands: Callable[[str], list[Result]], scheme: str, option: str
) -> None:
    with nobody() as port:
        results = commands(f"{scheme}://127.0.0.1:{port}/x?connect_timeout={CONNECT_S}&{option}")
    assert all_one_line(results), [result.output for result in results]


@pytest.mark.slow
@pytest.mark.server
def test_a_wrong_password_is_one_line_without_it(commands: Callable[[str], list[Result]]) -> None:
    """Etcd refuses it when the store is opened."""
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
    """With one user, who may do everything."""
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
    """Not in what goes well either."""
    url, file = f"{guarded}&auth=digest:me:{SECRET}", tmp_path / "dump.json"
    results = [run("ping", url), run("ping", url, "--json"), run("dump", url, str(file)), run("load", str(file), url)]
    assert [result.exit_code for result in results] == [0, 0, 0, 2]
    assert not any(SECRET in result.output for result in results)
    assert SECRET not in file.read_text()


def test_who_hangs_up_on_an_impostor_later_leaves_no_word_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Stores keep connections until they are collected, in the middle of another test."""
    before = set(threading.enumerate())
    with web() as port:
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET / HTTP/1.1\r\n")
        until(lambda: len(set(threading.enumerate()) - before) == 2)  # that of the server, and that of this client
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # as one that is killed
    client.close()
    for handler in set(threading.enumerate()) - before:
        handler.join(PATIENT_S)
        assert not handler.is_alive()
    assert capsys.readouterr().err == ""
