"""Anybody may have written a key: the check says what it finds, and never ends in an exception.

And it sees: a known field of a healthy tree that is changed against a rule is found, whatever else stands there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from kedge.controller.check import SEVERITIES, inspect
from kedge.controller.codec.orders import FORMAT_KEY
from kedge.controller.rig import Rig
from kedge.stores.base import Entry
from tests.check.trees import entries, good, held
from tests.codec.strategies import JSON

ORDERS: Mapping[str, object] = {
    "/admin/reassign_partitions": {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]},
    "/admin/preferred_replica_election": {"version": 1, "partitions": [{"topic": "t", "partition": 0}]},
    "/admin/throttled_replicas_removal": {"topics": ["t"], "previous": {"t": {"c": {"set": ["1"], "was": None}}}},
    "/admin/throttled_rates_removal": {"brokers": [1], "previous": {"1": {"c": {"set": ["1"], "was": "2"}}}},
    "/admin/delete_topic_partitions/t": {"version": 1, "partitions": {"1": {"timestamp": 1, "immediate": False}}},
    "/admin/delete_topics/u": "",
    "/admin/replica_deletions/3/7": {"replicas": [{"topic": "t", "topic_id": "x", "partition": 0, "leader_epoch": 5}]},
    "/isr_change_notification/isr_change_0000000001": {"version": 1, "partitions": [{"topic": "t", "partition": 0}]},
    "/log_dir_event_notification/log_dir_event_0000000001": {"version": 1, "broker": 1, "event": 1},
}
TREE = entries(good() | dict(ORDERS))
AWKWARD = [
    b"", b"null", b"[]", b"{}", b"7", b"-1", b"1e999", b'"x"', b"\xff", b"[" * 5000, b'{"a":' * 5000, b"9" * 5000,
    b'{"version":NaN}', b'{"version":1,"partitions":null}', b"\x00", b'{"topic":"\\ud800"}',
]  # fmt: skip
NAMES = st.text("abct019._<>-", min_size=1, max_size=8).filter(lambda name: name not in {".", ".."})
KEYS = st.one_of(
    st.sampled_from([entry.key for entry in TREE]),
    st.builds(
        lambda above, name: f"{above}/{name}",
        st.sampled_from(["", *{e.key for e in TREE}, *{e.key.rpartition("/")[0] for e in TREE}]),
        NAMES,
    ),
)


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """Some key's value, whole, cut, with a field replaced or without it; or nothing like one."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.one_of(st.binary(max_size=30), st.sampled_from(AWKWARD), JSON.map(json.dumps).map(str.encode)))
    value = draw(st.sampled_from(TREE)).value
    if draw(st.integers(0, 3)) == 0:
        return value[: draw(st.integers(0, len(value)))]
    found = json.loads(value or b"{}")
    if isinstance(found, dict) and found:
        field = draw(st.sampled_from(sorted(found)))
        found[field] = draw(st.one_of(JSON, st.integers(-2, 5), st.lists(st.integers(-1, 4), max_size=3)))
        if draw(st.integers(0, 4)) == 0:
            del found[field]
    return json.dumps(found).encode()


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, st.one_of(st.none(), values()), max_size=6), st.randoms(use_true_random=False))
def test_whatever_stands_in_any_key_the_answer_is_findings(changed: dict[str, bytes | None], chance: Any) -> None:
    tree = {entry.key: entry for entry in TREE}
    for key, value in changed.items():
        tree.pop(key, None)
        if value is not None:
            tree[key] = Entry(key, value, TREE[0].version, 0, chance.randint(0, 20), chance.choice((None, 9)))
    found = list(tree.values())
    chance.shuffle(found)
    report = inspect(found)
    for finding in report.findings:
        assert finding.severity in SEVERITIES
        assert len(finding.got) < 500
        json.dumps(attrs.asdict(finding))
    assert report == inspect(sorted(found, key=lambda entry: entry.key))


@pytest.mark.parametrize("value", AWKWARD, ids=range(len(AWKWARD)))
def test_every_key_is_read_with_every_awkward_value(value: bytes) -> None:
    for at, entry in enumerate(TREE):
        changed = [*TREE[:at], attrs.evolve(entry, value=value), *TREE[at + 1 :]]
        assert inspect(changed).counts.keys == len(TREE)


# --- what is changed against a rule is found


