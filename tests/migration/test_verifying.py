"""What a move would do, and what others did to either store after its fence."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from kedge.controller.migration import MigrationRefused, Stage
from kedge.stores import ABSENT, Delete, Put
from tests.migration.world import STATE, Moved, cluster_of


def test_a_plan_says_what_there_is_to_do_and_writes_nothing() -> None:
    moved = Moved(brokers=(1, 2))
    before = cluster_of(moved.server), moved.values(moved.to)
    plan = moved.migration().plan()
    assert (plan.stage, plan.topics, plan.partitions, plan.moves) == (Stage.NEW, 2, 5, 1)
    assert (plan.live, plan.missing, plan.controller_id) == ((1, 2, 3, 4, 5), (3, 4, 5), 1)
    assert plan.changes == plan.keys > 8
    assert plan.commits >= 2
    assert plan.bytes > 500
    assert plan.obstacles == ()
    assert (cluster_of(moved.server), moved.values(moved.to)) == before


# --- what others write after the fence


def test_late_writes_to_the_old_store_are_reported_by_key_and_not_copied() -> None:
    moved = Moved()
    moved.migration().run(0)
    moved.put("/config/topics/t", {"version": 1, "config": {"retention.ms": "10"}})
    moved.put("/config/users/new", {"version": 1, "config": {}})
    moved.delete("/config/topics/u")
    expected = (("/config/topics/t", "written"), ("/config/topics/u", "deleted"), ("/config/users/new", "created"))
    found = moved.migration().verify()
    assert (found.foreign, found.differing) == (expected, ())
    moved.take_over()
    assert moved.migration().run(0) == expected
    assert moved.told("/config/topics/t")["config"] == {"retention.ms": "9"}


def test_write_of_the_same_bytes_and_a_recreated_key_are_foreign_writes() -> None:
    """On ZooKeeper a recreated key repeats its versions: the time of creation distinguishes them."""
    moved = Moved(options={"versioning": "per_key"})
    moved.migration().run(0)
    entry = moved.other.get("/config/topics/u", timeout_s=1)
    assert entry is not None
    moved.delete("/config/topics/u")
    moved.put("/config/topics/u", entry.value)
    moved.put("/config/topics/t", {"version": 1, "config": {"retention.ms": "9"}})
    assert moved.migration().verify().foreign == (("/config/topics/t", "written"), ("/config/topics/u", "written"))


def test_removed_seal_is_reported() -> None:
    moved = Moved()
    moved.migration().run(0)
    moved.delete(keys.migration_seal(1))
    with pytest.raises(MigrationRefused, match="is missing"):
        moved.migration().verify()


def test_early_changes_in_the_new_store_are_reported_key_by_key() -> None:
    moved = Moved()
    moved.migration().run(0)
    entry = moved.there.get("/config/topics/t", timeout_s=1)
    assert entry is not None
    other = [Put("/config/topics/t", b"{}", entry.version), Put("/config/users/x", b"{}", ABSENT)]
    moved.there.commit(other, timeout_s=1)
    moved.there.commit([Delete(STATE, moved.of(moved.to)[STATE].version)], timeout_s=1)
    found = moved.migration().verify()
    assert found.differing == (
        (STATE, "not in TO"),
        ("/config/topics/t", "another value in TO"),
        ("/config/users/x", "in TO only"),
    )
    assert found.compared > 8


def test_there_is_nothing_to_verify_before_a_move_has_begun() -> None:
    with pytest.raises(MigrationRefused, match="nothing to verify"):
        Moved().migration().verify()
