"""What a move to another store copies, what it changes, and what brokers notice."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.host import LeaderAndIsrRequest
from kedge.stores.base import ABSENT, Put
from kedge.stores.recipes import EPOCH_KEY, TOKEN_KEY, Token, next_number
from tests.migration.sites import Site, finish, move
from tests.runtime.world import Brokers


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
