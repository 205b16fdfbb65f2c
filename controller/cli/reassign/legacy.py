"""--generate, --execute and --verify with --zookeeper: by the key that Kafka's tools wrote to ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import click

from ....stores import ABSENT, Conflict, Invalid, MetadataStore, Put, StoreError, open_store
from ...codec import broker as broker_codec
from ...codec import keys, legacy
from ...codec import topic as topic_codec
from ...codec.text import BadValue
from ...model import numerals
from ...model.legacy import LegacyEntry
from ...model.values import TopicPartition
from ..kafka.errors import Failed, dumped, named
from ..kafka.values import Broker, PartitionState, TopicState
from ..printing import confirming, ids, without_place
from ..store.meant import require_cluster
from .plan import Plan, current_replicas, document, generate, reassignments, replicas_of
from .verify import Request, described, rollback_text, states, text

_CALL_S: Final = 30.0


_RUNS: Final = "There is an existing assignment running."


class Tree:
    def __init__(self, store: MetadataStore) -> None:
        self.store: Final = store

    def brokers(self) -> dict[int, Broker]:
        found = {}
        for name in self.store.children(keys.BROKER_IDS, timeout_s=_CALL_S):
            broker = numerals.whole(name, 0, numerals.INT_MAX)
            entry = None if broker is None else self.store.get(keys.broker(broker), timeout_s=_CALL_S)
            if broker is not None and entry is not None:
                found[broker] = Broker(broker, "", -1, broker_codec.decode(entry.value, broker).rack)
        return dict(sorted(found.items()))

    def topics(self, names: Collection[str] | None = None) -> dict[str, TopicState]:
        wanted = sorted(self.store.children(keys.TOPICS, timeout_s=_CALL_S) if names is None else names)
        entries = self.store.get_many([keys.topic(name) for name in wanted], timeout_s=_CALL_S)
        return {
            name: _topic(name, entry.value) for name, entry in zip(wanted, entries, strict=True) if entry is not None
        }

    def running(self) -> frozenset[TopicPartition]:
        entry = self.store.get(keys.REASSIGN_PARTITIONS, sync=True, timeout_s=_CALL_S)
        if entry is None:
            return frozenset()
        found = legacy.decode(entry.value).entries
        return frozenset(TopicPartition(each.topic, each.partition) for each in found)

    def has_key(self) -> bool:
        return self.store.get(keys.REASSIGN_PARTITIONS, sync=True, timeout_s=_CALL_S) is not None


@contextmanager
def opened(place: str) -> Iterator[Tree]:
    """The tree at HOST:PORT[,...][/CHROOT]. Raises Failed for errors of the store and keys that cannot be read, and
    UsageError if there is no cluster."""
    try:
        store = open_store(f"zookeeper://{place}")
        try:
            _require_cluster(store, place)
            yield Tree(store)
        finally:
            store.close()
    except (StoreError, BadValue, ValueError) as error:
        raise Failed(f"{place}: {without_place(error)}") from None


def _require_cluster(store: MetadataStore, place: str) -> None:
    try:
        require_cluster(store, "check the chroot")
    except Invalid as error:
        raise click.UsageError(f"--zookeeper: {place} {error}") from None


def _topic(name: str, value: bytes) -> TopicState:
    found = topic_codec.decode(value, name)
    states = tuple(PartitionState(i, None, replicas, ()) for i, replicas in enumerate(found.assignments))
    return TopicState(name, found.topic.topic_id, is_internal=False, partitions=states)


def _execute(tree: Tree, request: Request) -> None:
    """Writes the key, unless one exists."""
    plan = request.the_plan
    if plan.dirs:
        raise Failed("log_dirs: expected none with --zookeeper, which cannot move directories; use --bootstrap-server")
    if tree.has_key():
        raise Failed(_RUNS)
    current = current_replicas(tree, plan)
    say = confirming(as_json=request.as_json)
    if not request.as_json:
        click.echo(rollback_text(current))
    _put(tree, plan)
    say(f"Successfully started {reassignments(plan.entries)} for {ids(plan.entries)}")
    if request.as_json:
        answer = {"current": document(current), "started": named(plan.entries), "refused": [], "throttle": None}
        click.echo(dumped(answer))


def _put(tree: Tree, plan: Plan) -> None:
    entries = [LegacyEntry(tp.topic, tp.partition, replicas) for tp, replicas in plan.targets.items()]
    value = legacy.encode(entries)
    if len(value) > legacy.BYTES_MAX:
        raise Failed(f"the plan has {len(value)} bytes, expected at most {legacy.BYTES_MAX}: split it")
    try:
        tree.store.commit([Put(keys.REASSIGN_PARTITIONS, value, ABSENT)], timeout_s=_CALL_S)
    except Conflict:
        raise Failed(_RUNS) from None


def _verify(tree: Tree, request: Request) -> None:
    plan, runs = request.the_plan, tree.running()
    present = replicas_of(tree.topics(plan.topics).values())
    found = states(plan, runs, present)
    if request.as_json:
        answer = {"partitions": described(plan, found, present), "log_dirs": [], "throttles_cleared": False}
        click.echo(dumped(answer))
    else:
        click.echo(text(plan, found, present) + "\n")


ACTIONS: Final[Mapping[str, Callable[[Tree, Request], None]]] = {
    "generate": lambda tree, request: generate(tree, request.the_wanted, as_json=request.as_json),
    "execute": _execute,
    "verify": _verify,
}
