"""The table of kinds of keys: each has a word of its own, and keys of one kind are read together."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import kedge.controller.keys
from kedge.controller.codec import keys
from kedge.controller.keys.base import KeyContext, KeyKind
from kedge.controller.keys.notifications import NotificationKeys
from kedge.controller.keys.table import KINDS, KeyKinds
from kedge.controller.model.events import NotificationDone, StateKeyRead
from kedge.controller.model.values import Partition, Settings, Topic
from kedge.controller.state import ClusterState, DirtyKey
from kedge.stores import ABSENT, FaultStore, MemoryStore, Put

MANY = range(100)
MARKS: dict[str, list[DirtyKey]] = {
    "state": [("state", number) for number in MANY],
    "topic": [("topic", f"t{number}") for number in MANY],
    "deletion": [("deletion", f"t{number}") for number in MANY],
    "reduction": [("reduction", f"t{number}") for number in MANY],
    "config": [("config", f"t{number}") for number in MANY],
    "broker config": [("broker config", str(number)) for number in MANY],
    "admitted": [("admitted", number) for number in MANY],
}


def kinds() -> tuple[KeyKinds, FaultStore]:
    """The kinds of a term with topics of one partition each, over a store that has none of their keys."""
    store, state = FaultStore(MemoryStore()), ClusterState(1, 1, Settings())
    for number in MANY:
        state.add_partition(state.add_topic(Topic(f"t{number}", "i"), {}), Partition(f"t{number}", 0, (1,), (1,), 1, 0))
    return KeyKinds(KeyContext(state, store)), store


def test_each_kind_has_a_word_and_roots_of_its_own() -> None:
    words, roots = [kind.name for kind in KINDS], [root for kind in KINDS for root, _ in kind.roots]
    assert len(set(words)) == len(words)
    assert len(set(roots)) == len(roots)


@pytest.mark.parametrize("word", MARKS)
def test_a_hundred_keys_are_read_again_by_few_reads(word: str) -> None:
    """The loop stands still while it reads: not key by key."""
    of, store = kinds()
    of.reread(MARKS[word], 1, 0)
    assert 1 <= len(store.calls) <= 3


@pytest.mark.parametrize("path", [keys.topic("t1"), keys.broker_config("1"), keys.state("t1", 0), keys.TOPICS])
def test_a_hint_waits_at_the_one_kind_whose_key_it_is(path: str) -> None:
    of, _ = kinds()
    of.hint(path)
    of.hint("/elsewhere/t1")
    assert [list(kind.hinted) for kind in of if kind.hinted] == [[path]]


def test_partitions_of_many_notifications_are_read_together() -> None:
    """A hundred leaders that changed an ISR cost the loop no more reads than one."""
    of, store = kinds()
    paths = [f"{keys.ISR_CHANGES}/isr_change_{number:010}" for number in MANY]
    values = [f'{{"version":1,"partitions":[{{"topic":"t{number}","partition":0}}]}}'.encode() for number in MANY]
    store.commit([Put(path, value, ABSENT) for path, value in zip(paths, values, strict=True)], timeout_s=1)
    store.forget_calls()
    found = of.one(NotificationKeys).look(paths, 0)
    assert [type(event) for event in found] == [StateKeyRead] * 100 + [NotificationDone] * 100
    assert len(store.calls) <= 4


@pytest.mark.checklist(273)
def test_every_kind_of_key_is_in_the_table() -> None:
    """One that is missing would be neither loaded nor watched."""
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
