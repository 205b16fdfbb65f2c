"""A plain read is thrown away where the member that answered is behind what this client has seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kedge.stores.etcd.keys import Keys
from kedge.stores.etcd.reads import Reader
from kedge.stores.etcd.rpc import etcdrpc
from kedge.stores.etcd.wait import Deadline

OLD, NEW = 10, 11
KEY = "/k"


class Member:
    """A member that lags by one revision, and a connection to it. What all members agree on is of the newest one."""

    def __init__(self) -> None:
        self.closed = False
        self.asked: list[bool] = []  # whether plainly, for each request
        self.kv = SimpleNamespace(Range="Range")

    def connection(self, deadline: Deadline, doing: str) -> Member:  # noqa: ARG002 - as the session has it
        return self

    def call(self, method: str, request: Any, deadline: Deadline) -> Any:  # noqa: ARG002 - as a connection has it
        assert method == "Range"
        self.asked.append(request.serializable)
        revision = OLD if request.serializable else NEW
        kv = etcdrpc.KeyValue(key=KEY.encode(), value=str(revision).encode(), mod_revision=revision, version=1)
        return etcdrpc.RangeResponse(header=etcdrpc.ResponseHeader(revision=revision), kvs=[kv])


def read(member: Member, reader: Reader, *, sync: bool = False) -> tuple[bytes, list[bool]]:
    """The value, and how it was asked for."""
    member.asked.clear()
    entry = reader.get(KEY, Deadline(10), sync=sync)
    assert entry is not None
    return entry.value, list(member.asked)


def reader_of(member: Member, hinted: int = 0) -> Reader:
    return Reader(member, Keys(""), lambda: hinted)  # type: ignore[arg-type]


def test_a_plain_answer_is_good_enough_where_nothing_newer_was_seen() -> None:
    member = Member()
    reader = reader_of(member)
    assert read(member, reader) == (b"10", [True])
    reader.saw(OLD)
    assert read(member, reader) == (b"10", [True])


def test_a_read_is_not_older_than_a_commit_of_this_client() -> None:
    member = Member()
    reader = reader_of(member)
    reader.saw(NEW)
    reader.saw(OLD)  # an answer that comes late takes nothing back
    assert read(member, reader) == (b"11", [True, False])


def test_a_read_is_not_older_than_a_hint() -> None:
    member = Member()
    assert read(member, reader_of(member, hinted=NEW)) == (b"11", [True, False])


@pytest.mark.parametrize("sync", [True, False])
def test_reads_do_not_go_backwards(sync: bool) -> None:
    """What a read in sync has shown, the next plain one shows too."""
    member = Member()
    reader = reader_of(member)
    value, asked = read(member, reader, sync=sync)
    assert (value, asked) == ((b"11", [False]) if sync else (b"10", [True]))
    assert read(member, reader)[0] == value
