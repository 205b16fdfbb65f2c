"""What a client reads from a member that lags behind, and reports of its lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from kedge.stores import (
    ABSENT,
    Conflict,
    Depth,
    Invalid,
    MetadataStore,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    open_store,
)
from kedge.stores.etcd.store import EtcdStore
from tests.stores.etcd.member import KEY, Member
from tests.stores.kit import CALL_S

NAME = KEY.decode()
MANY = [NAME, *(f"{NAME}/{number:03}" for number in range(200))]


@pytest.fixture
def member() -> Iterator[Member]:
    with closing(Member()) as made:
        yield made


@pytest.fixture
def store(member: Member) -> Iterator[MetadataStore]:
    with closing(open_store(f"etcd://127.0.0.1:{member.port}")) as opened:
        yield opened


def read(store: MetadataStore, *, sync: bool = False) -> bytes:
    entry = store.get(NAME, sync=sync, timeout_s=CALL_S)
    assert entry is not None
    return entry.value


def committed(store: MetadataStore, _: Member) -> None:
    store.commit([Put(NAME, b"11", ABSENT)], timeout_s=CALL_S)


def refused(store: MetadataStore, member: Member) -> None:
    """A caller that reads the key after a Conflict would otherwise decide on the old value."""
    member.refuses = True
    with pytest.raises(Conflict):
        committed(store, member)


def read_in_sync(store: MetadataStore, _: Member) -> None:
    assert read(store, sync=True) == b"11"


def hinted(store: MetadataStore, _: Member) -> None:
    assert isinstance(store, EtcdStore)
    store._watches.revision = 11  # noqa: SLF001 - no member sends a hint at will


@pytest.mark.parametrize("learn", [committed, refused, read_in_sync, hinted])
def test_read_is_never_behind_what_the_client_knows(
    store: MetadataStore, member: Member, learn: Callable[[MetadataStore, Member], None]
) -> None:
    """An older answer is thrown away; before, it is good enough, which is why plain reads are fast."""
    assert read(store) == b"10"
    learn(store, member)
    member.plain.clear()
    assert read(store) == b"11"
    assert member.plain == [True, False]


@pytest.mark.parametrize(
    "values",
    [
        lambda store: [entry and entry.value for entry in store.get_many([NAME, "/none"], timeout_s=CALL_S)],
        lambda store: store.get_columns([NAME, "/none"], timeout_s=CALL_S).values,
        lambda store: store.get_columns(MANY, timeout_s=CALL_S).values[:2],
        lambda store: [*(entry.value for entry in store.snapshot("/", timeout_s=CALL_S).entries), None],
    ],
    ids=["get_many", "get_columns", "many keys", "snapshot"],
)
def test_each_way_to_read_shows_an_own_commit(
    store: MetadataStore, member: Member, values: Callable[[MetadataStore], list[bytes | None]]
) -> None:
    assert values(store) == [b"10", None]
    committed(store, member)
    assert values(store) == [b"11", None]


def test_a_lease_that_is_gone_is_lost_and_another_one_is_begun(store: MetadataStore, member: Member) -> None:
    """In this order, under the ids of both; then all is to be read again."""
    stream = store.subscribe("/a", Depth.SELF)
    assert store.session.session_id == member.lease == 7
    member.lease = 100  # the server has ended it
    assert isinstance(store, EtcdStore)
    store._session.look_now()  # noqa: SLF001 - as after a call that was refused; else it is a third of a session
    assert [stream.poll(CALL_S) for _ in range(3)] == [
        SessionChanged(SessionState.LOST, 7),
        SessionChanged(SessionState.STARTED, 101),
        Resync("/a", "session"),
    ]
    assert store.session.session_id == 101


def test_root_without_keys_is_not_opened_for_reading(member: Member) -> None:
    """A wrong prefix would look like a cluster without keys."""
    with pytest.raises(Invalid, match="no key is there"):
        open_store(f"etcd://127.0.0.1:{member.port}/elsewhere", read_only=True)
