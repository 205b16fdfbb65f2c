"""What stops a move between two stores before its fence, and which controller cannot lead meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kedge.controller.codec import keys
from kedge.controller.migration import MigrationRefused
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.runtime.migration import TimedOut
from kedge.stores import ABSENT, Conflict, MemoryServer, MemoryStore, Put
from kedge.stores.base import Commit, Op
from kedge.stores.recipes import EPOCH_KEY
from tests.migration.world import STATE, Moved


def test_a_broker_that_never_registers_ends_it_in_time_and_nothing_is_fenced() -> None:
    moved = Moved(brokers=(1, 2, 4, 5))
    with pytest.raises(TimedOut, match=r"\[3\]"):
        moved.migration().run(5)
    assert moved.controllers[0].is_active
    assert not moved.next.is_active
    moved.next.register_broker(BrokerRegistration(3, rack="a"))
    assert moved.migration().run(5) == ()
    moved.take_over()


def test_a_new_store_that_is_not_empty_is_refused_and_nothing_is_written() -> None:
    moved = Moved()
    moved.there.commit([Put("/something", b"else", ABSENT)], timeout_s=1)
    before = moved.values(moved.server), moved.values(moved.to)
    with pytest.raises(MigrationRefused, match="TO is not empty"):
        moved.migration().run(0)
    assert (moved.values(moved.server), moved.values(moved.to)) == before


def test_an_old_store_without_a_cluster_is_refused() -> None:
    moved = Moved()
    empty = MemoryStore(MemoryServer())
    with pytest.raises(MigrationRefused, match="holds no cluster"):
        moved.migration(source=empty).run(0)
    assert moved.values(moved.to) == {}


def test_value_over_the_new_stores_limit_is_reported_before_anything_is_written() -> None:
    to = MemoryServer(value_bytes_max=2_000)
    moved = Moved(to=to)
    moved.put("/config/users/big", {"version": 1, "config": {"x": "y" * 3_000}})
    with pytest.raises(MigrationRefused, match=r"/config/users/big: 30\d\d bytes, TO takes 2000"):
        moved.migration().run(0)
    assert moved.values(to) == {}
    assert keys.MIGRATION not in moved.values(moved.server)


def test_unreadable_state_key_is_reported_before_anything_is_written() -> None:
    """Its leader epoch could not be raised, and its brokers would obey none of the new store's."""
    moved = Moved()
    moved.put(STATE, b"{broken")
    with pytest.raises(MigrationRefused, match=f"{STATE} cannot be read"):
        moved.migration().run(0)
    assert moved.values(moved.to) == {}


@pytest.mark.parametrize("value", [b"not json", b"{}", b'{"version":2,"side":"to","phase":"moved"}'])
def test_broken_marker_is_refused_on_both_sides_without_a_leader(value: bytes) -> None:
    moved = Moved()
    moved.put(keys.MIGRATION, value)
    with pytest.raises(MigrationRefused, match=f"{keys.MIGRATION} of FROM cannot be read"):
        moved.migration().run(0)
    moved.delete(keys.MIGRATION)
    moved.there.commit([Put(keys.MIGRATION, value, ABSENT), Put(EPOCH_KEY, b"7", ABSENT)], timeout_s=1)
    with pytest.raises(MigrationRefused, match=f"{keys.MIGRATION} of TO cannot be read"):
        moved.migration().run(0)
    moved.wait(500)
    assert not moved.next.is_active
    assert "cannot be read" in moved.next.describe().findings[keys.MIGRATION]


def test_two_moves_of_one_cluster_to_two_stores_do_not_run_at_once() -> None:
    moved = Moved(brokers=())
    with pytest.raises(TimedOut):
        moved.migration().run(0)
    with pytest.raises(MigrationRefused, match="FROM is moving to memory:to"):
        moved.migration(target=MemoryStore(MemoryServer())).run(0)


def test_a_store_that_a_cluster_was_moved_away_from_is_no_new_store() -> None:
    moved = Moved()
    moved.migration().run(0)
    with pytest.raises(MigrationRefused, match="TO was itself moved to"):
        moved.migration(source=other_cluster(), target=MemoryStore(moved.server)).run(0)


def other_cluster() -> MemoryStore:
    """Nothing but an epoch."""
    store = MemoryStore(MemoryServer())
    store.commit([Put(EPOCH_KEY, b"3", ABSENT)], timeout_s=1)
    return store


def test_unfinished_copy_is_not_moved_on() -> None:
    """Its leader epochs are not raised: the next store would not know that they must be."""
    moved = Moved()
    moved.migration().run(0)
    with pytest.raises(MigrationRefused, match="no controller has taken over yet"):
        moved.migration(source=moved.there, target=MemoryStore(MemoryServer())).run(0)


def test_half_done_copy_has_no_leader() -> None:
    """Also not a controller that awaits nothing: /controller of the new store is held from the first write on."""
    moved = Moved(brokers=())
    with pytest.raises(TimedOut):
        moved.migration().run(0)
    eager = moved.another(2, MemoryStore(moved.to))
    moved.wait(500)
    assert not eager.is_active
    assert not moved.next.is_active
    assert "being copied from memory:from" in eager.describe().findings[keys.MIGRATION]


def test_a_controller_that_awaits_a_cluster_begins_none() -> None:
    """Brokers may be registered with it all the same; once there is a cluster it leads as any other."""
    moved = Moved(brokers=(1,))
    moved.wait(500)
    assert not moved.next.is_active
    assert moved.values(moved.to) == {}
    assert "awaits" in moved.next.describe().findings[EPOCH_KEY]


def test_write_to_the_new_store_stops_the_migration_before_the_fence() -> None:
    """What a copy overwrote of another client is never known; it is reported, and nothing is fenced."""
    moved = Moved()
    with pytest.raises(Conflict):
        moved.migration(target=Spoiled(moved.to)).run(0)
    assert moved.controllers[0].is_active


class Spoiled(MemoryStore):
    """A store in which another client writes a key just before each commit."""

    written = 0

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        entry = self.get("/config/topics/t", timeout_s=1)
        self.written += 1
        at = ABSENT if entry is None else entry.version
        super().commit([Put("/config/topics/t", b"%d" % self.written, at)], timeout_s=1)
        return super().commit(ops, timeout_s=timeout_s)


def test_of_two_runs_at_a_time_the_later_one_goes_on_and_the_earlier_one_ends() -> None:
    """What the earlier one read is old by then: not one commit of it arrives."""
    moved = Moved()
    store = Overtaken(moved.to)
    store.overtake = lambda: moved.migration().run(0)
    with pytest.raises(MigrationRefused, match="another run of this migration has begun"):
        moved.migration(target=store).run(0)
    assert moved.migration().verify().differing == ()
    moved.take_over()


class Overtaken(MemoryStore):
    """A store in which something happens before the first commit that copies a topic."""

    overtake: Callable[[], object] | None = None

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        if self.overtake is not None and any(op.key == keys.topic("t") for op in ops):
            overtake, self.overtake = self.overtake, None
            overtake()
        return super().commit(ops, timeout_s=timeout_s)
