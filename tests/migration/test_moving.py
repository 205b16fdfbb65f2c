"""A whole move between two memory stores: what arrives, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

from kedge.controller.codec import keys
from kedge.controller.codec.migration import NOBODY
from kedge.controller.codec.orders import FORMAT_KEY
from kedge.controller.model.host import LeaderAndIsrRequest
from kedge.controller.model.values import BrokerRegistration
from kedge.stores import MemoryServer, MemoryStore
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from kedge.stores.tree import read_tree
from tests.migration.world import LEFT, STATE, Moved

TREE = Path(__file__).resolve().parents[2] / "examples" / "kafka_3_9_tree_moving.json"


def test_a_cluster_is_moved_whole_and_goes_on_under_a_higher_epoch() -> None:
    """Every key is there, every leader epoch above the former one, and what ran goes on."""
    moved = Moved()
    before = moved.of(moved.server)
    epochs = moved.leader_epochs(moved.server)
    assert moved.migration().run(0) == ()
    moved.take_over()
    after = moved.of(moved.to)
    not_copied = {keys.MIGRATION, TOKEN_KEY, EPOCH_KEY, FORMAT_KEY, keys.BROKER_SEQUENCE}
    for key in before.keys() - not_copied - set(epochs):
        assert key.startswith(keys.ADMITTED) or after[key].value == before[key].value, key
    assert moved.leader_epochs(moved.to) == {key: epoch + 1 for key, epoch in epochs.items()}
    assert moved.told(STATE)["targetReplicas"] == [4, 5, 1]
    assert keys.MIGRATION not in after
    old = moved.get(EPOCH_KEY)
    assert moved.next.controller_epoch is not None
    assert moved.next.controller_epoch > old
    assert moved.told(TOKEN_KEY)["seq"] > moved.get(TOKEN_KEY)["seq"]


def test_old_store_elects_no_controller_again_and_gives_the_reason() -> None:
    """Its /controller belongs to no session and names no broker; the deposed controller says where the cluster went."""
    moved = Moved()
    moved.migration().run(0)
    moved.take_over()
    held = moved.other.get(LEADER_KEY, timeout_s=1)
    assert held is not None
    assert held.owner is None
    said = json.loads(held.value)
    assert (said["version"], said["brokerid"]) == (1, NOBODY)
    assert type(said["timestamp"]) is str
    first = moved.controllers[0].describe()
    assert first.active_id is None
    assert "moved to memory:to" in first.findings[keys.MIGRATION]
    late = moved.another(9, MemoryStore(moved.server))
    moved.wait(60_000, 1_000)
    assert not late.is_active


def test_raised_epochs_are_sent_to_every_broker_first() -> None:
    """Not one request under the new term carries a leader epoch that the old one knew."""
    moved = Moved()
    epochs = moved.leader_epochs(moved.server)
    moved.migration().run(0)
    moved.host.told.clear()
    moved.take_over()
    requests = [r for r in moved.host.told if isinstance(r, LeaderAndIsrRequest)]
    assert {r.broker_id for r in requests} == {1, 2, 3, 4, 5}
    assert all(r.controller_epoch == moved.next.controller_epoch for r in requests)
    told = [(keys.state(p.topic, p.partition), p.leader_epoch) for r in requests for p in r.partitions]
    assert told
    assert all(epoch > epochs[key] for key, epoch in told)


def test_partition_that_was_possibly_never_sent_is_sent_as_new() -> None:
    """It was created just before the fence: its epoch rose, and a broker without its log may still make one."""
    moved = Moved()
    moved.migration().run(0)
    moved.take_over()
    requests = [r for r in moved.host.told if isinstance(r, LeaderAndIsrRequest)]
    told = [(p.topic, p.partition, p.is_new) for r in requests for p in r.partitions if r.full]
    assert {is_new for topic, partition, is_new in told if (topic, partition) == ("u", 0)} == {True}


def test_a_tree_that_kafka_left_is_moved_and_its_moves_are_taken_over_there() -> None:
    """No controller of Kedge has led over it: there is no token, and no broker was admitted."""
    old, moved = MemoryServer("per_key"), Moved()
    old.plant(read_tree(TREE))
    assert moved.migration(source=MemoryStore(old)).run(0, without_brokers=True) == ()
    moved.run()
    assert moved.next.describe().reassigning_partitions > 0
    assert moved.migration(source=MemoryStore(old)).verify().foreign == ()


def test_a_live_broker_does_not_die_by_the_move() -> None:
    """It counts as admitted under its registration in the new store: no election, no replica leaves an isr."""
    moved = Moved()
    before = {key: json.loads(value) for key, value in moved.values(moved.server).items() if key.endswith("/state")}
    moved.migration().run(0)
    moved.take_over()
    for key, state in before.items():
        assert (moved.told(key)["leader"], moved.told(key)["isr"]) == (state["leader"], state["isr"])
    assert moved.next.describe().live_brokers == (1, 2, 3, 4, 5)


def test_a_broker_that_bounced_before_the_fence_dies_first_in_the_new_store_too() -> None:
    """The old controller had not seen its new registration: what the bounce hides is worked off over there."""
    moved = Moved()
    moved.leave(1, run=False)
    moved.join_unseen(1)
    moved.migration().run(0)
    moved.take_over()
    assert 1 not in moved.told(keys.state("t", 1))["isr"]
    assert moved.told(keys.admitted(1)) == {"broker_epoch": moved.next.broker_epoch(1)}


def test_a_broker_that_comes_again_between_fence_and_takeover_dies_first() -> None:
    """Its registration in the new store is not the one that was live under the fence."""
    moved = Moved()
    moved.migration().run(0)
    epoch = moved.next.broker_epoch(1)
    assert epoch is not None
    moved.next.unregister_broker(1, epoch)
    moved.next.register_broker(BrokerRegistration(1, rack="b"))
    moved.take_over()
    assert 1 not in moved.told(keys.state("t", 1))["isr"]


def test_a_broker_that_was_dead_is_dead_in_the_new_store() -> None:
    """It is known, so that what it has to delete is waited for, under an epoch that no registration has."""
    moved = Moved()
    moved.migration().run(0)
    assert moved.told(keys.admitted(LEFT)) == {"broker_epoch": 0}
    moved.take_over()
    moved.next.register_broker(BrokerRegistration(LEFT, rack="a"))
    moved.run()
    assert LEFT in moved.next.describe().live_brokers


def test_a_generated_broker_id_is_not_given_again() -> None:
    """Kafka counts ids by how often the key was written, which starts again in another store."""
    moved = Moved()
    ids = {moved.controllers[0].generate_broker_id() for _ in range(3)}
    moved.put(keys.BROKER_SEQUENCE, b"")  # as Kafka leaves it
    ids.add(moved.controllers[0].generate_broker_id())
    moved.migration().run(0)
    assert moved.next.generate_broker_id() > max(ids)


def test_what_changes_while_it_is_copied_is_copied_too_and_what_goes_is_gone() -> None:
    """Topics come and go between two scans; the new store holds neither too little nor too much."""
    moved = Moved(brokers=())
    moved.create("brief", (1, 2), (2, 1))
    deeds = iter((lambda: moved.create("late", (1, 2)), lambda: moved.delete_topic("brief"), moved.register_all))

    def deed() -> None:
        next(deeds, lambda: None)()

    moved.on_pause = deed
    moved.migration().run(60)
    topics = {keys.topic_of(key) for key in moved.values(moved.to)} - {None}
    assert topics == {"t", "u", "late"}
    assert moved.migration().verify().differing == ()


def test_many_keys_go_in_commits_of_what_the_store_takes_several_in_flight() -> None:
    """No commit is larger than declared, and all arrive."""
    to = MemoryServer(commit_ops_max=7, commit_bytes_max=4_000)
    moved = Moved(to=to)
    for number in range(60):
        moved.put(f"/config/users/u{number}", {"version": 1, "config": {"x": "y" * number}})
    moved.migration(in_flight=4).run(0)
    assert moved.migration().verify().differing == ()
    assert sum(key.startswith("/config/users/") for key in moved.values(to)) == 60
