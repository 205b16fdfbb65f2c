"""A client with the right login gets in, and no other."""

from __future__ import annotations

import asyncio
import json
import os
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from random import Random
from typing import Any

import kafka
import pytest
from kafka.net.sasl.scram import ScramClient

from kedge.controller.wire import Limits, Users, allow_all
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.security import files, sasl
from kedge.controller.wire.security.client import Credentials
from kedge.controller.wire.security.files import BrokenFile
from kedge.controller.wire.security.sasl import PLAIN, Login, LoginFailed, Turns
from kedge.controller.wire.security.users import Credential, salted
from tests.kit.private import write_private
from tests.kit.waiting import until
from tests.wire.requests_made import frame
from tests.wire.served import RACKS, RawClient, Served, framed
from tests.wire.sharing import log_in

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    users, limits = Users({"alice": "wonder", "ümläut": "pass,word=1"}), Limits(refusal_ms=1)
    with Served(users=users, authorizer=allow_all, limits=limits) as opened:
        yield opened


def login(served: Served, mechanism: str, name: str, password: str) -> dict[str, Any]:
    user = {"sasl_mechanism": mechanism, "sasl_plain_username": name, "sasl_plain_password": password}
    return {"bootstrap_servers": served.bootstrap, "security_protocol": "SASL_PLAINTEXT", **user}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name, password", [("alice", "wonder"), ("ümläut", "pass,word=1")])
def test_a_client_of_kafka_logs_in_by_every_mechanism(served: Served, mechanism: str, name: str, password: str) -> None:
    client = kafka.KafkaAdminClient(**login(served, mechanism, name, password))
    assert {broker["broker_id"] for broker in client.describe_cluster()["brokers"]} == set(RACKS)
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name, password", [("alice", "wrong"), ("nobody", "wonder"), ("alice", "")])
def test_wrong_password_gets_error_58_and_ends_the_connection(
    served: Served, mechanism: str, name: str, password: str
) -> None:
    before = served.gateway.counts["login_refused"]
    with RawClient(served.address) as client:
        assert client.ask("SaslHandshake", 1, mechanism=mechanism).error_code == 0
        if mechanism == "PLAIN":
            answer = client.ask("SaslAuthenticate", 2, auth_bytes=f"\0{name}\0{password}".encode())
        else:
            scram = ScramClient(name, password, mechanism)
            answer = client.ask("SaslAuthenticate", 2, auth_bytes=scram.first_message())
            assert answer.error_code == 0  # an unknown user gets a salt like any other
            scram.process_server_first_message(bytes(answer.auth_bytes))
            answer = client.ask("SaslAuthenticate", 2, auth_bytes=scram.final_message())
        assert answer.error_code == 58
        assert answer.error_message.startswith("Authentication failed")
        assert client.receive() is None
    until(lambda: served.gateway.counts["login_refused"] == before + 1)


