"""Keys of one kind are read together: how many reads there are does not depend on how many keys changed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

import pytest

import kedge.controller.keys
from kedge import Settings
from kedge.controller.codec import keys
from kedge.controller.keys.base import KeyKind
from kedge.controller.keys.table import KINDS
from kedge.stores.recipes import TOKEN_KEY
from tests.runtime.world import Cluster

READS = ("get", "get_many", "get_columns", "children")
MANY = 300
CONFIG = {"version": 1, "config": {"unclean.leader.election.enable": "true"}}


def topic(cluster: Cluster, number: int) -> None:
    cluster.put(keys.topic(f"n{number}"), {"version": 1, "partitions": {"0": [1, 2]}})


def isr_notification(cluster: Cluster, number: int) -> None:
    value = {"version": 1, "partitions": [{"topic": f"t{number}", "partition": 0}]}
    cluster.put(f"{keys.ISR_CHANGES}/isr_change_{number:010}", value)


def reduction(cluster: Cluster, number: int) -> None:
    entry = {"timestamp": cluster.clock.now_ms(), "immediate": False}
    cluster.put(keys.delete_partitions(f"t{number}"), {"version": 1, "partitions": {"1": entry}})


WRITES: dict[str, Callable[[Cluster, int], None]] = {
    "topics": topic,
    "configs of topics": lambda cluster, number: cluster.put(keys.topic_config(f"t{number}"), CONFIG),
    "configs of brokers": lambda cluster, number: cluster.put(keys.broker_config(str(number)), CONFIG),
    "notifications": isr_notification,
    "reductions": reduction,
}


def reads_of(written: Callable[[Cluster, int], None], count: int) -> tuple[int, int]:
    """Reads and commits that follow when another client writes so many keys at once."""
    cluster = Cluster(settings=Settings(delete_topic_partition_enable=True, commit_decisions_max=5_000))
    cluster.join(1, 2)
    for number in range(count):
        cluster.create(f"t{number}", (1, 2), (1, 2))
    for number in range(count):
        written(cluster, number)
    cluster.store.forget_calls()
    seq = cluster.get(TOKEN_KEY)["seq"]
    cluster.run()
    assert cluster.findings() == {}
    return sum(call.name in READS for call in cluster.store.calls), cluster.get(TOKEN_KEY)["seq"] - seq


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITES)
def test_many_keys_are_read_and_worked_off_together(kind: str) -> None:
    """The loop stands still while it reads: not key by key. Neither is there a commit for each."""
    reads, commits = reads_of(WRITES[kind], 100)
    assert reads <= reads_of(WRITES[kind], 1)[0] + 8
    assert commits <= 8


def test_foreign_topic_of_many_partitions_is_read_at_once() -> None:
    cluster = Cluster()
    cluster.join(1, 2)
    cluster.store.forget_calls()
    cluster.put(keys.topic("n"), {"version": 1, "partitions": {str(number): [1, 2] for number in range(MANY)}})
    cluster.run()
    assert cluster.done(cluster.controller.query(lambda view: view.partition_count("n"))) == MANY
    reads = [call for call in cluster.store.calls if call.name in READS]
    assert len([call for call in reads if any(key.endswith("/state") for key in call.keys)]) == 1
    assert len(reads) <= 12  # those of what our own commit wrote among them


@pytest.mark.checklist(273)
def test_every_kind_of_key_is_in_the_table() -> None:
    """One that is missing would be neither loaded nor watched; no two have one name or one root."""
    for module in pkgutil.iter_modules(kedge.controller.keys.__path__):
        importlib.import_module(f"kedge.controller.keys.{module.name}")
    found, waiting = set[type[KeyKind]](), [KeyKind]
    while waiting:
        below = waiting.pop().__subclasses__()
        found.update(
            kind for kind in below if "name" in vars(kind) and kind.__module__.startswith("kedge.controller.keys")
        )
        waiting += below
    assert found == set(KINDS)
    roots = [root for kind in KINDS for root, _ in kind.roots]
    assert (len({kind.name for kind in KINDS}), len(set(roots))) == (len(KINDS), len(roots))
