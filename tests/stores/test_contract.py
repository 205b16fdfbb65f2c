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
from kedge.stores.checks import OP_BYTES_FIXED, below, check_key, check_ops, check_prefix, op_bytes, parent


def test_public_names_are_all_there() -> None:
    """Every name in __all__ can be imported, and the names are sorted."""
    assert all(hasattr(kedge.stores, name) for name in kedge.stores.__all__)
    assert len(set(kedge.stores.__all__)) == len(kedge.stores.__all__)


@pytest.mark.parametrize("key", ["/a", "/a/b-c_d.e", "/config/brokers/<default>", "/..a", "/a../b", "/.a/.b"])
def test_good_keys(key: str) -> None:
    """Dots are fine inside a segment."""
    check_key(key)


@pytest.mark.parametrize("key", ["", "/", "a", "/a/", "//a", "/a//b", "/.", "/..", "/a/./b", "/a/../b", "/a b", 7])
def test_bad_keys(key: object) -> None:
    """What is no key is refused with the key in the error, where it is a text."""
    with pytest.raises(InvalidKey) as caught:
        check_key(key)  # type: ignore[arg-type]
    assert caught.value.key == (key if isinstance(key, str) else None)


def test_paths() -> None:
    """The root is the parent of a key of one segment, and everything is below it."""
    check_prefix("/")
    assert (below("/"), below("/a")) == ("/", "/a/")
    assert (parent("/a"), parent("/a/b")) == ("/", "/a")


def test_bytes_of_a_commit_are_counted_by_key_and_value() -> None:
    """op_bytes is a fixed part, the key and the value, and check_ops adds up the same."""
    put = Put("/abc", b"12345", ABSENT)
    assert op_bytes(put) == OP_BYTES_FIXED + 9
    assert op_bytes(Check("/abc", PRESENT)) == op_bytes(Delete("/abc", PRESENT)) == OP_BYTES_FIXED + 4
    ops: list[Op] = [put, Check("/d", PRESENT)]
    size = sum(op_bytes(op) for op in ops)
    check_ops(ops, MemoryStore(commit_bytes_max=size).capabilities)
    with pytest.raises(TooLarge, match=f"{size} bytes"):
        check_ops(ops, MemoryStore(commit_bytes_max=size - 1).capabilities)


def test_duplicates_name_the_key() -> None:
    """Of duplicate keys the error names the one that stands there twice."""
    with pytest.raises(Invalid) as caught:
        check_ops([Check("/a", PRESENT), Check("/b", Version(1)), Put("/b", b"", PRESENT)], MemoryStore().capabilities)
    assert caught.value.key == "/b"


@pytest.mark.parametrize(
    "op, error",
    [
        (Put("/a", b"1234567", ABSENT), TooLarge),
        (Put("/a", "text", ABSENT), Invalid),  # type: ignore[arg-type]
        (Put("/a", b"", Version(0)), Invalid),
        (Delete("/a", ABSENT), Invalid),
        (Put("/b/", b"", ABSENT), InvalidKey),
        (Put(["/a"], b"", ABSENT), InvalidKey),  # type: ignore[arg-type]
    ],
)
def test_of_an_op_on_a_key_that_was_checked_before_all_but_the_key_is_checked(op: Op, error: type[StoreError]) -> None:
    """The keys that a server holds are good; what is to be written there may be anything."""
    capabilities = MemoryStore(value_bytes_max=6).capabilities
    check_ops([Put("/a", b"123456", ABSENT)], capabilities, {"/a"})
    with pytest.raises(error):
        check_ops([op], capabilities, {"/a"})


def test_errors_say_whether_something_was_applied() -> None:
    """Only OutcomeUnknown leaves it open; only Unavailable may be tried again just so; builtins catch their kind."""
    assert (OutcomeUnknown("x").applied, OutcomeUnknown("x").retryable) == ("unknown", False)
    assert (Unavailable("x").applied, Unavailable("x").retryable) == ("no", True)
    assert SessionExpired("x").applied == "no"
    assert issubclass(Unavailable, ConnectionError)
    assert issubclass(OutcomeUnknown, TimeoutError)
    assert issubclass(Invalid, ValueError)
    assert all(issubclass(kind, StoreError) for kind in (Conflict, TooLarge, InvalidKey))


def test_expectations_read_as_words() -> None:
    """An expectation shows its name in messages."""
    assert (repr(ABSENT), repr(PRESENT)) == ("ABSENT", "PRESENT")


def test_open_store_in_memory() -> None:
    """A store of its own is opened each time by "memory:", which names no file."""
    one, two = open_store("memory:"), open_store("memory:")
    one.commit([Put("/a", b"1", ABSENT)], timeout_s=1)
    assert two.get("/a", timeout_s=1) is None


@pytest.mark.parametrize("url", ["", "memory", "zk:localhost", "MEMORY:", "/path", "etdc://h:1"])
def test_open_store_names_the_schemes_it_knows(url: str) -> None:
    """An unknown scheme is Invalid, and the error says which are known."""
    with pytest.raises(Invalid, match="memory:"):
        open_store(url)
