"""Who guesses passwords waits, longer each time, and learns nothing by how long."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.sasl import (
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)

from kedge.controller.wire import Limits, Users, allow_all
from kedge.controller.wire.security import refusals
from kedge.controller.wire.security.client import Credentials, NotLetIn, logging_in
from kedge.controller.wire.security.files import BrokenFile
from kedge.controller.wire.security.gateways import users_at
from kedge.controller.wire.security.refusals import Refusals, origin
from kedge.controller.wire.security.users import Credential, salted
from tests.kit.private import write_private
from tests.kit.waiting import until
from tests.wire.served import RACKS, RawClient, Served
from tests.wire.sharing import SECRET

USERS = Users({"alice": "wonder"})


def send_password(client: RawClient, password: str) -> None:
    """The answer is not read."""
    assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
    client.begin("SaslAuthenticate", 2, auth_bytes=f"\0alice\0{password}".encode())


def answered(client: RawClient) -> int:
    """The error of a login."""
    return int(client.answer("SaslAuthenticate", 2).error_code)


@pytest.fixture
def without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """No refusal is answered as long as the test takes."""
    monkeypatch.setattr(refusals, "FIRST_S", 10_000.0)


@pytest.fixture
def served(without_end: None, request: pytest.FixtureRequest) -> Iterator[Served]:  # noqa: ARG001 - it is to be so
    limits = Limits(refusal_ms=10_000_000, **getattr(request, "param", {}))
    with Served(users=USERS, authorizer=allow_all, limits=limits) as opened:
        yield opened


def test_who_knows_the_password_does_not_wait_for_who_does_not(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """Though both come from one address. The refusal is logged at once."""
    with RawClient(served.address) as guessing, RawClient(served.address) as knowing:
        send_password(guessing, "wrong")
        said = "a login as 'alice' from 127.0.0.1 is refused: Authentication failed: Invalid username or password"
        until(lambda: said in caplog.messages)
        send_password(knowing, "wonder")
        assert answered(knowing) == 0
        assert knowing.ask("Metadata", 12, topics=None).controller_id in RACKS


@pytest.mark.parametrize("served", [{"connections_per_client": 1}], indirect=True)
def test_who_hangs_up_before_the_refusal_does_not_get_another_try_for_it(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with RawClient(served.address) as guessing:
        send_password(guessing, "wrong")
        until(lambda: "is refused" in caplog.text)
    with RawClient(served.address) as again:
        assert again.receive() is None
    assert served.gateway.counts["too_many_from_one"] == 1


@pytest.mark.slow
def test_a_wrong_login_is_counted_for_prometheus() -> None:
    with (
        Served(users=USERS, authorizer=allow_all, limits=Limits(refusal_ms=1)) as served,
        RawClient(served.address) as client,
    ):
        send_password(client, "wrong")
        assert answered(client) == 58
        assert client.receive() is None
        until(lambda: served.gateway.counts["login_refused"] == 1)
        assert ("login_refused", 1) in [(each.tag_value, each.value) for each in served.gateway.metrics().samples]


def test_refusals_take_longer_each_time_from_the_same_address_alone() -> None:
    now_s = 0.0
    found = Refusals(longest_s=1.0, clock=lambda: now_s)
    assert [found.delay_s("a") for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert found.delay_s("b") == 0.1
    assert [found.delay_s("a") for _ in range(5000)] == [1.0] * 5000
    now_s = refusals.FORGOTTEN_S + 1
    assert found.delay_s("a") == 0.1


def test_so_many_addresses_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "ADDRESSES_MAX", 2)
    found = Refusals(longest_s=1.0)
    assert [found.delay_s(each) for each in ("a", "b", "a", "c", "a", "b")] == [0.1, 0.1, 0.2, 0.1, 0.4, 0.1]


@pytest.mark.parametrize(
    "peername, expected",
    [
        (("10.0.0.1", 5), "10.0.0.1"),
        (("::ffff:10.0.0.1", 5, 0, 0), "10.0.0.1"),
        (("2001:db8:1:2:3::4", 5, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::/64"),
        (("::1", 5, 0, 0), "::1"),
        (None, ""),
    ],
)
def test_an_address_is_that_of_a_customer(peername: Any, expected: str) -> None:
    assert origin(peername) == expected


# --- what is learned of users


@pytest.fixture
def users(request: pytest.FixtureRequest, tmp_path: Path) -> Users:
    """Of a file: name, mechanism and iterations of each; the password is `wonder`."""
    found: dict[str, dict[str, str]] = {}
    for name, mechanism, iterations in request.param:
        found.setdefault(name, {})[mechanism] = Credential.of(mechanism, "wonder", iterations).text
    file = tmp_path / "users.json"
    write_private(file, json.dumps({"version": 1, "users": found}))
    return Users.from_file(file)


ALL = [
    [("alice", "SCRAM-SHA-256", 4096)],
    [("alice", "SCRAM-SHA-512", 4096)],
    [("alice", "SCRAM-SHA-256", 9000), ("bob", "SCRAM-SHA-512", 20_000), ("carol", "SCRAM-SHA-256", 5000)],
    [("alice", "SCRAM-SHA-256", 9000), ("alice", "SCRAM-SHA-512", 20_000), ("bob", "SCRAM-SHA-512", 8000)],
    [],
]


@pytest.mark.slow
@pytest.mark.parametrize("users", ALL, ids=str, indirect=True)
def test_password_in_clear_takes_as_many_iterations_for_any_name(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each hash, by users and by who is none."""
    counted: Counter[str] = Counter()
    real = hashlib.pbkdf2_hmac

    def counting(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        counted[name] += iterations
        return real(name, password, salt, iterations)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", counting)
    found = []
    for name in ("alice", "bob", "carol", "nobody", "someone"):
        counted.clear()
        assert users.is_password(name, "wonder") == users.has(name)
        found.append(dict(counted))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("users", [[(name, "SCRAM-SHA-512", 9000) for name in ("alice", "bob")]], indirect=True)
def test_unknown_user_has_salt_and_iterations_like_a_known_one(users: Users) -> None:
    there, not_there = users.credential("alice", "SCRAM-SHA-512"), users.credential("nobody", "SCRAM-SHA-512")
    assert (len(there.salt), there.iterations) == (len(not_there.salt), not_there.iterations)
    assert not_there == users.credential("nobody", "SCRAM-SHA-512") != users.credential("none", "SCRAM-SHA-512")


def test_unknown_users_look_the_same_at_every_gateway_of_the_secret(tmp_path: Path) -> None:
    """With salts of Kafka's form where the known ones have it."""
    text = Credential(b"1bx0k3v0fd6tsp4s9ixlnnq5jj", b"x" * 32, b"y" * 32, 8192).text
    kept = {"alice": {"SCRAM-SHA-256": text}}
    write_private(tmp_path / "users.json", json.dumps({"version": 1, "users": kept}))
    first, second = (users_at(Users.from_file(tmp_path / "users.json"), SECRET)("h", port) for port in (1, 2))
    names = [f"nobody-{i}" for i in range(40)]
    found = [first.credential(name, "SCRAM-SHA-256") for name in names]
    assert found == [second.credential(name, "SCRAM-SHA-256") for name in names]
    assert {each.salt.isalnum() and each.salt.islower() for each in found if each.iterations == 8192} == {True}
    other = users_at(Users.from_file(tmp_path / "users.json"), "another secret")("h", 1)
    assert other.credential(names[0], "SCRAM-SHA-256") != found[0]


def test_the_decoys_of_a_file_outlive_the_process(tmp_path: Path) -> None:
    file = tmp_path / "users.json"
    write_private(file, json.dumps({"version": 1, "users": {}, "decoys": "0123456789abcdef"}))
    first, second = Users.from_file(file), Users.from_file(file)
    assert first.credential("nobody", "SCRAM-SHA-256") == second.credential("nobody", "SCRAM-SHA-256")
    file.write_text(json.dumps({"version": 1, "users": {}, "decoys": "short"}))
    with pytest.raises(BrokenFile, match="decoys must be a random text"):
        Users.from_file(file)


def test_users_of_several_files_are_users_and_the_first_has_the_say(tmp_path: Path) -> None:
    for name, passwords in (("a", {"alice": "one"}), ("b", {"alice": "two", "bob": "three"})):
        kept = {user: salted(password) for user, password in passwords.items()}
        write_private(tmp_path / name, json.dumps({"version": 1, "users": kept}))
    users = Users.from_file(tmp_path / "a", tmp_path / "b")
    assert [users.is_password("alice", "one"), users.is_password("alice", "two")] == [True, False]
    assert users.is_password("bob", "three")


@pytest.mark.parametrize("iterations, words", [
    ("9999999", "9999999 iterations are required, 4096 to 100000 are supported"),
    ("4095", "4096"),
    ("1", "4096"),
    ("many", "the login by SCRAM-SHA-256 failed"),
])  # fmt: skip
def test_a_server_that_chooses_the_work_of_a_login_gets_none(iterations: str, words: str) -> None:
    """With few iterations it would find the password from the proof, offline. scramp has a lower bound since 1.5."""
    steps = logging_in(Credentials("alice", "wonder", "SCRAM-SHA-256"))
    next(steps)
    _, fields = steps.send(SaslHandshakeResponse(version=1, error_code=0, mechanisms=["SCRAM-SHA-256"]))
    nonce = fields["auth_bytes"].decode().rpartition("r=")[2]
    first = f"r={nonce}more,s=c2FsdHNhbHRzYWx0,i={iterations}"
    with pytest.raises(NotLetIn, match=words):
        steps.send(SaslAuthenticateResponse(version=2, error_code=0, auth_bytes=first.encode()))
