"""The parts of the state that answers need, read on the controller's loop as plain values.

Replicas of a moving partition are given as Kafka's tools calculate: T, then the rest of R (`full`); T without the
replicas from before the move counts as being added, so that tools show the former replication factor.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from uuid import UUID

import attrs

from ..coordinators.partitions import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from ..model.reductions import OFFLINE
from ..model.values import NO_LEADER, Endpoint, Partition, Replicas
from ..model.view import ClusterView
from .calls import Call
from .slices import sliced

INTERNAL = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)


@attrs.frozen
class BrokerRow:
    """A live broker. `endpoints`: its registered listeners."""

    broker_id: int
    rack: str | None
    endpoints: tuple[Endpoint, ...]


@attrs.frozen(weakref_slot=False)
class PartitionRow:
    """A partition for clients; `leader` -1: it has none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: Replicas
    isr: Replicas
    offline: Replicas
    status_code: int


@attrs.frozen
class TopicRow:
    """A topic, with the partitions that clients may see."""

    name: str
    topic_id: UUID | None
    partitions: tuple[PartitionRow, ...]

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL


@attrs.frozen
class ClusterRow:
    """The cluster, and the requested topics. `controller_id`: the node that clients take for the controller;
    `leading_id`: the id of the controller itself, which need not be a broker."""

    brokers: tuple[BrokerRow, ...]
    controller_id: int
    leading_id: int
    topics: tuple[TopicRow, ...]

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(broker.broker_id for broker in self.brokers)


def cluster(names: Iterable[str] | None, view: ClusterView) -> ClusterRow:
    """The brokers, and the existing topics with these names (None: every topic), in the order of the names."""
    chosen = sorted(view.topic_names()) if names is None else names
    topics = tuple(row for name in chosen if (row := _topic(view, name)) is not None)
    known = (view.brokers[b].registration for b in sorted(view.brokers))
    brokers = tuple(BrokerRow(each.broker_id, each.rack, each.endpoints) for each in known)
    return ClusterRow(brokers, _controller_id(view), view.controller_id, topics)


def ids_of(names: Iterable[str], view: ClusterView) -> dict[str, UUID | None]:
    """The ids of the existing topics with these names."""
    return {topic.name: as_uuid(topic.topic_id) for topic in map(view.topic, names) if topic is not None}


async def names_of(call: Call, ids: Iterable[UUID]) -> dict[UUID, str]:
    """The names of the existing topics with these ids. The ids become text here, in slices, so that the controller only
    goes through its topics, however many ids a client sends. Raises ApiError."""
    wanted = {as_text(topic_id): topic_id async for topic_id in sliced(ids)}
    return await call.query(_named, wanted) if wanted else {}


def _named(wanted: Mapping[str, UUID], view: ClusterView) -> dict[UUID, str]:
    found = ((name, topic) for name in view.topic_names() if (topic := view.topic(name)) is not None)
    return {wanted[topic.topic_id]: name for name, topic in found if topic.topic_id in wanted}


def full(partition: Partition) -> Replicas:
    """T, then the rest of R; R where nothing moves."""
    target = partition.target_replicas
    return partition.replicas if target is None else target + tuple(b for b in partition.replicas if b not in target)


def _controller_id(view: ClusterView) -> int:
    """Clients send the controller's requests there, and wait for ever at -1; a gateway takes them at any address."""
    return view.controller_id if view.controller_id in view.brokers else min(view.brokers, default=-1)


def _topic(view: ClusterView, name: str) -> TopicRow | None:
    topic = view.topic(name)
    if topic is None or view.is_deleting(name):
        return None
    rows = tuple(_partition(view, p) for p in view.partitions_of(name) if p.status_code != OFFLINE)
    return TopicRow(name, as_uuid(topic.topic_id), rows)


def _partition(view: ClusterView, p: Partition) -> PartitionRow:
    replicas = full(p)
    offline = tuple(b for b in replicas if b not in view.brokers)
    return PartitionRow(p.partition, max(p.leader, NO_LEADER), p.leader_epoch, replicas, p.isr, offline, p.status_code)


def as_uuid(topic_id: str) -> UUID | None:
    """A topic's id from Kafka's text form (base64url of 16 bytes without padding); None for an invalid one."""
    try:
        return UUID(bytes=base64.urlsafe_b64decode(f"{topic_id}=="))
    except ValueError:
        return None


def as_text(topic_id: UUID) -> str:
    """The inverse of `as_uuid`."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
