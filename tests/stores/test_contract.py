"""What the contract says of values and errors, and what the suite of the backends does not decide."""

from __future__ import annotations

import pytest

import kedge.stores
from kedge.stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Delete,
    Invalid,
    InvalidKey,
    MemoryStore,
    Op,
    OutcomeUnknown,
    Put,
    SessionExpired,
    StoreError,
    TooLarge,
    Unavailable,
    Version,
    open_store,
)
from kedge.stores.checks import OP_BYTES_FIXED, below, check_key, check_ops, op_bytes, parent
from kedge.stores.suite.backend import get, put


def test_public_names_are_all_there() -> None:
    assert all(hasattr(kedge.stores, name) for name in kedge.stores.__all__)
    assert len(set(kedge.stores.__all__)) == len(kedge.stores.__all__)


def test_error_names_a_key_that_is_a_text() -> None:
    for key in ("//a", 7):
        with pytest.raises(InvalidKey) as caught:
            check_key(key)  # type: ignore[arg-type]
        assert caught.value.key == (key if isinstance(key, str) else None)


def test_root_is_above_all_keys() -> None:
    assert (below("/"), below("/a"), parent("/a"), parent("/a/b")) == ("/", "/a/", "/", "/a")


def test_bytes_of_a_commit_are_counted_by_key_and_value() -> None:
    """As `check_ops` adds them up."""
    ops: list[Op] = [Put("/abc", b"12345", ABSENT), Check("/d", PRESENT), Delete("/abcd", PRESENT)]
    assert [op_bytes(op) - OP_BYTES_FIXED for op in ops] == [9, 2, 5]
    size = sum(op_bytes(op) for op in ops)
    check_ops(ops, MemoryStore(commit_bytes_max=size).capabilities)
    with pytest.raises(TooLarge, match=f"{size} bytes"):
        check_ops(ops, MemoryStore(commit_bytes_max=size - 1).capabilities)


@pytest.mark.parametrize(
    "ops, error",
    [
        ([Put("/a", b"1234567", ABSENT)], TooLarge),
        ([Put("/a", "text", ABSENT)], Invalid),  # type: ignore[arg-type]
        ([Put("/a", b"", Version(0))], Invalid),
        ([Delete("/a", ABSENT)], Invalid),
        ([Put("/b/", b"", ABSENT)], InvalidKey),
        ([Put(["/a"], b"", ABSENT)], InvalidKey),  # type: ignore[arg-type]
        ([Check("/a", PRESENT), Check("/b", Version(1)), Put("/b", b"", PRESENT)], Invalid),
    ],
)
def test_keys_that_are_known_are_not_checked_again(ops: list[Op], error: type[StoreError]) -> None:
    """Everything else of an op is; the key is named."""
    capabilities = MemoryStore(value_bytes_max=6).capabilities
    check_ops([Put("/a", b"123456", ABSENT)], capabilities, {"/a"})
    with pytest.raises(error) as caught:
        check_ops(ops, capabilities, {"/a"})
    assert caught.value.key == (ops[-1].key if isinstance(ops[-1].key, str) else None)


def test_errors_say_whether_something_was_applied() -> None:
    """Only OutcomeUnknown leaves it open; only Unavailable may be tried again just so; builtins catch their kind."""
    assert (OutcomeUnknown("x").applied, OutcomeUnknown("x").retryable) == ("unknown", False)
    assert (Unavailable("x").applied, Unavailable("x").retryable) == ("no", True)
    assert SessionExpired("x").applied == "no"
    assert issubclass(Unavailable, ConnectionError)
    assert issubclass(OutcomeUnknown, TimeoutError)
    assert issubclass(Invalid, ValueError)
    assert all(issubclass(kind, StoreError) for kind in (Conflict, TooLarge, InvalidKey))
    assert (repr(ABSENT), repr(PRESENT)) == ("ABSENT", "PRESENT")


def test_memory_url_opens_a_store_of_its_own() -> None:
    one, two = open_store("memory:"), open_store("memory:")
    put(one, "/a")
    assert get(two, "/a") is None


@pytest.mark.parametrize("url", ["", "memory", "zk:localhost", "MEMORY:", "/path", "etdc://h:1"])
def test_unknown_scheme_names_the_known_ones(url: str) -> None:
    with pytest.raises(Invalid, match="memory:"):
        open_store(url)
