"""A controller that may not read or write a key stands by (docs/decisions/0104)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kedge.controller.codec import keys
from kedge.stores import ABSENT, Columns, Commit, Entry, MemoryStore, Op, Put, Unauthorized
from kedge.stores.memory import MemoryServer
from kedge.stores.recipes import EPOCH_KEY
from tests.runtime.world import Cluster, actives

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
KEYS = (*READ_AT_TAKEOVER, keys.broker(1), keys.admitted(1), EPOCH_KEY, TOPIC, STATE, f"{keys.DELETE_TOPICS}/")
NAMED = {"topic": "t", "partition": 0}
HINTED = [TOPIC, STATE, *(key for key in VALUES if key not in {keys.RATES_REMOVAL, keys.replica_deletions(2, 9)})]


class Guarded(MemoryStore):
    """It refuses each read of one of its `forbidden` keys (with a slash at the end: of the names below it), and each
    commit that writes one of the `unwritable` ones, which it names if `names_keys`; it counts the reads."""

    names_keys = True

    def __init__(self, server: MemoryServer | None = None, *forbidden: str) -> None:
        super().__init__(server)
        self.forbidden = set(forbidden)
        self.unwritable: set[str] = set()
        self.reads = 0

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        self._check([key])
        return super().get(key, sync=sync, timeout_s=timeout_s)

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        self._check(keys)
        return super().get_many(keys, timeout_s=timeout_s)

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        self._check(keys)
        return super().get_columns(keys, timeout_s=timeout_s)

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        self._check([f"{key}/"])
        return super().children(key, timeout_s=timeout_s)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        for op in ops:
            if op.key in self.unwritable:
                raise Unauthorized("not yours to write", key=op.key if self.names_keys else None)
        return super().commit(ops, timeout_s=timeout_s)

    def _check(self, keys: Sequence[str]) -> None:
        self.reads += 1
        if not self.forbidden.isdisjoint(keys):
            raise Unauthorized("not yours to read")


class GuardedCluster(Cluster):
    """A cluster whose controller's store forbids keys."""

    def __init__(self, *brokers: int, **controller: Any) -> None:
        super().__init__(start=False, **controller)
        self.guarded = Guarded(self.server)
        self.another(1, self.guarded)
        self.join(*brokers)

    def succeed(self, **more: Any) -> None:
        """Another controller takes over, over a store that forbids the same."""
        self.guarded = Guarded(self.server, *self.guarded.forbidden)
        super().succeed(store=self.guarded, **more)

    def rewrite(self, key: str, value: bytes) -> None:
        """Another client writes the key in the session that it is of, so that its `created` stays."""
        entry = self.other.get(key, timeout_s=1)
        owners = [store for store in self.sessions.values() if entry and store.session.session_id == entry.owner]
        store, expect = (owners or [self.other])[0], ABSENT if entry is None else entry.version
        store.commit([Put(key, value, expect, ephemeral=bool(owners))], timeout_s=1)

    def value(self, key: str) -> bytes:
        """What the key holds."""
        return self.keys()[key]

    def forbid(self, *paths: str) -> None:
        self.guarded.forbidden |= set(paths)

    def allow(self, *paths: str) -> None:
        """They can be read again, and that was noticed."""
        self.guarded.forbidden -= set(paths)
        self.wait(6_000, 500)


def begun() -> GuardedCluster:
    """t-0 on 1 and 2, among other topics."""
    cluster = GuardedCluster(1, 2)
    for name in "stu":
        cluster.create(name, (1, 2))
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
    what = f"what is below {key[:-1]}" if key.endswith("/") else key
    assert cluster.findings()["election"] == f"stands by: the store does not let this controller read {what}"
    cluster.allow(key)
    assert len(actives(cluster)) == 1
    assert "election" not in cluster.findings()


@pytest.mark.parametrize("key", HINTED)
def test_who_leads_and_may_not_read_a_key_any_more_leaves_it_to_another(key: str) -> None:
    """One that may read it, and leads at once: /controller is given up. A hint makes the first one read the key."""
    cluster = begun()
    first = cluster.controller
    cluster.another(2, Guarded(cluster.server))
    cluster.run()
    assert actives(cluster) == [1]
    cluster.forbid(key)
    cluster.rewrite(key, VALUES[key] if key in VALUES else cluster.value(key))
    if key == STATE:
        cluster.put(f"{keys.ISR_CHANGES}/isr_change_0000000001", {"version": 1, "partitions": [NAMED]})
    cluster.run()
    cluster.wait(1_000)
    assert actives(cluster) == [2]
    assert first.describe().findings["demoted"] == f"stands by: the store does not let this controller read {key}"


def test_a_key_that_goes_lets_the_controller_lead_again() -> None:
    cluster = begun()
    forbidden(cluster, keys.PREFERRED_ELECTION)
    cluster.run()
    assert actives(cluster) == []
    cluster.guarded.forbidden.clear()
    cluster.delete(keys.PREFERRED_ELECTION)
    cluster.run()
    cluster.wait(1_000)
    assert actives(cluster) == [1]


# --- writes


@pytest.mark.parametrize("names_keys", [True, False])
def test_who_may_not_write_a_key_leaves_the_cluster_to_another(names_keys: bool) -> None:
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
    cluster.wait(4_500, 100)
    assert (actives(cluster), epoch(cluster)) == ([], before)
    assert STATE in cluster.findings()["election"]
    cluster.guarded.unwritable.clear()
    cluster.wait(1_000, 100)
    assert actives(cluster) == [1]
    assert cluster.state()["leader"] == 2
    assert "election" not in cluster.findings()
