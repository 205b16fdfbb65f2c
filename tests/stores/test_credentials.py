"""User and password from a file or the environment: what is taken, what is refused, and that they stay hidden."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.stores import ABSENT, PRESENT, Invalid, Put, Unauthorized, open_store
from kedge.stores.credentials import PASSWORD, USERNAME, Credentials, found
from kedge.stores.etcd.url import EtcdUrl
from kedge.stores.etcd.url import parse_url as etcd
from kedge.stores.zookeeper.url import Address, Auth
from kedge.stores.zookeeper.url import parse_url as zookeeper

SECRET: Final = "hun:ter 2&%"  # noqa: S105 - not one
KINDS: Final = ("etcd", "zookeeper")
Parse = Callable[[str], EtcdUrl | Address]
PARSERS: Final[list[Parse]] = [etcd, zookeeper]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """As an operator makes it."""
    made = tmp_path / "store credentials"
    made.write_text(f"me:{SECRET}\n")
    made.chmod(0o600)
    return made


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USERNAME, "me")
    monkeypatch.setenv(PASSWORD, SECRET)


def who(parsed: EtcdUrl | Address) -> tuple[str | None, str | None]:
    if isinstance(parsed, EtcdUrl):
        return parsed.user, parsed.password
    return (None, None) if parsed.auth is None else (parsed.auth.user, parsed.auth.password)


@pytest.mark.parametrize("kind, parse", list(zip(KINDS, PARSERS, strict=True)))
def test_a_file_and_the_environment_are_taken_and_the_url_counts_first(
    kind: str, parse: Parse, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"etcd": "user=own&password=pw", "zookeeper": "auth=digest:own:pw"}[kind]
    assert who(parse(f"{kind}://h")) == (None, None)
    assert who(parse(f"{kind}://h?credentials={file}")) == ("me", SECRET)
    monkeypatch.setenv(USERNAME, "other")
    monkeypatch.setenv(PASSWORD, "another")
    assert who(parse(f"{kind}://h")) == ("other", "another")
    assert who(parse(f"{kind}://h?credentials={file}")) == ("me", SECRET)
    assert who(parse(f"{kind}://h?{own}")) == ("own", "pw")
    with pytest.raises(Invalid, match=r"not both|either user and password|only one of"):
        parse(f"{kind}://h?{own}&credentials={file}")


@pytest.mark.usefixtures("environment")
def test_a_url_of_zookeeper_may_say_the_scheme_alone(file: Path) -> None:
    assert zookeeper("zookeeper://h?auth=sasl").auth == Auth("sasl", "me", SECRET)
    assert zookeeper(f"zookeeper://h?auth=digest&acl=creator&credentials={file}").auth == Auth("digest", "me", SECRET)


def test_half_of_a_pair_is_named() -> None:
    with pytest.raises(Invalid, match=rf"^{USERNAME} is set in the environment, but {PASSWORD} is not$"):
        found(None, {USERNAME: "me", PASSWORD: ""})
    with pytest.raises(Invalid, match=rf"^{PASSWORD} is set in the environment, but {USERNAME} is not$") as raised:
        found(None, {PASSWORD: SECRET})
    assert SECRET not in str(raised.value)
    assert found(None, {USERNAME: "", PASSWORD: ""}) is None


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o660])
def test_a_file_that_others_may_read_or_change_is_refused(file: Path, mode: int) -> None:
    """The group may read it. A byte order mark is no part of the user."""
    file.chmod(0o600)
    file.write_text(f"me:{SECRET}\n", encoding="utf-8-sig")
    for private in (0o600, 0o400, 0o640, 0o440):
        file.chmod(private)
        assert found(str(file), {}) == Credentials("me", SECRET)
    file.chmod(mode)
    with pytest.raises(Invalid, match=rf"{file}: mode {mode:04o} lets others read or change it; use chmod 600$"):
        found(str(file))


@pytest.mark.parametrize("content", [b"", b"me", b"me:", f":{SECRET}".encode(), b"me:pw\nother:pw\n", b"me:\xff"])
def test_a_file_that_holds_no_pair_is_refused_and_not_shown(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(Invalid, match=r"^credentials: .*: (must be one line USER:PASSWORD|not a text file in UTF-8)$"):
        found(str(file))
    with pytest.raises(Invalid, match="not a text file"):
        found("a\0b")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for file, why in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(Invalid, match=f"^credentials: {file}: {why}$"):
            found(str(file))


def test_a_pipe_is_a_file(file: Path) -> None:
    """As a shell makes one of `<(pass show store)`."""
    reading, writing = os.pipe()
    try:
        os.write(writing, file.read_bytes())
        os.close(writing)
        assert found(f"/dev/fd/{reading}") == Credentials("me", SECRET)
    finally:
        os.close(reading)


@pytest.mark.slow
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["check --write", "dump out", "diff memory:x", "migrate memory:x", "serve"])
def test_no_command_shows_them_when_it_fails(
    kind: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for url in (f"{kind}://127.0.0.1:1/a?connect_timeout=0.1", f"{kind}://h?credentials={file}&nothing=1"):
        name, *more = command.split()
        arguments = ["serve", "--store", url] if name == "serve" else ["store", name, url, *more]
        done = CliRunner().invoke(kedge, arguments)
        assert done.exit_code != 0
        assert done.stderr.startswith("kedge")
        assert SECRET not in done.output
        assert "Traceback" not in done.output


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("kind, parse", list(zip(KINDS, PARSERS, strict=True)))
def test_no_repr_shows_them(kind: str, parse: Parse) -> None:
    parsed = parse(f"{kind}://h")
    assert who(parsed) == ("me", SECRET)
    assert SECRET not in f"{parsed} {parsed!r} {found(None)!r}"


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.usefixtures("environment")
def test_environment_changes_only_the_file_that_it_made(
    request: pytest.FixtureRequest, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world may read it: other tests read all that the server holds."""
    place = f"zookeeper://{request.getfixturevalue('zookeeper_server').address}/credentials-{os.getpid()}"
    with closing(open_store(f"{place}?acl=creator-read")) as store:
        store.commit([Put("/a", b"1", ABSENT)], timeout_s=10)
        assert SECRET not in repr(store)
    monkeypatch.delenv(USERNAME)
    monkeypatch.delenv(PASSWORD)
    with closing(open_store(f"{place}?credentials={file}")) as store:
        store.commit([Put("/a", b"2", PRESENT)], timeout_s=10)
    with closing(open_store(place)) as store:
        with pytest.raises(Unauthorized):
            store.commit([Put("/a", b"3", PRESENT)], timeout_s=10)
        entry = store.get("/a", timeout_s=10)
        assert entry is not None
        assert entry.value == b"2"
