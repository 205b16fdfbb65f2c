"""Stores between which a cluster cannot be moved: the error says why, and nothing is written."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count

import pytest

from kedge import Controller
from kedge.controller.codec import keys
from kedge.controller.codec.migration import Marker, encode_marker
from kedge.controller.codec.orders import FORMAT_KEY
from kedge.controller.runtime.migration import Migration
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, PRESENT, Conflict, Delete, Invalid, MetadataStore, Put, StoreError, TooLarge
from kedge.stores.faults import Fault, FaultStore, LoseReply, at_commit
from kedge.stores.faults.plan import Call
from tests.migration.sites import NAMES, Site, migration, move
from tests.runtime.world import Brokers

STATE = keys.state("t", 0)


def write(site: Site, key: str, value: bytes) -> None:
    with closing(site.open()) as store:
        store.commit([Put(key, value, ABSENT if store.get(key, timeout_s=1) is None else PRESENT)], timeout_s=1)


def mark(key: str, other: str, *, is_moved: bool) -> bytes:
    return encode_marker(Marker(key, other, is_moved=is_moved))


@pytest.mark.parametrize(
    "side, key, value, said",
    [
        ("to", "/any", b"1", "TO: the store is not empty"),
        ("from", keys.MIGRATION, mark("m", "etcd://b", is_moved=True), "FROM: the cluster was moved to etcd://b"),
        ("from", keys.MIGRATION, mark("m", "etcd://b", is_moved=False), "FROM: here is an unfinished copy of etcd://b"),
        ("to", keys.MIGRATION, mark("m", "etcd://b", is_moved=True), "TO: the cluster was moved to etcd://b"),
        ("to", keys.MIGRATION, mark("m", "etcd://b", is_moved=False), "TO: here is an unfinished copy of etcd://b"),
        ("from", keys.MIGRATION, b"{", "FROM: /kedge/migration cannot be read"),
        ("to", keys.MIGRATION, b"{}", "TO: /kedge/migration cannot be read"),
    ],
)
def test_store_in_another_use_is_refused(  # noqa: PLR0917 - the parameters of the case
    source: Site, target: Site, side: str, key: str, value: bytes, said: str
) -> None:
    write(source if side == "from" else target, key, value)
    before = source.entries(), target.entries()
    with pytest.raises(Invalid, match=said):
        move(source, target)
    assert (source.entries(), target.entries()) == before


@pytest.mark.parametrize(
    "side, said",
    [("FROM", "FROM: controller 7 leads there: close every controller"), ("TO", "TO: the store is not empty")],
)
def test_live_controller_is_refused(source: Site, target: Site, side: str, said: str) -> None:
    led = source if side == "FROM" else target
    with closing(led.open()) as store:
        controller = Controller(store, 7, Brokers())
        while not controller.is_active:
            controller.poll_once()
        before = source.entries(), target.entries()
        with pytest.raises(Invalid, match=said):
            move(source, target)
        assert (source.entries(), target.entries()) == before
        controller.close()


def test_store_that_another_run_holds_is_refused(source: Site, target: Site) -> None:
    """Such as one that was killed, and whose session lives on for a while."""
    with closing(source.open()) as here, closing(target.open()) as there:
        losing = FaultStore(there)
        losing.play(at_commit(1, LoseReply()))
        killed = migration(here, losing)
        killed.check()
        with pytest.raises(StoreError):
            killed.run()
        with pytest.raises(Invalid, match="FROM: another `kedge store migrate` holds /controller, or one that was kil"):
            move(source, target)
    assert move(source, target) > 0


@pytest.mark.parametrize(
    "key, value, error, said",
    [
        (
            keys.config("users", "big"),
            b"y" * 3_000,
            TooLarge,
            "/config/users/big: a value of 3000 bytes exceeds",
        ),
        (STATE, b"{broken", Invalid, f"leader epochs that cannot be raised: {STATE}: not JSON"),
        (FORMAT_KEY, b'{"min_controller":9}', Invalid, "FROM needs a controller of version 9, and this is"),
        (FORMAT_KEY, b"{", Invalid, "FROM: /kedge/format cannot be read"),
        (f"/copy{keys.MIGRATION}", b"{}", Invalid, f"TO is below FROM, which has /copy{keys.MIGRATION}"),
    ],
)
def test_key_that_cannot_be_moved_is_named_before_the_copy(  # noqa: PLR0917 - the parameters of the case
    source: Site, target: Site, key: str, value: bytes, error: type[StoreError], said: str
) -> None:
    write(source, key, value)
    with pytest.raises(error, match=said):
        move(source, target)
    assert target.entries() == {}
    assert keys.MIGRATION not in source.values()


# --- others act while it copies


@contextmanager
def meddled(source: Site, target: Site, act: Callable[[MetadataStore], object]) -> Iterator[Migration]:
    """A checked migration; `act` is called before each commit to the target that writes STATE, with the session of the
    migration at the source."""

    def plan(call: Call, _: random.Random) -> list[Fault]:
        if call.name == "commit" and STATE in call.keys:
            act(here)
        return []

    with closing(source.open()) as here, closing(target.open()) as there:
        run = migration(here, FaultStore(there, plan))
        run.check()
        yield run


def test_key_that_is_written_meanwhile_is_copied(source: Site, target: Site) -> None:
    with meddled(source, target, lambda _: write(source, "/late", b"1")) as run:
        run.run()
    assert target.values()["/late"] == b"1"


def test_key_that_is_deleted_meanwhile_is_not_left_behind(source: Site, target: Site) -> None:
    for key in ("/brief", "/brief/below"):
        write(source, key, b"1")

    def act(here: MetadataStore) -> None:
        here.commit([Delete("/brief/below", PRESENT), Delete("/brief", PRESENT)], timeout_s=1)

    with meddled(source, target, act) as run:
        run.run()
    assert not [key for key in target.values() if key.startswith("/brief")]


def test_former_store_that_is_written_again_and_again_is_given_up(source: Site, target: Site) -> None:
    numbers = count()

    def act(_: MetadataStore) -> None:
        write(source, STATE, json.dumps({**state, "n": next(numbers)}).encode())

    state = json.loads(source.values()[STATE])

    with (
        meddled(source, target, act) as run,
        pytest.raises(StoreError, match="FROM or TO was written by others in each of 5 rounds"),
    ):
        run.run()
    assert source.refusal() is None


def test_controller_that_takes_the_former_store_over_keeps_the_cluster(source: Site, target: Site) -> None:
    """The session of the command ended while it copied: it can no longer mark the store as moved."""

    def act(here: MetadataStore) -> None:
        assert isinstance(here, MemoryStore)
        here.server.expire(here.session.session_id)
        assert source.refusal() is None

    with meddled(source, target, act) as run, pytest.raises(Conflict):
        run.run()
    assert source.refusal() is None
    assert f"unfinished copy of {NAMES[0]}" in (target.refusal() or "")


def test_former_store_is_marked_only_after_the_new_one_is_saved(source: Site, target: Site) -> None:
    """As with files, which are written when their stores are closed."""

    def save(_: MetadataStore) -> None:
        raise OSError("no space left on device")

    with closing(source.open()) as here, closing(target.open()) as there:
        run = migration(here, there, save=save)
        run.check()
        with pytest.raises(OSError, match="no space left"):
            run.run()
    assert source.refusal() is None
    assert "unfinished copy" in (target.refusal() or "")


def test_run_that_another_one_overtook_changes_nothing(source: Site, target: Site) -> None:
    """It had checked both stores before."""
    with closing(source.open()) as here, closing(target.open()) as there:
        late = migration(here, there)
        late.check()
        move(source, target)
        before = target.entries()
        with pytest.raises(Conflict, match=keys.MIGRATION):
            late.run()
        assert target.entries() == before