@pytest.mark.full
def test_kafka_client_gets_an_error_for_a_wrong_password(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(kafka.errors.KafkaError):  # it asks again until its time is over
        kafka.KafkaAdminClient(**login(served, "SCRAM-SHA-256", "alice", "wrong"), bootstrap_timeout_ms=5_000)
    assert "[Error 58] SaslAuthenticationFailedError" in caplog.text
    assert "socket disconnected" not in caplog.text


def test_tokens_stand_alone_behind_a_handshake_of_version_0(served: Served) -> None:
    with RawClient(served.address) as client:
        assert client.ask("SaslHandshake", 0, mechanism="SCRAM-SHA-256").error_code == 0
        scram = ScramClient("alice", "wonder", "SCRAM-SHA-256")
        scram.process_server_first_message(_sent(client, scram.first_message()))
        scram.process_server_final_message(_sent(client, scram.final_message()))  # raises for another password's
        assert client.ask("Metadata", 12, topics=None).controller_id in RACKS
    with RawClient(served.address) as client:
        client.ask("SaslHandshake", 0, mechanism="PLAIN")
        assert _sent(client, b"\0alice\0wrong") is None


def _sent(client: RawClient, token: bytes) -> bytes | None:
    """The answer to a token without a header."""
    client.send(framed(token))
    return client.receive()


def test_before_the_login_only_api_versions_is_answered_and_large_frames_are_not_read(served: Served) -> None:
    with RawClient(served.address) as client:
        assert client.ask("ApiVersions", 4).error_code == 0
        client.begin("Metadata", 1, topics=None)
        assert client.receive() is None
    until(lambda: served.gateway.counts["not_logged_in"] >= 1)
    with RawClient(served.address) as client:
        client.send(struct.pack(">i", 4097))
        assert client.receive() is None
    until(lambda: served.gateway.counts["too_large"] == 1)


def test_before_the_login_no_version_of_another_api_is_answered(served: Served) -> None:
    login = {17, 18, 36}  # SaslHandshake, ApiVersions, SaslAuthenticate
    for key, api in APIS.items():
        for version in api.messages.versions if key not in login else ():
            sent = frame(api.messages.request, version, Random(key))
            with RawClient(served.address) as client:
                client.send(len(sent).to_bytes(4) + sent)
                assert client.receive() is None, (key, version)


@pytest.mark.slow
@pytest.mark.parametrize(
    "token",
    [b"", b"\0alice", b"\xff\0\xff\0\xff", b"bob\0alice\0wonder", b"\0alice\0wonder\0more", b"\0\0"],
)
def test_what_is_no_token_is_no_login(served: Served, token: bytes) -> None:
    for mechanism in MECHANISMS:
        with RawClient(served.address) as client:
            client.ask("SaslHandshake", 1, mechanism=mechanism)
            assert client.ask("SaslAuthenticate", 1, auth_bytes=token).error_code == 58
            assert client.receive() is None


LONG, SHORT, COMMAS = "a" * 513, "a" * 512, "," * 512


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "name, password, is_taken",
    [(SHORT, SHORT, True), (COMMAS, SHORT, True), (LONG, SHORT, False), (SHORT, LONG, False)],
    ids=["short", "commas", "long name", "long password"],
)
def test_long_names_and_passwords_are_refused_before_they_are_looked_at(
    mechanism: str, name: str, password: str, *, is_taken: bool
) -> None:
    """To normalise 500 kB takes half a second, in which no other is served. What may be in a file comes in, also
    where SCRAM writes a byte of a name as three. SCRAM does not send the password."""
    is_plain = mechanism == "PLAIN"
    login = Login(Users(dict.fromkeys((SHORT, COMMAS), SHORT)))
    login.handshake(mechanism, 1)
    token = f"\0{name}\0{password}" if is_plain else f"n,,n={name.replace(',', '=2C')},r=nonce"
    refused = pytest.raises(LoginFailed, match="Authentication failed")
    with nullcontext() if is_taken or (password == LONG and not is_plain) else refused:
        asyncio.run(login.step(token.encode()))


