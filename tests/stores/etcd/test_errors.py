from __future__ import annotations

import grpc
import pytest

from kedge.stores import Invalid, OutcomeUnknown, SessionExpired, StoreError, TooLarge, Unauthorized, Unavailable
from kedge.stores.etcd.errors import COMPACTED, STALE_TOKEN, TABLE, not_connected, translate


class RpcError(grpc.RpcError):  # type: ignore[misc]
    """As gRPC raises it: with a code and a text."""

    def __init__(self, code: grpc.StatusCode, text: str | None) -> None:
        super().__init__()
        self._code, self._text = code, text

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str | None:
        return self._text


CODES = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
# Codes under which etcd, or gRPC's server, refuses before it does anything, whatever the text.
REFUSED = {"UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"}


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
@pytest.mark.parametrize("text", [None, "", "what nobody has seen before\nin two lines"])
def test_every_code_has_a_meaning_and_what_is_not_known_may_have_been_applied(
    code: grpc.StatusCode, text: str | None
) -> None:
    error = translate(RpcError(code, text), "commit", key="/a")
    assert error.applied == ("no" if code.name in REFUSED else "unknown")
    assert isinstance(error, OutcomeUnknown) is (code.name not in REFUSED)
    assert (error.key, code.name in str(error)) == ("/a", True)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "code,text,kind",
    [
        ("NOT_FOUND", "etcdserver: requested lease not found", SessionExpired),
        ("NOT_FOUND", "etcdserver: member not found", OutcomeUnknown),
        ("INVALID_ARGUMENT", "etcdserver: authentication failed, invalid user ID or password", Unauthorized),
        ("INVALID_ARGUMENT", "etcdserver: request is too large", TooLarge),
        ("INVALID_ARGUMENT", "etcdserver: too many operations in txn request", TooLarge),
        ("INVALID_ARGUMENT", "etcdserver: duplicate key given in txn request", Invalid),
        ("INVALID_ARGUMENT", "etcdserver: revision of auth store is old", Unauthorized),
        ("UNAUTHENTICATED", "etcdserver: invalid auth token", Unauthorized),
        ("UNKNOWN", "etcdserver: invalid auth token", OutcomeUnknown),
        ("PERMISSION_DENIED", "etcdserver: permission denied", Unauthorized),
        ("FAILED_PRECONDITION", "etcdserver: authentication is not enabled", Unauthorized),
        ("RESOURCE_EXHAUSTED", "etcdserver: too many requests", Unavailable),
        ("RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded", OutcomeUnknown),
        ("UNAVAILABLE", "etcdserver: no leader", Unavailable),
        ("UNAVAILABLE", "etcdserver: leader changed", OutcomeUnknown),
        ("UNAVAILABLE", "etcdserver: request timed out", OutcomeUnknown),
        ("UNAVAILABLE", "failed to connect to all addresses; last error: refused", Unavailable),
        ("UNAVAILABLE", "Socket closed", OutcomeUnknown),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", OutcomeUnknown),
        ("CANCELLED", "Channel closed!", OutcomeUnknown),
    ],
)
def test_what_etcd_says(code: str, text: str, kind: type[StoreError]) -> None:
    assert type(translate(RpcError(grpc.StatusCode[code], text), "commit")) is kind


def test_the_table_names_codes_that_there_are() -> None:
    """A name that gRPC does not have would never be found, and its errors be unknown."""
    assert set(TABLE) | {code for code, _ in (*STALE_TOKEN, COMPACTED)} <= {code.name for code in CODES}


def test_own_errors_stay_and_foreign_ones_are_unknown() -> None:
    assert isinstance(translate(RuntimeError("odd"), "commit"), OutcomeUnknown)
    error = Invalid("ours")
    assert translate(error, "commit") is error
    assert not_connected(error, "connecting", "etcd://h") is error


def test_who_got_no_connection_sent_nothing() -> None:
    """Unavailable, whatever the attempt failed with, unless it was the login."""
    late = RpcError(grpc.StatusCode.DEADLINE_EXCEEDED, "late")
    assert type(not_connected(late, "get", "etcd://h:1")) is Unavailable
    assert type(not_connected(None, "get", "etcd://h:1")) is Unavailable
    wrong = RpcError(grpc.StatusCode.INVALID_ARGUMENT, "authentication failed")
    assert type(not_connected(wrong, "get", "etcd://h:1")) is Unauthorized
