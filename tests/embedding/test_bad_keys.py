"""Every key that others can write, with broken content: a finding in describe(), never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.controller.codec import keys
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from tests.runtime.world import Cluster

T = "/brokers/topics/t"
CONFIG_CHANGE = f"{keys.CONFIG_CHANGES}/config_change_0000000001"
THROTTLED = "leader.replication.throttled.replicas"
MARK = {"set": ["0:1"], "was": None, "wanted": ["0:1"]}
GOOD: dict[str, Any] = {
    "/brokers/ids/1": {
        "version": 4,
        "host": "h",
        "port": 1,
        "endpoints": ["A://h:1"],
        "listener_security_protocol_map": {},
    },
    T: {"version": 3, "partitions": {"0": [1, 2]}, "topic_id": "PRYaAtTcQq2kVkcWFTT9Ew", "adding_replicas": {"0": [2]}},
    f"{T}/partitions/0/state": {
        "controller_epoch": 1,
        "leader": 1,
        "leader_epoch": 1,
        "isr": [1],
        "targetReplicas": [2, 1],
        "reassignment": {"origin": [1], "started_ms": 1, "deadline_ms": 2},
        "status_code": 0,
        "leader_recovery_state": 0,
    },
    "/config/topics/t": {"version": 1, "config": {"unclean.leader.election.enable": "true"}},
    "/admin/replica_deletions/1/5": {"replicas": [{"topic": "t", "topic_id": "x", "partition": 0, "leader_epoch": 1}]},
    "/kedge/brokers/1": {"broker_epoch": 5},
    "/admin/reassign_partitions": {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]},
    "/admin/delete_topic_partitions/t": {"version": 1, "partitions": {"1": {"timestamp": 5, "immediate": True}}},
    keys.PREFERRED_ELECTION: {"version": 1, "partitions": [{"topic": "t", "partition": 0}]},
    f"{keys.ISR_CHANGES}/isr_change_0000000001": {"version": 1, "partitions": [{"topic": "t", "partition": 0}]},
    f"{keys.LOG_DIR_EVENTS}/log_dir_event_0000000001": {"version": 1, "broker": 1, "event": 1},
    CONFIG_CHANGE: {"version": 2, "entity_path": "topics/t"},
    "/config/brokers/2": {"version": 1, "config": {"leader.replication.throttled.rate": "5"}},
    keys.BROKER_DEFAULTS: {"version": 1, "config": {"unclean.leader.election.enable": "true"}},
    f"{keys.CONFIG_USERS}/u": {"version": 1, "config": {"producer_byte_rate": "5"}},
    f"{keys.CONFIG_CLIENTS}/c": {"version": 1, "config": {"producer_byte_rate": "5"}},
    keys.delete_topic("t"): None,
    keys.REPLICAS_REMOVAL: {"version": 1, "topics": ["t"], "previous": {"t": {THROTTLED: MARK}}},
    keys.RATES_REMOVAL: {"version": 1, "brokers": [2], "previous": {"2": {THROTTLED: MARK}}},
    keys.OLD_REPLICAS_REMOVAL: {"version": 1, "topics": ["t"]},
    keys.OLD_RATES_REMOVAL: {"version": 1, "brokers": [2]},
    keys.HANDED_BACK: {"version": 1, "phase": "done"},
    keys.MIGRATION: {"version": 1, "migration": "m", "copied_from": "there"},
    LEADER_KEY: {"version": 1, "brokerid": 7},
    EPOCH_KEY: 3,
    TOKEN_KEY: {"controller_epoch": 2, "seq": 5, "nonce": "x"},
}
STOPPED_BY = (LEADER_KEY, EPOCH_KEY, TOKEN_KEY, keys.MIGRATION)
"""Where they cannot be read, no controller leads."""
NOT_READ = {keys.GATEWAYS, keys.GATEWAYS_SECRET, keys.BROKER_SEQUENCE, keys.CLUSTER_ID, keys.PRODUCER_IDS}
"""Gateways and single calls read them."""
MARKS = (keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL, keys.OLD_REPLICAS_REMOVAL, keys.OLD_RATES_REMOVAL)
UNNAMED = {*STOPPED_BY[:-1], CONFIG_CHANGE, keys.delete_topic("t"), keys.HANDED_BACK, *MARKS}
"""No value of theirs is wrong, or they are gone at once (a mark: as nothing moves), or other tests look at them."""
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from([2**31, 2**63, -1, "\ud800"]),
)
junk = st.recursive(
    scalars, lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(max_size=4), s, max_size=3), max_leaves=6
)
# Not the ids of the brokers that have nothing to do with it: one whose registration cannot be read is gone.
odd_names = st.text("0123456789abz._<>-", min_size=1, max_size=12).filter(lambda n: n not in {".", "..", "4", "5", "6"})


@st.composite
def values(draw: st.DrawFn, good: Any) -> bytes:
    """Something near a good value, or nothing like it."""
    if draw(st.integers(0, 3)) == 0:
        return draw(
            st.one_of(st.binary(max_size=20), st.sampled_from([b"", b"[" * 5000, b"1e999", b"\xff", b"{}", b"null"]))
        )
    value = json.loads(json.dumps(good))
    at = value
    while isinstance(at, dict) and at and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(at)))
        if not isinstance(at[name], dict):
            break
        at = at[name]
    if isinstance(at, dict):
        for name in draw(st.lists(st.sampled_from([*sorted(at), "unknown"]), max_size=2)):
            if draw(st.booleans()):
                at.pop(name, None)
            else:
                at[name] = draw(junk)
    else:
        value = draw(junk)
    return json.dumps(value).encode()


@st.composite
def writes(draw: st.DrawFn) -> list[tuple[str, bytes]]:
    """Some keys as others might write them, also under names that mean nothing."""
    found = {}
    for _ in range(draw(st.integers(1, 4))):
        key = draw(st.sampled_from(sorted(GOOD)))
        value = draw(values(GOOD[key]))
        if draw(st.integers(0, 4)) == 0 and key.count("/") > 2 and not key.endswith("/state"):
            key = f"{key.rpartition('/')[0]}/{draw(odd_names)}"
        found[key] = value
    return list(found.items())


def lead(cluster: Cluster) -> None:
    """Once the keys of the election are mended, the controller leads."""
    cluster.wait(200, 100)
    if cluster.controller.is_active:
        return
    described = cluster.controller.describe()
    assert described.findings or described.active_id is not None, "it does not lead and does not say why"
    for key in STOPPED_BY:
        if cluster.has(key):
            cluster.delete(key)
    cluster.wait(7_000, 3_500)
    assert cluster.controller.is_active


def works(cluster: Cluster) -> None:
    """A partition that has nothing to do with it is moved there and back."""
    cluster.host.answer = type(cluster.host)().answer
    lead(cluster)
    assert cluster.done(cluster.move([5, 6], "good")).target_replicas == (5, 6)
    assert cluster.done(cluster.isr([4, 5, 6], "good")).isr == (5, 6)
    assert "defect" not in cluster.findings()
    described = cluster.controller.describe()
    assert {4, 5, 6} <= set(described.live_brokers)
    assert described.waiting_requests == 0


def test_every_key_that_the_controller_reads_is_broken() -> None:
    read = {path for name, path in vars(keys).items() if name.isupper() and str(path).startswith("/")}
    assert {one for one in read if not any(key.startswith(one) for key in GOOD)} == NOT_READ


def before() -> Cluster:
    cluster = Cluster(start=False)
    cluster.join(2, 4, 5, 6)
    cluster.put("/brokers/topics/good", {"version": 1, "partitions": {"0": [4]}})
    return cluster


@pytest.mark.slow
@settings(max_examples=60)
@given(writes())
def test_broken_keys_that_a_takeover_finds_stop_nothing_else(found: list[tuple[str, bytes]]) -> None:
    cluster = before()
    for key, value in found:
        if cluster.other.get(key, timeout_s=1) is None:
            cluster.put(key, value)
    cluster.another(1)
    works(cluster)


@pytest.mark.slow
@settings(max_examples=60)
@given(writes(), writes())
def test_broken_keys_that_others_write_while_it_runs_stop_nothing_else(
    first: list[tuple[str, bytes]], second: list[tuple[str, bytes]]
) -> None:
    """Nor does what comes after them, nor the next takeover."""
    cluster = before()
    cluster.another(1)
    cluster.join(1)
    cluster.create("t", (1, 2))
    for found in (first, second):
        for key, value in found:
            cluster.put(key, value)
        lead(cluster)
        future = cluster.move([2], "t")
        lead(cluster)
        assert future.done()
    lead(cluster)
    cluster.error(cluster.move([5, 4], "good"))
    cluster.controllers.pop().close()
    if cluster.has(LEADER_KEY):
        cluster.delete(LEADER_KEY)
    cluster.another(2)
    works(cluster)


@pytest.mark.parametrize("key", [key for key in GOOD if key not in UNNAMED])
def test_a_key_that_is_no_json_is_named_in_describe(key: str) -> None:
    """With the key, what was expected and how the value begins; but configs may be secret."""
    cluster = before()
    if key.endswith("/state"):
        cluster.put(T, GOOD[T])
    if key == "/config/topics/t":
        cluster.put(T, GOOD[T])
    cluster.put(key, b"{oops")
    cluster.another(1)
    cluster.run()
    text = " ".join(f"{name} {finding}" for name, finding in cluster.findings().items())
    assert key in text
    assert ("[hidden]" if key.startswith("/config/") else "oops") in text
    works(cluster)