def test_guesses_from_one_address_delay_no_login_from_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are hashed in their order. One that is given up does not let two of its address be hashed at a time."""
    monkeypatch.setattr(sasl, "_HASHING", ThreadPoolExecutor(1))
    users, turns, ended = Users({"alice": "wonder"}), Turns(), list[str]()

    async def step(address: str, password: str) -> None:
        login = Login(users, turns=turns, address=address)
        login.handshake(PLAIN, 1)
        with suppress(LoginFailed):
            await login.step(f"\0alice\0{password}".encode())
        ended.append(password)

    async def flood() -> None:
        guesses = [asyncio.create_task(step("10.0.0.66", f"wrong {number}")) for number in range(20)]
        await asyncio.sleep(0)  # they wait for their turn
        guesses[0].cancel()
        await step("10.0.0.1", "wonder")
        await asyncio.gather(*guesses, return_exceptions=True)

    asyncio.run(flood())
    assert "wonder" in ended[:3]
    assert [each for each in ended if each != "wonder"] == [f"wrong {number}" for number in range(1, 20)]


NO_NAMES = {
    "": "a name must have 1 to 512 bytes",
    "a" * 513: "a name must have 1 to 512 bytes",
    "ü" * 257: "a name must have 1 to 512 bytes",
    "a\0b": "control characters forbidden",
    "line\n": "control characters forbidden",
    "of\ufb01ce": "clients log in under the normalised form of this name, 'office'",  # a ligature
    "u\u0308": "clients log in under the normalised form of this name, 'ü'",  # two characters that are one
    "\ud800": "surrogate codes forbidden",
}


@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
def test_names_that_no_login_can_have_are_refused_when_the_file_is_read(tmp_path: Path, name: str) -> None:
    file = tmp_path / "users.json"
    _write(file, {"version": 1, "users": {"alice": salted("wonder")}})
    users = Users.from_file(file)
    _write(file, {"version": 1, "users": {"alice": salted("wonder"), name: salted("wonder")}})
    assert not users.has(name)
    with pytest.raises(BrokenFile) as read:
        Users.from_file(file)
    with pytest.raises(ValueError, match="user ") as given:
        Users({"alice": "wonder", name: "wonder"})
    for said in (str(read.value), str(given.value)):
        assert NO_NAMES[name] in said
        assert len(said) < 400
        assert "\n" not in said
    assert str(file) in str(read.value)


@pytest.mark.parametrize("password", ["", "a" * 513, "ü" * 257, "a\0b"], ids=ascii)
def test_passwords_that_no_login_can_have_are_refused_and_not_printed(password: str) -> None:
    for make in (salted, lambda said: Users({"alice": said})):
        with pytest.raises(ValueError, match=r"must have 1 to 512 bytes|control characters") as refused:
            make(password)
        assert not password or password not in str(refused.value)


@pytest.mark.slow
def test_steps_of_a_login_come_in_their_order_and_once(served: Served) -> None:
    with RawClient(served.address) as client:
        assert client.ask("SaslAuthenticate", 0, auth_bytes=b"\0alice\0wonder").error_code == 34
        assert client.receive() is None
    with RawClient(served.address) as client:
        answer = client.ask("SaslHandshake", 1, mechanism="GSSAPI")
        assert (answer.error_code, answer.mechanisms) == (33, MECHANISMS)
        assert client.receive() is None
    with RawClient(served.address) as client:
        client.ask("SaslHandshake", 1, mechanism="PLAIN")
        assert client.ask("SaslAuthenticate", 1, auth_bytes=b"\0alice\0wonder").error_code == 0
        assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 34
        assert client.ask("SaslAuthenticate", 1, auth_bytes=b"\0alice\0wonder").error_code == 34
        assert client.ask("Metadata", 12, topics=None).controller_id in RACKS


def test_handshake_is_refused_where_no_login_is_required() -> None:
    with Served() as open_to_all, RawClient(open_to_all.address) as client:
        assert client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 34
        assert client.ask("SaslAuthenticate", 1, auth_bytes=b"\0a\0b").error_code == 34
        assert client.ask("Metadata", 12, topics=None).controller_id in RACKS


@pytest.mark.slow
def test_users_of_a_file_are_read_again_and_a_broken_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_S", 0)
    file = tmp_path / "users.json"
    _write(file, {"version": 1, "users": {"alice": salted("wonder")}})
    users = Users.from_file(file)
    assert users.is_password("alice", "wonder")
    assert not users.is_password("alice", "other")
    assert "wonder" not in file.read_text()
    _write(file, {"version": 1, "users": {"bob": {"SCRAM-SHA-512": salted("builder")["SCRAM-SHA-512"]}}})
    assert users.is_password("bob", "builder")
    assert not users.has("alice")
    for broken in (
        "{",
        "[]",
        '{"version": 2}',
        '{"version": 1}',
        '{"version": 1, "users": {"bob": {"PLAIN": "x"}}}',
        '{"version": 1, "users": {"bob": {"SCRAM-SHA-256": 5}}}',
        '{"version": 1, "users": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ):
        file.write_text(broken)
        _touch(file)
        assert users.is_password("bob", "builder")
        assert "stays in force" in caplog.text
        caplog.clear()
        assert users.has("bob")
        assert not caplog.text  # said once
    with pytest.raises(BrokenFile, match=r"users\.json"):
        Users.from_file(file)
    with pytest.raises(BrokenFile):
        Users.from_file(tmp_path / "none.json")


def _write(file: Path, said: dict[str, Any]) -> None:
    write_private(file, json.dumps(said))
    _touch(file)


def _touch(file: Path) -> None:
    """Its time is another one, whatever the clock of the file system can tell apart."""
    later = file.stat().st_mtime_ns + 1_000_000_000 * (1 + len(file.read_text()) % 50)
    os.utime(file, ns=(later, later))


def test_a_user_who_is_removed_loses_open_connections(tmp_path: Path) -> None:
    """Idle ones as well; others stay."""
    file = tmp_path / "users.json"
    both = {name: salted("wonder") for name in ("alice", "bob")}
    _write(file, {"version": 1, "users": both})
    with Served(users=Users.from_file(file), authorizer=allow_all) as served:
        with RawClient(served.address) as alice, RawClient(served.address) as bob:
            log_in(alice, Credentials("alice", "wonder"))
            log_in(bob, Credentials("bob", "wonder"))
            _write(file, {"version": 1, "users": {"bob": both["bob"]}})
            assert alice.receive() is None
            assert bob.ask("Metadata", 12, topics=None).brokers
        assert served.gateway.counts["login_over"] == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_user_whose_password_is_changed_loses_open_connections(tmp_path: Path, mechanism: str) -> None:
    """A client that knew the former one would stay. Others stay, though the file was read again."""
    file = tmp_path / "users.json"
    kept = {name: salted("wonder") for name in ("alice", "bob")}
    _write(file, {"version": 1, "users": kept})
    with Served(users=Users.from_file(file), authorizer=allow_all) as served:
        with RawClient(served.address) as alice, RawClient(served.address) as bob:
            for client, name in ((alice, "alice"), (bob, "bob")):
                log_in(client, Credentials(name, "wonder", mechanism))
            _write(file, {"version": 1, "users": {**kept, "alice": salted("another")}})
            assert alice.receive() is None
            assert bob.ask("Metadata", 12, topics=None).brokers
        assert served.gateway.counts["login_over"] == 1
        with RawClient(served.address) as alice:
            log_in(alice, Credentials("alice", "another", mechanism))


def test_a_login_that_is_begun_again_does_not_keep_a_former_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_S", 0)
    file = tmp_path / "users.json"
    _write(file, {"version": 1, "users": {"alice": salted("wonder")}})
    login = Login(Users.from_file(file).of_connection(), 1000)
    login.handshake("PLAIN", 1)
    asyncio.run(login.step(b"\0alice\0wonder"))
    assert not login.is_removed
    _write(file, {"version": 1, "users": {"alice": salted("another")}})
    login.handshake("PLAIN", 1)
    with pytest.raises(LoginFailed, match="Invalid username or password"):
        asyncio.run(login.step(b"\0alice\0wonder"))
    assert login.is_removed


def test_a_users_file_whose_mode_is_put_right_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content has not changed since it was refused."""
    monkeypatch.setattr(files, "LOOK_S", 0)
    file = tmp_path / "users.json"
    _write(file, {"version": 1, "users": {"alice": salted("wonder")}})
    users = Users.from_file(file)
    file.chmod(0o644)
    file.write_text(json.dumps({"version": 1, "users": {"bob": salted("builder")}}))
    assert not users.has("bob")
    file.chmod(0o600)
    assert users.has("bob")
    assert not users.has("alice")


