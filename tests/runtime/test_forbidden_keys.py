"""A controller that may not read or write a key stands by (docs/decisions/0104)."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from kedge.controller.runtime.cannot_lead import CannotLead
from kedge.controller.runtime.permitted import WRITE_AGAIN_MS, PermittedStore
from kedge.stores.recipes import EPOCH_KEY
from tests.runtime.guarded import Guarded, GuardedCluster
from tests.runtime.world import actives

VALUES = {
    keys.topic_config("t"): b'{"version":1,"config":{}}',
    keys.BROKER_DEFAULTS: b'{"version":1,"config":{}}',
    keys.broker_config("1"): b'{"version":1,"config":{}}',
    keys.delete_topic("other"): b"",
    keys.delete_partitions("other"): b"{}",
    keys.replica_deletions(2, 9): b'{"version":1,"deletions":[]}',
    keys.REASSIGN_PARTITIONS: b'{"version":1,"partitions":[]}',
    keys.RATES_REMOVAL: b'{"version":1,"brokers":[1]}',
    keys.PREFERRED_ELECTION: b'{"version":1,"partitions":[]}',
    f"{keys.ISR_CHANGES}/isr_change_0000000001": b"{}",
    f"{keys.CONFIG_CHANGES}/config_change_0000000001": b'{"version":2,"entity_path":"topics/t"}',
}
TOPIC, STATE = keys.topic("t"), keys.state("t", 0)
READ_AT_TAKEOVER = [key for key in VALUES if not key.startswith(keys.CONFIG_CHANGES)]
KEYS = (*READ_AT_TAKEOVER, keys.broker(1), keys.admitted(1), EPOCH_KEY, TOPIC, STATE)
NAMED = {"topic": "t", "partition": 0}
HINTED = [key for key in VALUES if key not in {keys.RATES_REMOVAL, keys.replica_deletions(2, 9)}]


def begun() -> GuardedCluster:
    """t-0 on 1 and 2."""
    cluster = GuardedCluster(1, 2)
    cluster.create("t", (1, 2))
    return cluster


def forbidden(cluster: GuardedCluster, key: str) -> None:
    """It is there, and the controllers to come may not read it."""
    if key in VALUES:
        cluster.rewrite(key, VALUES[key])
    cluster.forbid(key)


def epoch(cluster: GuardedCluster) -> bytes:
    return cluster.value(EPOCH_KEY)


@pytest.mark.parametrize("key", KEYS)
def test_who_may_not_read_a_key_does_not_lead_before_it_can(key: str) -> None:
    """It says which, and does not stand for election time and again meanwhile."""
    cluster = begun()
    cluster.controllers.pop().close()
    forbidden(cluster, key)
    cluster.succeed()
    assert actives(cluster) == []
    before = epoch(cluster)
    cluster.wait(5_000, 500)
    assert (actives(cluster), epoch(cluster)) == ([], before)
    assert cluster.findings()["election"] == f"stands by: the store does not let this controller read {key}"
    cluster.allow(key)
    assert len(actives(cluster)) == 1
    assert "election" not in cluster.findings()


def test_who_may_not_list_what_is_below_a_parent_does_not_lead_before_it_can() -> None:
    cluster = begun()
    cluster.forbid(f"{keys.DELETE_TOPICS}/")
    cluster.succeed()
    before = epoch(cluster)
    cluster.wait(5_000, 500)
    assert (actives(cluster), epoch(cluster)) == ([], before)
    assert "read what is below /admin/delete_topics" in cluster.findings()["election"]
    cluster.allow(f"{keys.DELETE_TOPICS}/")
    assert len(actives(cluster)) == 1


@pytest.mark.parametrize("key", HINTED)
def test_who_leads_and_may_not_read_a_key_any_more_leaves_it_to_another(key: str) -> None:
    """One that may read it, and leads at once: /controller is given up."""
    cluster = begun()
    first = cluster.controller
    cluster.another(2, Guarded(cluster.server))
    cluster.run()
    assert actives(cluster) == [1]
    cluster.forbid(key)
    cluster.rewrite(key, VALUES[key])
    cluster.run()
    cluster.wait(1_000)
    assert actives(cluster) == [2]
    assert first.describe().findings["demoted"] == f"stands by: the store does not let this controller read {key}"


def test_a_key_that_goes_lets_the_controller_lead_again() -> None:
    """Nothing is left that it may not read."""
    cluster = begun()
    forbidden(cluster, keys.PREFERRED_ELECTION)
    cluster.run()
    assert actives(cluster) == []
    cluster.guarded.forbidden.clear()
    cluster.delete(keys.PREFERRED_ELECTION)
    cluster.run()
    cluster.wait(1_000)
    assert actives(cluster) == [1]


@pytest.mark.parametrize("key", [TOPIC, STATE])
def test_who_leads_and_may_not_read_a_topic_or_state_any_more_leaves_it_to_another(key: str) -> None:
    """Once a hint makes it read the key: until then, what is known of it stays in force."""
    cluster = begun()
    cluster.another(2, Guarded(cluster.server))
    cluster.run()
    cluster.forbid(key)
    cluster.rewrite(TOPIC, cluster.value(TOPIC))
    cluster.put(f"{keys.ISR_CHANGES}/isr_change_0000000001", {"version": 1, "partitions": [NAMED]})
    cluster.wait(1_000)
    assert actives(cluster) == [2]


def test_the_key_that_makes_a_bulk_read_fail_is_found() -> None:
    """The store need not name it."""
    names = [f"k{number}" for number in range(100)]
    guarded = Guarded(None, keys.topic("k41"))
    store = PermittedStore(guarded)
    for read in (store.get_many, store.get_columns):
        with pytest.raises(CannotLead, match=f"read {keys.topic('k41')}$"):
            read(list(map(keys.topic, names)), timeout_s=1)
    assert guarded.reads < 20


# --- writes


@pytest.mark.parametrize("names_keys", [True, False])
def test_who_may_not_write_a_key_leaves_the_cluster_to_another(names_keys: bool) -> None:
    """The finding names the key, or those of the commit."""
    cluster = begun()
    first, cluster.guarded.names_keys = cluster.controller, names_keys
    cluster.another(2, Guarded(cluster.server))
    cluster.run()
    cluster.guarded.unwritable.add(STATE)
    cluster.leave(1)
    cluster.wait(1_000)
    assert actives(cluster) == [2]
    assert cluster.state()["leader"] == 2
    demoted = first.describe().findings["demoted"]
    assert demoted.startswith("stands by: the store does not let this controller write ")
    assert STATE in demoted
    assert demoted.endswith(STATE) or not names_keys


def test_a_refused_write_is_tried_again_after_a_while() -> None:
    """Only a leader can try it: meanwhile there is no election."""
    cluster = begun()
    cluster.guarded.unwritable.add(STATE)
    cluster.leave(1)
    before = epoch(cluster)
    cluster.wait(WRITE_AGAIN_MS - 500, 100)
    assert (actives(cluster), epoch(cluster)) == ([], before)
    assert STATE in cluster.findings()["election"]
    cluster.guarded.unwritable.clear()
    cluster.wait(1_000, 100)
    assert actives(cluster) == [1]
    assert cluster.state()["leader"] == 2
    assert "election" not in cluster.findings()
