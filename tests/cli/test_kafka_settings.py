"""What --command-config takes: files of properties as Java reads them, with Java's names."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.cli.kafka.errors import Failed
from kedge.controller.cli.kafka.options import checked_servers
from kedge.controller.cli.kafka.properties import parse_properties, read_properties, settings
from tests.kit.private import write_private
from tests.wire.certificates import Authority

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p w";'
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}


@pytest.mark.parametrize(
    "text,expected",
    [
        ("a=b", {"a": "b"}),
        ("a = b c ", {"a": "b c "}),
        ("a: b\nc d\ne", {"a": "b", "c": "d", "e": ""}),
        ("# a=b\n! c=d\n\n  \te=f", {"e": "f"}),
        ("a=b, \\\n   c", {"a": "b, c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a\\=b\\:c\\ d=e=f:g", {"a=b:c d": "e=f:g"}),
        ("a=\\u0041\\t\\q", {"a": "A\tq"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\", {"a": "b"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.slow
@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert all(isinstance(value, str) for value in parse_properties(text).values())


def test_a_file_may_be_latin_1_and_may_not_be_huge(tmp_path: Path) -> None:
    file = tmp_path / "p"
    file.write_bytes("client.id=é".encode("latin-1"))
    assert read_properties(file) == {"client.id": "é"}
    file.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(Failed, match="larger than 1 MiB"):
        read_properties(file)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "p"
    file.write_text("client.id=one\nrequest.timeout.ms=7\n", encoding="utf-8-sig")
    assert read_properties(file) == {"client.id": "one", "request.timeout.ms": "7"}


@pytest.mark.parametrize("text", ["1_0", "+1", "\uff13", "0", "1e3"])
def test_milliseconds_are_digits_alone(text: str) -> None:
    with pytest.raises(Failed, match=r"request\.timeout\.ms: expected milliseconds"):
        settings({"request.timeout.ms": text})


@pytest.mark.parametrize(
    "data, said",
    [
        (b"a=b\n\x00\x8f\x12", "line 2 is not text"),
        (b"a=b\n\xff\xfe\x93=c", "line 2 is not text"),
        ("größe=1".encode(), "'gr\\\\xf6\\\\xdfe' is not a name"),
        (b"=b", "'' is not a name"),
    ],
)
def test_what_is_no_file_of_properties_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    file = tmp_path / "p"
    file.write_bytes(data)
    with pytest.raises(Failed, match=rf"p: expected a properties file, .*{said}"):
        read_properties(file)


@pytest.mark.parametrize(
    "name, is_refused",
    [("sasl.jaas.config", True), ("ssl.key.password", True), ("ssl.truststore.certificates", False), ("a", False)],
)
def test_passwords_that_others_may_read_are_refused(tmp_path: Path, name: str, *, is_refused: bool) -> None:
    """A file without a password may be anybody's, as those that Kafka's tools take."""
    file = write_private(tmp_path / "p", f"{name}=hunter2\n")
    assert read_properties(file) == {name: "hunter2"}
    file.chmod(0o644)
    if is_refused:
        with pytest.raises(Failed, match=r"p: mode 0644 lets others read or change it; use chmod 600$"):
            read_properties(file)
    else:
        assert read_properties(file) == {name: "hunter2"}


def test_a_private_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    signed = Authority(tmp_path).sign("client")
    store = write_private(tmp_path / "both.pem", signed.key.read_text() + signed.certificate.read_text())
    found = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}
    assert settings(found)["ssl_context"]
    store.chmod(0o640)
    assert settings(found)["ssl_context"]
    store.chmod(0o644)
    with pytest.raises(Failed, match=r"^ssl\.keystore: mode 0644 lets others read or change it; use chmod 600$"):
        settings(found)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"gone: No such file"):
        read_properties(tmp_path / "gone")


def test_nothing_said_is_plain_text_with_default_times() -> None:
    assert settings({}) == {
        "security_protocol": "PLAINTEXT",
        "request_timeout_ms": 30_000,
        "bootstrap_timeout_ms": 10_000,
        "client_id": "kedge",
    }


def test_user_and_password_come_from_javas_line() -> None:
    found = settings({**SASL, "request.timeout.ms": "5"})
    assert (found["sasl_mechanism"], found["sasl_plain_username"], found["sasl_plain_password"]) == (
        "PLAIN",
        "u",
        "p w",
    )
    assert found["request_timeout_ms"] == 5
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required\n username='a\"b'  password=c\\\"d;"
    found = settings({**SASL, "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": scram})
    assert found["sasl_plain_username"] == 'a"b'


@pytest.mark.parametrize(
    "more,problem",
    [
        ({"security.protocol": "TLS"}, "security.protocol: expected one of PLAINTEXT"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms: expected milliseconds, got 'soon'"),
        ({"request.timeout.ms": "0"}, "request.timeout.ms: expected milliseconds"),
        ({"socket.connection.setup.timeout.ms": "99999999999"}, "socket.connection.setup.timeout.ms: expected"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism: expected one of PLAIN"),
        ({"sasl.jaas.config": "secret"}, "sasl.jaas.config: expected a PlainLoginModule"),
        ({"sasl.jaas.config": LOGIN.replace("password", "pass")}, "expected username and password"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/x.jks"},
            "ssl.truststore.type: expected PEM, got JKS",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "oops"}, "ssl.truststore: "),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/no/such"},
            "ssl.truststore: No such file",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.key": "x", "ssl.keystore.certificate.chain": "y"},
            "ssl.keystore: ",
        ),
    ],
)
def test_what_cannot_be_used_is_named_by_its_property(more: dict[str, str], problem: str) -> None:
    with pytest.raises(Failed) as raised:
        settings({**SASL, **more})
    assert problem in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_host_name_is_checked_unless_that_is_switched_off() -> None:
    context = settings({"security.protocol": "SSL"})["ssl_context"]
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    context = settings({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""})["ssl_context"]
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_REQUIRED)


def test_lists_of_servers_are_checked() -> None:
    assert checked_servers("a:1, [::1]:9092 ,b.c:65535") == "a:1,[::1]:9092,b.c:65535"


@pytest.mark.parametrize("given_", ["", "a", "a:", "a:0", "a:65536", "a:1,,b:2", "kafka://a:1", "a:b", "a b:1"])
def test_what_is_no_list_of_servers_is_refused(given_: str) -> None:
    with pytest.raises(ValueError, match="is not HOST:PORT"):
        checked_servers(given_)
