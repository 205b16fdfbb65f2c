"""What others do to a move that is under way: they abort it, write to the new store, win every election, or are of
another version. What it does then, and that it says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from kedge.controller import machine
from kedge.controller.codec import keys
from kedge.controller.codec.orders import FORMAT_KEY
from kedge.controller.migration import MigrationRefused
from kedge.controller.model.events import LeaderEpochsDue
from kedge.controller.runtime.deciding import RuleFailed
from kedge.controller.runtime.migration.handing_over import admissions
from kedge.stores import ABSENT, MemoryServer, MemoryStore, Put
from kedge.stores.base import Capabilities, Check, Commit, Delete, Entry, Op
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, elect
from tests.migration.world import Moved

SETTINGS = "/config/topics/t"


LATER = (EPOCH_KEY, FORMAT_KEY, TOKEN_KEY, keys.ORIGIN)


def once(deed: Callable[[], object]) -> Callable[[], None]:
    done: list[bool] = []

    def act() -> None:
        if not done:
            done.append(True)
            deed()

    return act


# --- an abort beside a run


def test_a_run_whose_move_is_aborted_while_it_waits_for_brokers_ends_and_fences_nothing() -> None:
    """It does not restart the migration that was just aborted."""
    moved = Moved(brokers=(1, 2))

    def abort() -> None:
        assert moved.migration().abort()
        moved.register_all((3, 4, 5))

    moved.on_pause = once(abort)
    with pytest.raises(MigrationRefused, match="aborted"):
        moved.migration().run(60)
    assert moved.values(moved.to) == {}
    assert keys.MIGRATION not in moved.values(moved.server)
    assert moved.controllers[0].is_active


def test_run_whose_move_was_aborted_and_begun_again_ends_too() -> None:
    """The other one is not disturbed."""
    moved = Moved(brokers=(1, 2))

    def abort_and_begin() -> None:
        moved.migration().abort()
        moved.register_all((3, 4, 5))
        moved.migration().run(0)

    moved.on_pause = once(abort_and_begin)
    with pytest.raises(MigrationRefused, match="aborted"):
        moved.migration().run(60)
    moved.take_over()


class Watched(MemoryStore):
    """A store in which something happens before the first commit that `is_due`."""

    deed: Callable[[], object] | None = None

    def is_due(self, ops: Sequence[Op]) -> bool:
        raise NotImplementedError

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        if self.deed is not None and self.is_due(ops):
            deed, self.deed = self.deed, None
            deed()
        return super().commit(ops, timeout_s=timeout_s)


class BeforeTheFence(Watched):
    """FROM, just before its leader is deposed."""

    def is_due(self, ops: Sequence[Op]) -> bool:
        return any(isinstance(op, Delete) and op.key == LEADER_KEY for op in ops)


class BeforeTheGuard(Watched):
    """TO, just before the run asks whether it is still the one that copies."""

    def is_due(self, ops: Sequence[Op]) -> bool:
        return [op.key for op in ops] == [keys.MIGRATION] and isinstance(ops[0], Check)


def test_an_abort_that_ends_just_before_the_fence_is_not_fenced_over() -> None:
    moved = Moved()
    store = BeforeTheFence(moved.server)
    store.deed = lambda: moved.migration().abort()
    with pytest.raises(MigrationRefused, match="aborted"):
        moved.migration(store).run(0)
    assert moved.values(moved.to) == {}
    assert moved.controllers[0].is_active


def test_a_run_asks_once_more_before_the_fence_whether_it_is_still_the_one_that_copies() -> None:
    """It has nothing to write there, so nothing else would show it; no controller is deposed."""
    moved = Moved()
    epoch = moved.get(EPOCH_KEY)
    store = BeforeTheGuard(moved.to)

    def another() -> None:
        entry = moved.there.get(keys.MIGRATION, timeout_s=1)
        assert entry is not None
        said = json.loads(entry.value) | {"run": "another"}
        moved.there.commit([Put(keys.MIGRATION, json.dumps(said).encode(), entry.version)], timeout_s=1)

    store.deed = another
    with pytest.raises(MigrationRefused, match="another run of this migration"):
        moved.migration(target=store).run(0)
    assert json.loads(moved.values(moved.to)[keys.MIGRATION])["run"] == "another"
    assert moved.get(EPOCH_KEY) == epoch


# --- who writes to the new store


def write_there(moved: Moved) -> None:
    """A stranger changes a key that was copied, and makes one."""
    entry = moved.there.get(SETTINGS, timeout_s=1)
    assert entry is not None
    other = b'{"version":1,"config":{"retention.ms":"1"}}'
    evil = b'{"version":1,"partitions":{"0":[1]}}'
    moved.there.commit([Put(SETTINGS, other, entry.version), Put(keys.topic("evil"), evil, ABSENT)], timeout_s=1)


NAMED = f"conflict with what others wrote to TO meanwhile: {keys.topic('evil')}, {SETTINGS}"


def test_what_a_stranger_writes_to_the_new_store_while_brokers_are_waited_for_is_named_and_nothing_is_fenced() -> None:
    moved = Moved(brokers=(1, 2))
    epoch = moved.get(EPOCH_KEY)

    def write() -> None:
        write_there(moved)
        moved.register_all((3, 4, 5))

    moved.on_pause = once(write)
    with pytest.raises(MigrationRefused, match=NAMED):
        moved.migration().run(60)
    assert moved.get(EPOCH_KEY) == epoch
    ends_without_it(moved)


class Walked(MemoryStore):
    """A store whose snapshots are no instant: it is read by the paths that are known."""

    @property
    def capabilities(self) -> Capabilities:
        return attrs.evolve(super().capabilities, atomic_snapshot=False)


@pytest.mark.parametrize("kind", [MemoryStore, Walked])
def test_what_a_stranger_writes_to_the_new_store_just_before_the_fence_takes_it_back(kind: type[MemoryStore]) -> None:
    """It would be led there, unseen: the old store is led again instead."""
    moved = Moved()
    store = BeforeTheFence(moved.server)
    store.deed = lambda: write_there(moved)
    with pytest.raises(MigrationRefused, match=f"{NAMED}; .* overwrites that; FROM is led again"):
        moved.migration(store, kind(moved.to)).run(0)
    moved.wait(1000)
    assert moved.controllers[0].is_active
    assert not moved.next.is_active
    ends_without_it(moved)


@pytest.mark.parametrize("key", LATER)
def test_a_key_of_leadership_that_a_stranger_puts_there_is_named_before_it_stops_the_end(key: str) -> None:
    """These are no part of the copy, and are put as the new store is given free: that must not fail for good."""
    moved = Moved()
    store = BeforeTheFence(moved.server)
    store.deed = lambda: moved.there.commit([Put(key, b"7", ABSENT)], timeout_s=1)
    with pytest.raises(MigrationRefused, match=f"wrote to TO meanwhile: {key}; .*remove it; FROM is led again"):
        moved.migration(store).run(0)
    moved.wait(1000)
    assert moved.controllers[0].is_active
    epoch = moved.get(EPOCH_KEY)
    with pytest.raises(MigrationRefused, match=r"remove it$"):
        moved.migration().run(0)
    assert moved.get(EPOCH_KEY) == epoch, "fenced once more, though the key could be seen before"
    entry = moved.there.get(key, timeout_s=1)
    assert entry is not None
    moved.there.commit([Delete(key, entry.version)], timeout_s=1)
    moved.migration().run(0)
    moved.take_over()


def ends_without_it(moved: Moved) -> None:
    """Run again, it copies over what the stranger wrote."""
    assert moved.migration().run(0) == ()
    moved.take_over()
    assert moved.told(SETTINGS)["config"] == {"retention.ms": "9"}
    assert moved.told(keys.topic("evil")) is None


def test_a_store_that_stands_below_the_old_one_under_another_name_is_found_out() -> None:
    """Urls do not tell; the marker of TO among the keys of FROM does."""
    moved = Moved()
    inner = f"/inner{keys.MIGRATION}"
    said = {"migration": "5f", "side": "to", "phase": "copying", "other": "x", "started_ms": 1}
    moved.put(inner, {"version": 1, **said})
    with pytest.raises(MigrationRefused, match=f"{inner}: a cluster is being moved to a store below FROM"):
        moved.migration().run(0)
    assert moved.values(moved.to) == {}
    moved.put(inner, {"version": 1, **said, "phase": "complete"})
    assert moved.migration().run(0) == ()


# --- who is there, and who is not


def test_cluster_without_brokers_is_fenced_only_with_the_option() -> None:
    """Hosts that are registered elsewhere, or not yet, would be left behind."""
    moved = Moved()
    for broker in range(1, 6):
        moved.leave(broker)
    before = moved.values(moved.server)
    with pytest.raises(MigrationRefused, match=r"no broker is registered in FROM.*--without-brokers"):
        moved.migration().run(0)
    assert (moved.values(moved.server), moved.values(moved.to)) == (before, {})
    assert moved.migration().run(0, without_brokers=True) == ()


def test_brokers_that_all_go_while_it_copies_are_not_fenced_over_either() -> None:
    moved = Moved(brokers=(1, 2, 3, 4))

    def leave() -> None:
        for broker in range(1, 6):
            moved.leave(broker)

    moved.on_pause = once(leave)
    with pytest.raises(MigrationRefused, match="no broker is registered in FROM"):
        moved.migration().run(60)
    assert moved.controllers[0].is_active


def test_registrations_are_read_from_a_server_that_is_not_behind() -> None:
    """A follower may not know yet of a broker that came again: what is asked first is answered by the leader."""
    asked: list[tuple[str, str]] = []

    class Asked(MemoryStore):
        def __init__(self, server: MemoryServer, name: str) -> None:
            super().__init__(server)
            self._name = name

        def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
            asked.extend([(self._name, "sync")] if sync else [])
            return super().get(key, sync=sync, timeout_s=timeout_s)

        def children(self, key: str, *, timeout_s: float) -> list[str]:
            asked.append((self._name, key))
            return super().children(key, timeout_s=timeout_s)

    moved = Moved()
    admissions(Asked(moved.server, "from"), Asked(moved.to, "to"))
    assert asked[:2] == [("to", "sync"), ("to", keys.BROKER_IDS)]
    assert asked[2:4] == [("from", "sync"), ("from", keys.BROKER_IDS)]


def test_where_others_win_every_election_it_gives_up_after_three() -> None:
    """The old store is led by the last winner, and nothing is fenced."""
    moved = Moved()
    rivals: list[MemoryStore] = []

    class Lost(MemoryStore):
        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            if any(isinstance(op, Put) and op.key == LEADER_KEY for op in ops):
                rivals.append(MemoryStore(moved.server))
                assert elect(rivals[-1], b"rival", "n", 1) is not None
            return super().commit(ops, timeout_s=timeout_s)

    with pytest.raises(MigrationRefused, match=r"another controller was elected 3 times.*nothing is fenced"):
        moved.migration(Lost(moved.server)).run(0)
    assert len(rivals) == 3
    held = moved.other.get(LEADER_KEY, timeout_s=1)
    assert held is not None
    assert held.owner == rivals[-1].session.session_id


# --- who may lead over the new store


@pytest.mark.parametrize("before, after", [(None, 2), (1, 2), (2, 2)])
def test_a_controller_that_does_not_know_the_marker_may_not_lead_over_the_new_store(
    before: int | None, after: int
) -> None:
    """It would be elected, and tell of partitions under leader epochs that brokers know already."""
    moved = Moved()
    if before is None:
        moved.delete(FORMAT_KEY)
    else:
        moved.put(FORMAT_KEY, {"version": 1, "min_controller": before})
    moved.migration().run(0)
    assert moved.told(FORMAT_KEY)["min_controller"] == after
    assert moved.migration().verify().differing == ()
    moved.take_over()


@pytest.mark.parametrize(
    "value, said", [({"min_controller": 99}, "asks for controllers of version 99"), (b"{", "read")]
)
def test_a_cluster_of_a_later_version_is_not_moved(value: object, said: str) -> None:
    """What such a version keeps in its keys is not known here."""
    moved = Moved()
    moved.put(FORMAT_KEY, value)
    with pytest.raises(MigrationRefused, match=f"{FORMAT_KEY} .*{said}"):
        moved.migration().run(0)
    assert moved.values(moved.to) == {}


def test_leader_epoch_that_cannot_be_raised_keeps_the_marker_and_sends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is tried again; what brokers know would count for more than what they are sent."""
    moved = Moved()
    moved.migration().run(0)
    moved.host.told.clear()
    rules, broken = machine.step, [True]

    def step(state: Any, event: Any) -> Any:
        if broken and isinstance(event, LeaderEpochsDue) and event.topic == "u":
            raise ZeroDivisionError  # no input is known that does this
        return rules(state, event)

    monkeypatch.setattr("kedge.controller.runtime.deciding.step", step)
    with pytest.raises(RuleFailed, match="LeaderEpochsDue"):
        moved.wait(2_000)
    assert keys.MIGRATION in moved.values(moved.to)
    assert moved.host.told == []
    assert "LeaderEpochsDue" in moved.next.describe().findings["defect"]
    broken.clear()
    moved.wait(5_000)
    epochs = moved.leader_epochs(moved.server)
    now = moved.leader_epochs(moved.to)
    assert all(now[key] == epoch + 1 for key, epoch in epochs.items())
    assert keys.MIGRATION not in moved.values(moved.to)
    assert moved.host.told != []


# --- what it says


def test_scans_are_numbered_over_the_whole_run() -> None:
    moved = Moved(brokers=(1, 2))
    moved.on_pause = once(lambda: moved.register_all((3, 4, 5)))
    moved.migration().run(60)
    scans = [text.split(":")[0] for text in moved.said if text.startswith("scan ")]
    assert scans == ["scan 1", "scan 2"]


def test_an_abort_says_whether_there_was_anything_to_take_back() -> None:
    moved = Moved(brokers=())
    assert moved.migration().abort() is False
    with pytest.raises(Exception, match="not registered"):
        moved.migration().run(0)
    assert moved.migration().abort() is True
    assert moved.migration().abort() is False