@cache
def converged() -> tuple[Entry, ...]:
    """What a rig leaves: topics of several sizes, one of them moved, all at rest."""
    rig = Rig(seed=3, brokers={1: "a", 2: "b", 3: "c", 4: "a"}, controllers=1)
    rig.create_topic("clicks", 4, 2)
    (tp,) = rig.create_topic("orders", replicas=[[1, 2]], records=100)
    rig.create_topic("audit", replicas=[[1], [2], [3]], configs={"retention.ms": "5"})
    rig.reassign({tp: [3, 4]})
    rig.wait.until_replicas({tp: [3, 4]})
    rig.wait.until_converged()
    rig.check_end()
    return tuple(held(rig.server))


def _is_state(key: str) -> bool:
    return key.endswith("/state")


def _is_topic(key: str) -> bool:
    return key.startswith("/brokers/topics/") and key.count("/") == 3


Corruption = tuple[Callable[[str], bool], str, st.SearchStrategy[Any]]
JUNK: list[Any] = [None, True, "", "7", 0.5, [], [0]]
NO_NUMBER: st.SearchStrategy[Any] = st.sampled_from(JUNK)
STRANGERS = st.lists(st.integers(50, 99), min_size=1, max_size=3)
# Which keys, which field, and what breaks a rule there whatever stood before.
CORRUPTIONS: list[Corruption] = [
    (_is_state, "isr", st.one_of(STRANGERS, NO_NUMBER, st.just([1, 1]), st.just([-1]))),
    (_is_state, "leader", st.one_of(st.integers(50, 99), NO_NUMBER, st.just(-1), st.just(-2))),
    (_is_state, "leader_epoch", st.one_of(NO_NUMBER, st.integers(max_value=-1), st.just(2**31))),
    (_is_state, "controller_epoch", st.one_of(NO_NUMBER, st.integers(max_value=-1), st.integers(100))),
    (_is_state, "version", st.one_of(NO_NUMBER, st.integers(2))),
    (_is_state, "targetReplicas", st.one_of(st.just([-1]), st.just([1, 1]), st.booleans(), st.text())),
    (_is_state, "reassignment", st.one_of(st.text(min_size=1), st.just({"origin": [1], "started_ms": 1}))),
    (_is_state, "status_code", st.one_of(NO_NUMBER, st.just(-1), st.just(1), st.integers(2))),
    (_is_topic, "partitions", st.one_of(NO_NUMBER, st.just({}), st.just({"1": [1]}), st.just({"0": [1, 1]}),
                                        st.just({"0": [77]}), st.just({str(p): [1] for p in range(9)}))),
    (_is_topic, "topic_id", st.one_of(st.none(), st.just(""), st.just("short"), st.integers(1))),
    (_is_topic, "version", st.one_of(NO_NUMBER, st.integers(4))),
    (_is_topic, "adding_replicas", st.one_of(st.just({"0": [1]}), st.text(min_size=1))),
    (_is_topic, "retired_epochs", st.one_of(st.just({"0": 2**31 - 2**16}), st.text(min_size=1))),
    (lambda key: key.startswith("/kedge/brokers/"), "broker_epoch", st.one_of(NO_NUMBER, st.integers(10**6, 10**9))),
    (lambda key: key == "/kedge/commit", "controller_epoch", st.one_of(NO_NUMBER, st.integers(100))),
    (lambda key: key.startswith("/brokers/ids/"), "port", st.one_of(NO_NUMBER, st.integers(70_000))),
    (lambda key: key.startswith("/config/topics/"), "config", st.one_of(NO_NUMBER, st.just({"a": 1}))),
    (lambda key: key == "/controller", "brokerid", NO_NUMBER),
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_known_field_that_is_changed_against_a_rule_is_found(data: st.DataObject) -> None:
    tree = converged()
    matches, field, bad = data.draw(st.sampled_from(CORRUPTIONS))
    at = data.draw(st.sampled_from([i for i, entry in enumerate(tree) if matches(entry.key)]))
    value = json.loads(tree[at].value)
    value[field] = data.draw(bad)
    changed = attrs.evolve(tree[at], value=json.dumps(value).encode())
    findings = inspect([*tree[:at], changed, *tree[at + 1 :]]).findings
    assert findings, (changed.key, field, value[field])
    assert any(f.key.startswith(changed.key) or changed.key.startswith(f.key) for f in findings), findings


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_key_that_is_lost_is_found(data: st.DataObject) -> None:
    """A topic key, a state key, an epoch, the token, an admission: no such key of a converged rig can go unseen. (The
    format may be missing: every tree of a first version lacks it.)"""
    tree = converged()
    lost = data.draw(st.sampled_from([e.key for e in tree if not e.key.startswith("/config/") and e.key != FORMAT_KEY]))
    assert inspect([entry for entry in tree if entry.key != lost]).findings, lost


def test_nothing_is_found_in_the_tree_that_is_corrupted() -> None:
    assert inspect(converged()).findings == ()
