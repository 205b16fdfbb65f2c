"""Reads brokers, partitions and retention from a metadata store, or from a recorded tree.

* It uses the controller's codec, so that it refuses what a controller would refuse. A key that cannot be read is
  rejected, and only its partition or topic is left out.
* A broker that holds replicas and is not registered is dead. A tree without registrations (the file of a memory store
  has no ephemeral keys) does not show which brokers are alive.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from typing import Final

from ...controller.codec import broker as broker_codec
from ...controller.codec import bulk, keys
from ...controller.codec.names import broker_in, is_topic
from ...controller.codec.small import decode_config
from ...controller.codec.text import BadValue
from ...controller.codec.topic import TopicKey
from ...controller.model import numerals
from ...controller.model.values import Partition, Replicas
from ...stores import Corrupt, MetadataStore, StoreError, open_store, public_url, transfer
from ...stores.tree import entries_of
from ..errors import BadInput
from ..tables.declared import ALIVE
from .gathered import Gathered

READ_ALL_S: Final = 120.0
_RETENTION: Final = "retention.ms"


def from_store(store: MetadataStore, source: str, into: Gathered, *, timeout_s: float) -> bool:
    """Read `store`, and return whether it was an atomic snapshot. Raises the store's errors."""
    snapshot = store.snapshot("/", timeout_s=timeout_s)
    _take(((entry.key, entry.value) for entry in snapshot.entries), source, into)
    return snapshot.consistent


def from_url(url: str, into: Gathered, *, timeout_s: float = READ_ALL_S) -> bool:
    """As `from_store`, of the store that `url` names. Raises BadInput if it cannot be opened or read."""
    try:
        with closing(open_store(url, read_only=True)) as store:
            return from_store(store, public_url(url), into, timeout_s=timeout_s)
    except (StoreError, ValueError, OSError) as error:  # the last of the file of a memory store
        raise BadInput(f"{public_url(url)}: cannot be read: {error}") from None


def from_tree_file(data: bytes, source: str, into: Gathered) -> None:
    """Read the tree in a file: a memory store's snapshot, or a recorded tree including ephemeral keys."""
    try:
        tree = transfer.parse(data, source)
        if tree.format == "recorded tree":
            entries = entries_of(json.loads(data), source)
            _take(((e.key, e.value) for e in entries if e.value is not None), source, into)
        else:
            _take(tree.values.items(), source, into)
    except Corrupt as error:
        raise BadInput(str(error)) from None


def _take(entries: Iterable[tuple[str, bytes]], source: str, into: Gathered) -> None:
    topics: dict[str, bytes] = {}
    states: dict[tuple[str, int], bytes] = {}
    retention: dict[str, int] = {}
    for key, value in entries:
        place = keys.partition_of(key)
        if place is not None:
            states[place] = value
        elif key.startswith(f"{keys.BROKER_IDS}/"):
            _broker(key, value, source, into)
        elif key.startswith(f"{keys.CONFIG_TOPICS}/") and value:
            _retention(key, value, source, into, retention)
        elif (name := keys.topic_of(key)) is not None and value:
            topics[name] = value
    _partitions(topics, states, retention, source, into)


def _broker(key: str, value: bytes, source: str, into: Gathered) -> None:
    try:
        found = broker_codec.decode(value, broker_in(key.rpartition("/")[2]))
    except (ValueError, TypeError) as error:
        into.rejects.add(source, None, _text(key, value), str(error))
        return
    into.knows_alive = True
    into.broker(found.broker_id, host=found.host, rack=found.rack, state=ALIVE)


def _retention(key: str, value: bytes, source: str, into: Gathered, found: dict[str, int]) -> None:
    try:
        said = decode_config(value).get(_RETENTION)
    except (ValueError, TypeError) as error:
        into.rejects.add(source, None, key, str(error))  # the value may have passwords
        return
    retention_ms = None if said is None else numerals.whole(said.strip(), low=None)
    if retention_ms is not None:
        found[key.rpartition("/")[2]] = retention_ms
    elif said is not None:
        into.rejects.add(source, None, key, f"{_RETENTION}: expected a whole number, got {said!r:.80}")


def _partitions(
    topics: dict[str, bytes],
    states: dict[tuple[str, int], bytes],
    retention: dict[str, int],
    source: str,
    into: Gathered,
) -> None:
    reader, names = bulk.Bulk(), sorted(topics)
    for name, found in zip(names, reader.topics(names, [topics[name] for name in names]), strict=True):
        if isinstance(found, BadValue) or not is_topic(name):
            reason = str(found) if isinstance(found, BadValue) else "the key's name is no valid topic name"
            into.rejects.add(source, None, _text(keys.topic(name), topics[name]), reason, topic=name)
            continue
        said = reader.states([states.pop((name, p), None) for p in range(len(found.assignments))])
        for number, replicas in enumerate(found.assignments):
            try:
                partition = said.partition(number, name, number, replicas, 0)
            except BadValue as error:
                row = {"key": keys.state(name, number), "topic": name, "partition": number, "replicas": list(replicas)}
                into.rejects.add(source, None, row, str(error))
                continue
            into.partitions.append(_row(partition, found, retention.get(name)))
    for name, number in sorted(states):
        reason = "the state key belongs to a partition that no topic key lists"
        into.rejects.add(source, None, _text(keys.state(name, number), states[name, number]), reason)


def target_of(partition: Partition, of: TopicKey) -> Replicas | None:
    """The target of its reassignment, also of one of Kafka's controller that is not taken over yet."""
    kafka = of.topic.kafka_moves.get(partition.partition)
    if partition.target_replicas is None and kafka is not None:
        return tuple(broker for broker in kafka.replicas if broker not in kafka.removing)
    return partition.target_replicas


def _row(partition: Partition, of: TopicKey, retention_ms: int | None) -> tuple[object, ...]:
    return (
        partition.topic,
        partition.partition,
        partition.replicas,
        partition.isr,
        partition.leader,
        partition.leader_epoch,
        target_of(partition, of),
        partition.status_code,
        retention_ms,
        None,
    )


def _text(key: str, value: bytes) -> str:
    return f"{key} {value.decode('utf-8', 'backslashreplace')}"
