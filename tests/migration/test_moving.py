"""What a move to another store copies, what it changes, and what brokers notice."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import count

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.host import LeaderAndIsrRequest
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.server import RecordingServer
from kedge.stores import MemoryServer, MemoryStore
from kedge.stores.base import ABSENT, Put
from kedge.stores.faults import FailBefore, Fault, LoseReply
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY, Token, next_number
from tests.migration.sites import Site, copy_of, cut, finish, memory, migration, move, one_is_valid
from tests.runtime.world import Brokers
from tests.simulation.clusters import AFTER, ORDERS, orders

FOUR = [TopicPartition("more", partition) for partition in range(4)]


def put(site: Site, *puts: Put) -> None:
    with closing(site.open()) as store:
        store.commit(puts, timeout_s=1)


def test_all_keys_are_copied_and_only_epochs_change(source: Site, target: Site) -> None:
    before, token = source.values(), Token.decode(source.values()[TOKEN_KEY])
    assert move(source, target) > 20
    after = target.values()
    assert after.keys() == {key for key in before if not key.startswith(keys.CONFIG_CHANGES)}
    for key, value in after.items():
        if keys.partition_of(key) is not None:
            known = json.loads(before[key])
            assert json.loads(value) == known | {"leader_epoch": known["leader_epoch"] + 1}
        elif key.startswith(keys.ADMITTED):
            assert value == b'{"broker_epoch":0}'
        elif key not in {EPOCH_KEY, TOKEN_KEY}:
            assert value == before[key], key
    assert int(after[EPOCH_KEY]) > int(source.values()[EPOCH_KEY]) > int(before[EPOCH_KEY])
    assert Token.decode(after[TOKEN_KEY]).seq > token.seq


def test_moved_cluster_goes_on_in_the_new_store(source: Site, target: Site, host: Brokers) -> None:
    """Brokers see higher leader epochs only, and the former store names the new one."""
    move(source, target)
    known = source.leader_epochs()
    assert source.refusal() == "stands by: the cluster was moved to memory:to"
    finish(target)
    told = [p for request in host.told if isinstance(request, LeaderAndIsrRequest) for p in request.partitions]
    assert told
    assert all(p.leader_epoch > known[keys.state(p.topic, p.partition)] for p in told)


def test_keys_of_sessions_and_notifications_stay_behind(source: Site, target: Site) -> None:
    change = f"{keys.CONFIG_CHANGES}/config_change_0000000099"
    with closing(source.open()) as session:
        session.commit([Put("/brokers/ids/9", b"{}", ABSENT, ephemeral=True), Put(change, b"{}", ABSENT)], timeout_s=1)
        move(source, target)
    assert not {"/brokers/ids/9", change} & target.values().keys()


def test_parent_without_data_is_copied_only_without_children(source: Site, target: Site) -> None:
    puts = [Put(key, b"", ABSENT) for key in ("/empty", "/above", f"{keys.DELETE_TOPICS}/other")]
    put(source, *puts, Put("/above/a/b", b"1", ABSENT))
    move(source, target)
    found = target.values()
    assert {"/empty", "/above/a/b", f"{keys.DELETE_TOPICS}/other"} <= found.keys()
    assert "/above" not in found


@pytest.mark.parametrize("value, times", [(b"", 3), (b"7", 0)])
def test_generated_broker_id_is_not_given_again(source: Site, target: Site, value: bytes, times: int) -> None:
    """Kafka counts how often the key was written, which begins again in another store."""
    put(source, Put(keys.BROKER_SEQUENCE, value, ABSENT))
    with closing(source.open()) as store:
        for _ in range(times):
            entry = store.get(keys.BROKER_SEQUENCE, timeout_s=1)
            assert entry is not None
            put(source, Put(keys.BROKER_SEQUENCE, value, entry.version))
    move(source, target)
    with closing(target.open()) as store:
        assert next_number(store, keys.BROKER_SEQUENCE, 1) == max(times, 7 if value else 0) + 1


def test_bounced_broker_counts_as_dead_first_in_the_new_store(source: Site, target: Site) -> None:
    """Epochs of registrations begin again there, so none says that the broker is the one that was admitted."""
    move(source, target)
    before = target.leader_epochs()
    with target.led(1, 2, 3, 4, 5):
        pass
    assert all(target.leader_epochs()[key] > epoch for key, epoch in before.items() if "gone" not in key)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [FailBefore(), LoseReply()], ids=["before it is sent", "applied, reply lost"])
@pytest.mark.parametrize("goes_on", [False, True], ids=["given up", "run again"])
def test_cut_at_any_commit_leaves_one_valid_store(busy: MemoryServer, fault: Fault, *, goes_on: bool) -> None:
    for at in count(1):
        host = Brokers()
        source, target = memory(copy_of(busy), host), memory(MemoryServer(commit_ops_max=9), host)
        if not cut(source, target, at, fault):
            break
        one_is_valid(source, target, goes_on=goes_on)
    assert at > 10


@pytest.mark.slow
def test_cluster_that_serves_is_moved_and_loses_nothing() -> None:
    """Five moves that run go on from where they were, under leader epochs above all that were sent before."""
    rig = orders(copy_rate_bytes_s=150_000)
    rig.write([ORDERS, *rig.create_topic("more", 8, 3, records=300)], 100, 100)
    rig.reassign(dict.fromkeys([ORDERS, *FOUR], AFTER))
    rig.run(300)
    for node_id in rig.nodes:
        rig.mishaps.kill_controller(node_id)
    rig.run(2_000)
    written = rig.producers.acknowledged()
    rig.run(500)
    assert rig.producers.acknowledged() > written
    rig.invariants.step()
    before = {tp: partition.leader_epoch for tp, partition in rig.committed.partitions.items()}
    assert sum(partition.move is not None for partition in rig.committed.partitions.values()) >= 3
    server = RecordingServer(session_timeout_s=1.0, clock=rig.clock.monotonic_s)
    with closing(MemoryStore(rig.server)) as here, closing(MemoryStore(server)) as there:
        run = migration(here, there)
        run.check()
        run.run()
    rig.follow(server)
    rig.run(1_000)
    rig.producers.writers.clear()
    rig.wait.until_replicas(dict.fromkeys([ORDERS, *FOUR], AFTER), timeout_s=60)
    rig.wait.until_converged()
    rig.check_end()
    assert all(rig.partition(tp).leader_epoch > epoch for tp, epoch in before.items())