def test_a_client_logs_in_again_on_its_connection_before_its_time_is_over() -> None:
    """As the same user by the same mechanism (KIP-368)."""
    now_s = 0.0
    users = Users({"alice": "wonder", "bob": "builder"})
    login = Login(users, 1000, lambda: now_s)

    def plain(name: str, password: str) -> None:
        login.handshake("PLAIN", 1)
        asyncio.run(login.step(f"\0{name}\0{password}".encode()))

    def is_expired_at(time_s: float) -> bool:
        nonlocal now_s
        now_s = time_s
        return login.is_expired

    plain("alice", "wonder")
    assert not is_expired_at(0.9)
    plain("alice", "wonder")
    assert [is_expired_at(1.8), is_expired_at(1.9)] == [False, True]
    with pytest.raises(LoginFailed, match="chosen before"):
        login.handshake("SCRAM-SHA-256", 1)
    with pytest.raises(LoginFailed, match="belongs to another user"):
        plain("bob", "builder")
    assert login.principal == "User:alice"


@pytest.mark.slow
def test_a_request_after_the_time_of_a_login_ends_the_connection() -> None:
    users = Users({"alice": "wonder"})
    with Served(users=users, authorizer=allow_all, limits=Limits(reauth_ms=300)) as served:
        with RawClient(served.address) as client:
            log_in(client, Credentials("alice", "wonder"))
            with pytest.raises(AssertionError, match="hung up"):
                until(lambda: not client.ask("Metadata", 12, topics=None).brokers)
        assert served.gateway.counts["login_over"] == 1


def test_credentials_are_written_as_kafka_writes_them() -> None:
    made = Credential.of("SCRAM-SHA-512", "secret", 8192)
    assert Credential.parse(made.text) == made
    assert "secret" not in repr(made)
    for broken in (
        "",
        "salt=a",
        made.text.replace("8192", "10"),
        made.text.replace("8192", "100001"),
        made.text + ",more=1",
        made.text.replace("=", "", 1),
    ):
        with pytest.raises(ValueError, match=r".+"):
            Credential.parse(broken)
    with pytest.raises(ValueError, match="SCRAM-SHA-256"):
        Users({"alice": "\u0007"})
