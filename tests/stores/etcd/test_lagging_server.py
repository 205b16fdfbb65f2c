"""What a client has committed, or was refused, it reads, though the member that answers lags behind.

The member is a server in this process.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kedge.stores import ABSENT, Conflict, MetadataStore, Put
from tests.stores.etcd.member import CALL_S, KEY, Member, connected, running


@pytest.fixture
def member() -> Iterator[Member]:
    with running() as made:
        yield made


@pytest.fixture
def store(member: Member) -> Iterator[MetadataStore]:
    with connected(member) as opened:
        yield opened


def value(store: MetadataStore) -> bytes:
    entry = store.get(KEY, timeout_s=CALL_S)
    assert entry is not None
    return entry.value


def test_a_read_is_not_older_than_a_commit_of_this_client(store: MetadataStore) -> None:
    assert value(store) == b"10"
    store.commit([Put(KEY, b"11", ABSENT)], timeout_s=CALL_S)
    assert value(store) == b"11"


def test_a_read_is_not_older_than_the_refusal_of_a_commit(store: MetadataStore, member: Member) -> None:
    """What made it fail is to be seen: a caller that reads the key after a Conflict would decide on the old value."""
    assert value(store) == b"10"
    member.refuses = True
    with pytest.raises(Conflict):
        store.commit([Put(KEY, b"ours", ABSENT)], timeout_s=CALL_S)
    assert value(store) == b"11"
