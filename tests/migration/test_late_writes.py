"""What comes between the last check of a move and its fence, and the last scan, which sees it."""

from __future__ import annotations

import re

import attrs
import pytest

from kedge import NewPartitions
from kedge.controller.codec import keys
from kedge.controller.migration import MigrationRefused, scan
from kedge.controller.runtime.migration.reading import entries_of
from kedge.controller.runtime.migration.rescan import Rescan
from kedge.stores import ABSENT, MemoryServer, MemoryStore, Put
from kedge.stores.base import Capabilities
from tests.migration.world import LEFT, STATE, Late, Moved


@pytest.mark.parametrize(
    "key, value, said",
    [
        ("/config/users/big", b"y" * 3_000, "/config/users/big: 3000 bytes, TO takes 2000"),
        (STATE, b"{broken", f"{STATE} cannot be read"),
        (keys.topic("u"), b"{}", f"{keys.topic('u')} cannot be read"),
    ],
)
def test_what_cannot_be_moved_and_is_found_under_the_fence_takes_the_fence_back(
    key: str, value: bytes, said: str
) -> None:
    """The old store is led again, under a higher epoch; once it is mended, the move is run again."""
    moved = Moved(to=MemoryServer(value_bytes_max=2_000))
    before, epoch = moved.of(moved.server).get(key), moved.controllers[0].controller_epoch
    store = Late(moved.server)
    store.late = key, value
    with pytest.raises(MigrationRefused, match=f"{re.escape(said)}.*FROM is led again"):
        moved.migration(store).run(0)
    moved.wait(1000)
    assert moved.controllers[0].is_active
    assert not moved.next.is_active
    assert epoch is not None
    assert (moved.controllers[0].controller_epoch or 0) > epoch + 1
    if before is None:
        moved.delete(key)
    else:
        moved.put(key, before.value)
    moved.run()
    assert moved.migration().run(0) == ()
    moved.take_over()


def test_a_move_whose_fence_was_taken_back_may_be_aborted() -> None:
    """Neither store holds anything of it, though it had come as far as the seal before."""
    moved = Moved(to=MemoryServer(value_bytes_max=2_000))
    store = Late(moved.server)
    store.late = "/config/users/big", b"y" * 3_000
    with pytest.raises(MigrationRefused, match="FROM is led again"):
        moved.migration(store).run(0)
    moved.put(keys.migration_seal(1), b"of a run that died")
    moved.there.commit([Put(keys.admitted(LEFT), b"{}", ABSENT)], timeout_s=1)
    moved.migration().abort()
    assert moved.values(moved.to) == {}
    assert not [key for key in moved.values(moved.server) if key.startswith(keys.MIGRATION)]


# --- the last scan by what is known


class Walked(MemoryStore):
    """A store whose snapshots are no instant."""

    @property
    def capabilities(self) -> Capabilities:
        return attrs.evolve(super().capabilities, atomic_snapshot=False)


def test_what_is_read_again_by_its_paths_is_what_stands() -> None:
    """Whatever came, changed and went meanwhile: topics, partitions, states, settings, and keys elsewhere."""
    moved = Moved()
    moved.create("brief", (1, 2))
    store = Walked(moved.server)
    again = Rescan(store)
    again.taken(entries_of(store))
    assert scan(again.entries()) == scan(entries_of(store))
    moved.create("late", (1, 2), **{"retention.ms": "8"})
    moved.delete_topic("brief")
    moved.done(moved.controller.admin.create_partitions({"u": NewPartitions(3, [(1, 2)])}).all())
    moved.put("/config/users/late", {"version": 1, "config": {}})
    moved.put("/elsewhere", b"1")
    moved.put("/elsewhere/below", b"2")
    moved.delete("/config/topics/t")
    found = scan(again.entries())
    assert found == scan(entries_of(store))
    assert {keys.topic("late"), keys.state("u", 2), "/elsewhere/below"} <= found.keys()
    assert keys.topic("brief") not in found


def test_a_state_key_that_comes_to_be_after_the_last_scan_is_seen_by_its_topic() -> None:
    """The topic's own key says nothing new: which states may be there is known from it."""
    moved = Moved()
    store = Walked(moved.server)
    known = moved.of(moved.server)[STATE].value
    moved.delete(STATE)
    again = Rescan(store)
    assert STATE not in again.taken(entries_of(store))
    moved.put(STATE, known)
    assert STATE in scan(again.entries())


def test_a_store_that_is_walked_is_moved_as_any_other() -> None:
    """What only another client writes below a known topic, just before the fence, is reported as a foreign write."""
    moved = Moved()
    stray = f"{keys.topic('t')}/stray"

    class LateAndWalked(Late, Walked):
        pass

    store = LateAndWalked(moved.server)
    store.late = stray, b"{}"
    assert moved.migration(store).run(0) == ((stray, "created"),)
    moved.take_over()
