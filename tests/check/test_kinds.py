"""Each kind of finding, planted into a good tree: it is found, at its key, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.check import KINDS, SEVERITIES, inspect
from kedge.controller.keys.table import KINDS as KEY_KINDS
from kedge.stores.base import Depth
from tests.check.trees import GONE, MOVING, STATE, T_ID, U_ID, T, entries, good, planted, registration, state, topic

PAGE = Path(__file__).resolve().parents[2] / "docs" / "check.md"


def intents(*found: tuple[str, str, int]) -> dict[str, Any]:
    names = ("topic", "topic_id", "partition")
    return {"version": 1, "replicas": [dict(zip(names, one, strict=True)) | {"leader_epoch": 5} for one in found]}


def order(*partitions: tuple[str, int], **more: Any) -> dict[str, Any]:
    return {"version": 1, "partitions": [{"topic": t, "partition": p, **more} for t, p in partitions]}


def reduction(**partitions: bool) -> dict[str, Any]:
    found = {name[1:]: {"timestamp": 5, "immediate": now} for name, now in partitions.items()}
    return {"version": 1, "partitions": found}


STILL = {MOVING: state(1, [1, 2])}  # nothing moves any more
INTENTS = "/admin/replica_deletions/3/7"
LEGACY = "/admin/reassign_partitions"
DELETE = "/admin/delete_topics"
REDUCE = "/admin/delete_topic_partitions"
REPLICAS = "/admin/throttled_replicas_removal"
RATES = "/admin/throttled_rates_removal"
ELECT = "/admin/preferred_replica_election"
NO_BROKERS = {f"/{kind}/{b}": GONE for kind in ("brokers/ids", "kedge/brokers") for b in (1, 2, 3)}
NO_KEDGE = {"/kedge/commit": GONE, "/kedge/format": GONE, **{f"/kedge/brokers/{b}": GONE for b in (1, 2, 3)}}
CHANGE = {"version": 2, "entity_path": "topics/t"}
# What is planted -> severity, kind and key of all that is found.
CASES: list[tuple[dict[str, Any], list[tuple[str, str, str]]]] = [
    # --- what cannot be read
    ({STATE: b"{"}, [("error", "unreadable", STATE)]),
    ({STATE: state(1, [1, 2]) | {"leader": "1"}}, [("error", "unreadable", STATE)]),
    ({STATE: state(1, [1, 2]) | {"leader_epoch": -1}}, [("error", "unreadable", STATE)]),
    ({STATE: state(1, [1, 2], status_code=2)}, [("error", "unreadable", STATE)]),
    ({STATE: b"7"}, [("error", "unreadable", STATE)]),
    ({T: b"\xff"}, [("error", "unreadable", T)]),
    ({T: topic({"0": [1, 2], "1": [1, 2]}, "short")}, [("error", "unreadable", T)]),
    ({"/config/topics/t": b"{}"}, [("error", "unreadable", "/config/topics/t")]),
    ({"/config/brokers/1": b"{}"}, [("error", "unreadable", "/config/brokers/1")]),
    ({"/controller": b"x"}, [("error", "unreadable", "/controller")]),
    ({"/controller": b"{}"}, [("error", "unreadable", "/controller")]),
    ({"/controller_epoch": b"x"}, [("error", "unreadable", "/controller_epoch")]),
    ({"/kedge/commit": b"{}"}, [("error", "unreadable", "/kedge/commit")]),
    ({"/kedge/format": b"{}"}, [("error", "unreadable", "/kedge/format")]),
    ({"/kedge/brokers/1": b"{}"}, [("error", "unreadable", "/kedge/brokers/1")]),
    ({"/kedge/gateways/101": b"{}"}, [("error", "unreadable", "/kedge/gateways/101")]),
    ({"/kedge/gateways_secret": b"{}"}, [("error", "unreadable", "/kedge/gateways_secret")]),
    ({"/kedge/gateways/x": {"version": 1, "host": "h", "port": 1}}, [("error", "bad-name", "/kedge/gateways/x")]),
    ({"/cluster/id": b"{}"}, [("error", "unreadable", "/cluster/id")]),
    ({INTENTS: b"{}"}, [("error", "unreadable", INTENTS)]),
    ({LEGACY: b"{}"}, [("error", "unreadable", LEGACY)]),
    ({LEGACY: order(("t", 0), replicas="1")}, [("error", "unreadable", LEGACY)]),
    ({ELECT: b"[]"}, [("error", "unreadable", ELECT)]),
    ({REPLICAS: {"topics": "t"}}, [("error", "unreadable", REPLICAS)]),
    ({RATES: {"brokers": [-1]}}, [("error", "unreadable", RATES)]),
    ({RATES: {"brokers": [1], "previous": {"1": {"c": {"set": 1}}}}}, [("error", "unreadable", RATES)]),
    ({f"{REDUCE}/t": {"partitions": {"1": {}}}}, [("error", "unreadable", f"{REDUCE}/t")]),
    ({"/config/changes": b"x"}, [("error", "unreadable", "/config/changes")]),
    ({"/isr_change_notification/isr_change_0000000001": b"{}"},
     [("error", "unreadable", "/isr_change_notification/isr_change_0000000001"),
      ("warning", "notice-unread", "/isr_change_notification")]),
    ({"/brokers/ids/4": b"{}"}, [("error", "unreadable", "/brokers/ids/4")]),
    ({STATE: state(1, [])}, [("error", "empty-list", STATE)]),
    ({T: topic({"0": [1, 2], "1": []})}, [("error", "empty-list", T)]),
    ({T: topic({"0": [1, 1], "1": [1, 2]})}, [("error", "duplicate-broker", T)]),
    ({MOVING: state(1, [1, 2], targetReplicas=[])}, []),
    ({MOVING: state(1, [1, 2], targetReplicas=[3, 3])}, [("error", "duplicate-broker", MOVING)]),
    ({LEGACY: order(("t", 0), replicas=[1, 1])}, [("error", "duplicate-broker", LEGACY)]),
    ({LEGACY: order(("t", 0), replicas=[])}, [("error", "empty-list", LEGACY)]),
    ({T: topic({"0": [1, 2], "2": [1, 2]})}, [("error", "partition-hole", T)]),
    ({"/brokers/topics/a<b": topic({"0": [1]})}, [("error", "bad-name", "/brokers/topics/a<b")]),
    ({f"{T}/partitions/01/state": state(1, [1])}, [("error", "bad-name", f"{T}/partitions/01/state")]),
    ({"/brokers/ids/01": registration(1)}, [("error", "bad-name", "/brokers/ids/01")]),
    ({"/config/changes/other": CHANGE}, [("error", "bad-name", "/config/changes/other")]),
    ({"/admin/replica_deletions/x/7": intents()}, [("error", "bad-name", "/admin/replica_deletions/x/7")]),
    ({STATE: state(1, [1, 2]) | {"version": 2}}, [("warning", "unknown-version", STATE)]),
    ({T: topic({"0": [1, 2], "1": [1, 2]}) | {"version": 4}}, [("warning", "unknown-version", T)]),
    ({"/config/topics/t": {"version": "1", "config": {}}}, [("warning", "unknown-version", "/config/topics/t")]),
    ({"/mine/a": b"1", "/mine/b/c": b"", "/admin/mine/a": b""},
     [("note", "unknown-key", "/admin/mine"), ("note", "unknown-key", "/mine")]),
    ({f"{T}/partitions/0/mine": b"1"}, [("note", "unknown-key", "/brokers/topics")]),
    ({"/config/ips/u": b" " * 950_001}, [("error", "value-too-large", "/config/ips/u")]),
    ({"/config/ips/u": b" " * 900_000}, [("warning", "value-near-limit", "/config/ips/u")]),
    # --- topics and partitions
    ({T: {"version": 1, "partitions": {"0": [1, 2], "1": [1, 2]}}}, [("warning", "topic-id-missing", T)]),
    ({"/brokers/topics/u": topic({"0": [1]}), "/brokers/topics/u/partitions/0/state": state(1, [1])},
     [("error", "topic-id-twice", "/brokers/topics/u")]),
    ({T: topic({"0": [1, 2, 3], "1": [1, 2]}, adding_replicas={"0": [3]})}, [("note", "kafka-move", T)]),
    ({T: topic({"0": [1, 2], "1": [1, 2]}, removing_replicas={"1": [2]})}, [("note", "kafka-move", T)]),
    ({STATE: GONE}, [("warning", "state-missing", STATE)]),
    ({STATE: GONE, "/controller": GONE},
     [("note", "no-controller", "/controller"), ("note", "state-missing", STATE)]),
    ({STATE: GONE, T: topic({"0": [7], "1": [1, 2]})}, [("note", "state-missing", STATE)]),
    ({f"{T}/partitions/2/state": state(1, [1])}, [("warning", "orphan-state", f"{T}/partitions/2/state")]),
    ({"/brokers/topics/u/partitions/0/state": state(1, [1])}, [("warning", "orphan-topic", "/brokers/topics/u")]),
    ({STATE: state(1, [1, 3])}, [("error", "isr-outside", STATE)]),
    ({MOVING: state(1, [1, 2, 4], targetReplicas=[3]), "/brokers/ids/4": registration(4),
      "/kedge/brokers/4": {"broker_epoch": 14}}, [("error", "isr-outside", MOVING)]),
    ({STATE: state(3, [1, 2])}, [("error", "leader-outside-isr", STATE)]),
    ({"/brokers/ids/1": GONE},
     [("warning", "leader-gone", STATE), ("warning", "leader-gone", MOVING),
      ("note", "broker-down", "/kedge/brokers/1")]),
    ({"/brokers/ids/1": GONE, "/controller": GONE},
     [("note", "leader-gone", STATE), ("note", "leader-gone", MOVING), ("note", "no-controller", "/controller"),
      ("note", "broker-down", "/kedge/brokers/1")]),
    ({"/brokers/ids/2": GONE, MOVING: state(1, [1])},
     [("warning", "isr-gone", STATE), ("note", "broker-down", "/kedge/brokers/2")]),
    ({STATE: state(-1, [1, 2])}, [("warning", "no-leader", STATE)]),
    ({T: topic({"0": [1, 2, 102], "1": [1, 2]})}, [("warning", "never-a-broker", "/brokers/ids/102")]),
    ({MOVING: state(1, [1, 2], targetReplicas=[2, 102])}, [("warning", "never-a-broker", "/brokers/ids/102")]),
    ({T: topic({"0": [1, 2, 4], "1": [1, 2]}), "/kedge/brokers/4": {"broker_epoch": 9}},
     [("note", "broker-down", "/kedge/brokers/4")]),
    ({STATE: state(-1, [2]), MOVING: state(1, [1]), "/brokers/ids/2": GONE},
     [("note", "offline", STATE), ("note", "broker-down", "/kedge/brokers/2")]),
    ({MOVING: state(1, [1, 2, 3], targetReplicas=[2, 3])}, [("warning", "unfinished-completion", MOVING)]),
    ({MOVING: state(2, [2, 3], targetReplicas=[2, 3]), T: topic({"0": [1, 2], "1": [2, 3]})},
     [("warning", "unfinished-completion", MOVING)]),
    ({STATE: state(1, [1, 2], reassignment={"origin": [1], "started_ms": 1})},
     [("warning", "orphan-reassignment", STATE)]),
    ({STATE: state(1, [1, 2], leader_recovery_state=1)}, [("error", "recovering-isr", STATE)]),
    ({T: topic({"0": [1, 2], "1": [1, 2]}, retired_epochs={"1": 5, "3": 9})}, [("error", "retired-epoch", MOVING)]),
    ({STATE: state(1, [1, 2]) | {"controller_epoch": 4}}, [("error", "state-epoch", STATE)]),
    ({STATE: state(1, [1, 2]) | {"controller_epoch": "3"}}, [("error", "state-epoch", STATE)]),
    ({STATE: state(1, [1, 2], status_code=-1)}, [("warning", "status-without-order", STATE)]),
    # --- orders
    ({INTENTS: intents()}, [("warning", "empty-key", INTENTS)]),
    ({LEGACY: order()}, [("warning", "empty-key", LEGACY)]),
    ({REPLICAS: {"version": 1, "topics": []}}, [("warning", "empty-key", REPLICAS)]),
    ({f"{REDUCE}/t": reduction()}, [("warning", "empty-key", f"{REDUCE}/t")]),
    ({INTENTS: intents(("t", T_ID, 0))}, [("note", "open-intent", INTENTS)]),
    ({INTENTS: intents(("t", T_ID, 7))}, [("note", "open-intent", INTENTS)]),
    ({INTENTS: intents(("gone", U_ID, 0)), "/brokers/ids/3": GONE},
     [("note", "open-intent", INTENTS), ("note", "broker-down", "/kedge/brokers/3")]),
    ({INTENTS: intents(("t", T_ID, 1))}, [("warning", "void-intent", INTENTS)]),
    ({"/admin/replica_deletions/1/7": intents(("t", T_ID, 0), ("t", U_ID, 0))},
     [("warning", "stale-intent", "/admin/replica_deletions/1/7"),
      ("warning", "void-intent", "/admin/replica_deletions/1/7")]),
    ({INTENTS: intents(("gone", U_ID, 0))}, [("warning", "stale-intent", INTENTS)]),
    ({"/admin/replica_deletions/8/7": intents(("t", T_ID, 0))},
     [("warning", "orphan-intent", "/admin/replica_deletions/8/7")]),
    ({"/admin/replica_deletions/3/41": intents(("t", T_ID, 0))},
     [("warning", "seq-ahead", "/admin/replica_deletions/3/41"),
      ("note", "open-intent", "/admin/replica_deletions/3/41")]),
    ({LEGACY: order(("t", 9), replicas=[1])}, [("warning", "unknown-partition", LEGACY)]),
    ({LEGACY: order(("u", 0), replicas=[1])}, [("warning", "unknown-partition", LEGACY)]),
    ({ELECT: order(("u", 0))}, [("warning", "unknown-partition", ELECT), ("note", "order-pending", ELECT)]),
    ({LEGACY: order(("t", 0), replicas=[3])}, [("note", "order-pending", LEGACY)]),
    ({LEGACY: order(("t", 1), replicas=[3, 2])}, []),  # it moves there
    ({f"{DELETE}/t": b""}, [("note", "deletion-under-way", f"{DELETE}/t")]),
    ({f"{DELETE}/t": b"", STATE: GONE, MOVING: state(-1, [1, 2])}, [("note", "deletion-under-way", f"{DELETE}/t")]),
    ({f"{DELETE}/u": b"", "/config/topics/u": {"config": {}}},
     [("note", "orphan-config", "/config/topics/u"), ("note", "deletion-under-way", f"{DELETE}/u")]),
    ({f"{DELETE}/u": b""}, [("warning", "deletion-left-behind", f"{DELETE}/u")]),
    ({f"{REDUCE}/t": reduction(p1=False), MOVING: state(1, [1, 2], status_code=-1)},
     [("note", "reduction-under-way", f"{REDUCE}/t")]),
    ({f"{REDUCE}/t": reduction(p1=True, p2=True), MOVING: state(1, [1, 2], status_code=1),
      "/admin/replica_deletions/1/7": intents(("t", T_ID, 1))},
     [("note", "reduction-under-way", f"{REDUCE}/t"), ("note", "open-intent", "/admin/replica_deletions/1/7")]),
    ({f"{REDUCE}/u": reduction(p1=False)}, [("warning", "reduction-left-behind", f"{REDUCE}/u")]),
    ({f"{REDUCE}/t": reduction(p1=False), MOVING: GONE}, [("note", "reduction-under-way", f"{REDUCE}/t")]),
    ({f"{REDUCE}/t": reduction(p0=False), STATE: state(1, [1, 2], status_code=-1)},
     [("error", "reduction-not-tail", f"{REDUCE}/t"), ("note", "reduction-under-way", f"{REDUCE}/t")]),
    ({f"{REDUCE}/t": reduction(p1=False)},
     [("warning", "reduction-not-begun", MOVING), ("note", "reduction-under-way", f"{REDUCE}/t")]),
    ({REPLICAS: {"topics": ["t"]}, RATES: {"brokers": [1, 2]}}, []),  # t-1 moves
    ({REPLICAS: {"topics": ["t"]}, **STILL}, [("warning", "throttle-removal-due", REPLICAS)]),
    ({RATES: {"brokers": [1]}, **STILL}, [("warning", "throttle-removal-due", RATES)]),
    ({"/admin/remove_throttled_rates": {"brokers": [1]}, **STILL},
     [("warning", "throttle-removal-due", "/admin/remove_throttled_rates")]),
    ({RATES: {"brokers": [1]}, **STILL, LEGACY: order(("t", 0), replicas=[3])}, [("note", "order-pending", LEGACY)]),
    ({REPLICAS: {"topics": ["u"]}}, [("warning", "unknown-partition", REPLICAS)]),
    # --- the cluster
    ({"/controller": GONE}, [("note", "no-controller", "/controller")]),
    ({"/controller_epoch": GONE}, [("error", "epoch-missing", "/controller_epoch")]),
    ({"/controller_epoch": 4, "/kedge/commit": {"controller_epoch": 5, "seq": 9, "nonce": ""}},
     [("error", "token-ahead", "/kedge/commit")]),
    ({"/kedge/commit": GONE}, [("warning", "token-missing", "/kedge/commit")]),
    (NO_KEDGE, [("note", "never-led", "/kedge/commit")]),
    ({"/kedge/format": {"version": 1, "min_controller": 3}}, [("error", "format-newer", "/kedge/format")]),
    ({"/kedge/migration": {"migration": "a1", "moved_to": "etcd://h/p"}},
     [("warning", "store-move", "/kedge/migration")]),
    ({"/kedge/migration": {"migration": "a1"}}, [("error", "unreadable", "/kedge/migration")]),
    ({"/controller": {"migrates": "etcd://h/p"}}, []),
    (NO_BROKERS, [("note", "no-broker", "/brokers/ids")]),
    ({"/kedge/brokers/1": {"broker_epoch": 12}}, [("error", "admitted-ahead", "/kedge/brokers/1")]),
    ({"/kedge/brokers/1": {"broker_epoch": 10}}, [("warning", "not-admitted", "/kedge/brokers/1")]),
    ({"/kedge/brokers/3": GONE}, [("warning", "not-admitted", "/kedge/brokers/3")]),
    ({"/brokers/ids/3": GONE}, [("note", "broker-down", "/kedge/brokers/3")]),
    ({"/config/topics/u": {"config": {}}}, [("warning", "orphan-config", "/config/topics/u")]),
    ({"/log_dir_event_notification/log_dir_event_0000000001": {"version": 1, "broker": 1, "event": 1}},
     [("warning", "notice-unread", "/log_dir_event_notification")]),
    ({"/config/changes/config_change_0000000001": CHANGE},
     [("warning", "seq-ahead", "/config/changes/config_change_0000000001")]),
    ({f"/config/changes/config_change_{n:010}": CHANGE for n in range(1001)} | {"/config/changes": 1001},
     [("warning", "changes-left", "/config/changes")]),
]  # fmt: skip


def test_a_good_tree_has_no_findings() -> None:
    report = inspect(entries(good()))
    assert report.findings == ()
    counts = report.counts
    assert (counts.topics, counts.partitions, counts.brokers, counts.moves, counts.intents) == (1, 2, 3, 1, 0)


@pytest.mark.parametrize("keys,expected", CASES, ids=lambda v: ",".join(v)[:70] if isinstance(v, dict) else "")
def test_what_is_planted_is_found_and_nothing_else(keys: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    found = planted(keys)
    assert sorted((f.severity, f.kind, f.key) for f in found) == sorted(expected)
    assert all(f.what for f in found)


@pytest.mark.parametrize("key,kind", [("/controller", "controller-stays"), ("/brokers/ids/1", "registration-stays")])
def test_a_key_that_should_be_ephemeral_and_is_not_is_found(key: str, kind: str) -> None:
    """It belongs to no session, so no controller could be elected, and no death of a broker be seen."""
    assert [(f.severity, f.kind, f.key) for f in planted({}, lasting=[key])] == [("warning", kind, key)]


def test_a_store_without_any_key_is_found() -> None:
    assert [f.kind for f in inspect([]).findings] == ["empty-tree"]


def test_every_kind_is_planted_somewhere() -> None:
    told = {kind for _, expected in CASES for _, kind, _ in expected}
    assert told | {"controller-stays", "registration-stays", "empty-tree"} == set(KINDS)


def test_the_page_lists_every_kind_with_its_severity_and_meaning() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert {name: (severity, meaning) for name, severity, meaning in rows} == {
        name: (kind.severity, kind.meaning) for name, kind in KINDS.items()
    }


def test_findings_say_where_what_was_expected_and_got() -> None:
    (found,) = planted({STATE: state(1, [1, 2], reassignment=[1], targetReplicas=[3])})
    assert (found.what, found.expected, found.got) == ("reassignment", "a JSON object", "[1]")
    (found,) = planted({STATE: state(3, [1, 2])})
    assert (found.what, found.expected, found.got) == ("leader", "one of [1, 2], or -1", "3")
    (found,) = planted({STATE: b"{"})
    assert (found.what, found.expected, found.got) == ("value", "JSON", "b'{'")


def test_findings_come_worst_first_then_by_key() -> None:
    report = inspect(entries(good() | {STATE: b"", MOVING: state(3, [1]), "/mine": b"1", INTENTS: intents()}))
    order = [(SEVERITIES.index(f.severity), f.key) for f in report.findings]
    assert order == sorted(order)
    assert len(report.at_least("error")) == 2
    assert len(report.at_least("warning")) == 3
    assert len(report.at_least("note")) == 4


def test_states_of_an_unreadable_topic_are_no_orphans() -> None:
    """What its replicas are cannot be known, so only what a state key says by itself is looked at."""
    assert [f.kind for f in planted({T: b"{", STATE: state(3, [1, 2])})] == ["unreadable", "leader-outside-isr"]


def test_zookeepers_nodes_without_data_are_no_findings() -> None:
    parents = ["/admin", "/brokers", "/brokers/ids", "/brokers/topics", f"{T}/partitions", f"{T}/partitions/0",
               "/config", "/config/topics", "/consumers", "/kedge", "/admin/replica_deletions", "/admin/delete_topics",
               "/isr_change_notification", "/log_dir_event_notification", "/config/users"]  # fmt: skip
    assert planted(dict.fromkeys(parents, b"")) == ()


@pytest.mark.parametrize("root, depth", [found for kind in KEY_KINDS for found in kind.roots])
def test_a_key_that_controllers_look_at_is_known(root: str, depth: Depth | None) -> None:
    """A kind of key that is new to the controller is new to the check."""
    path = root if depth is Depth.SELF else f"{root}/somebody's"
    assert [found.key for found in planted({path: b"{"}) if found.kind in ("unreadable", "bad-name")] == [path]
