"""Brokers, topics and throttles on the status page, counted in the committed state: a question for `Controller.query`.

Rules
* A partition is under-replicated, or has no leader, by the rules of the metrics of these names
  (`kedge.controller.state.tally`).
* Lists are bounded. Topics with such partitions come first, and in a topic these partitions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final

import attrs

from ...model.throttle_configs import LISTS, RATES
from ...model.values import LEADER_DURING_DELETE, NO_LEADER, Partition, TopicPartition
from ...model.view import ClusterView
from ...runtime.log_reports import LogReport

TOPICS_MAX: Final = 50
"""Topics with throttles, or being deleted, that are named."""
PARTITIONS_MAX: Final = 200
"""Partitions that are listed, of all topics together; so many topics as well."""
BROKERS_MAX: Final = 200
COUNTED: Final = ("leaving_partitions", "under_replicated", "leaderless")
_RATES: Final = tuple(name for names in RATES.values() for name in names)

Reported = Callable[[TopicPartition, int], LogReport | None]


@attrs.define
class _Topic:
    partitions: int = 0
    under_replicated: int = 0
    leaderless: int = 0

    @property
    def is_well(self) -> bool:
        return not (self.under_replicated or self.leaderless)


@attrs.frozen
class _Load:
    """What brokers and topics have, counted in one pass."""

    leaders: dict[int, int] = attrs.field(factory=dict)
    replicas: dict[int, int] = attrs.field(factory=dict)
    topics: dict[str, _Topic] = attrs.field(factory=dict)


def loads(view: ClusterView, ours: Container[int], told: Reported) -> dict[str, Any]:
    """What the status page shows of brokers, topics and throttles. Bytes of the brokers in `ours` are None, and left to
    the caller; those of others are what they reported (`told`)."""
    load, leaving = _counted(view)
    broker_ids = sorted({*view.brokers, *view.admitted_brokers()})
    down_first = sorted(broker_ids, key=lambda broker: broker in view.brokers)[:BROKERS_MAX]
    brokers = [
        {
            "id": broker,
            "rack": view.brokers[broker].rack if broker in view.brokers else None,
            "is_live": broker in view.brokers,
            "leaders": load.leaders.get(broker, 0),
            "replicas": load.replicas.get(broker, 0),
            "throttles": _set(view.broker_config(str(broker)), _RATES),
            "bytes": None if broker in ours else _reported_bytes(view, broker, told),
        }
        for broker in sorted(down_first)
    ]
    throttled = [(name, lists) for name in view.topic_names() if (lists := _set(view.topic_config(name), LISTS))]
    return {
        "brokers": brokers,
        "brokers_count": len(broker_ids),
        "topics_shown": _topics(view, load.topics),
        "throttled_topics": [{"topic": name, **lists} for name, lists in sorted(throttled)[:TOPICS_MAX]],
        "throttled_topics_count": len(throttled),
        "leaving_partitions": leaving,
        "under_replicated": sum(topic.under_replicated for topic in load.topics.values()),
        "leaderless": sum(topic.leaderless for topic in load.topics.values()),
    }


def _counted(view: ClusterView) -> tuple[_Load, int]:
    load, leaving = _Load(), 0
    for partition in view.partitions():
        topic = load.topics.get(partition.topic)
        if topic is None:
            topic = load.topics[partition.topic] = _Topic()
        topic.partitions += 1
        for broker in partition.members:
            load.replicas[broker] = load.replicas.get(broker, 0) + 1
        load.leaders[partition.leader] = load.leaders.get(partition.leader, 0) + 1
        leaving += partition.status_code != 0
        topic.leaderless += _is_leaderless(partition)
        topic.under_replicated += _is_under_replicated(partition)
    return load, leaving


def _is_leaderless(p: Partition) -> bool:
    return p.leader == NO_LEADER and not p.is_offline


def _is_under_replicated(p: Partition) -> bool:
    if p.leader in {NO_LEADER, LEADER_DURING_DELETE} or p.is_offline:
        return False
    return not set(p.isr).issuperset(p.replicas if p.move is None else p.move.origin)


def _topics(view: ClusterView, topics: Mapping[str, _Topic]) -> list[dict[str, Any]]:
    shown, left = [], PARTITIONS_MAX
    for name in heapq.nsmallest(PARTITIONS_MAX, topics, key=lambda name: (topics[name].is_well, name)):
        partitions = heapq.nsmallest(left, view.partitions_of(name), key=_ailing_first)
        left -= len(partitions)
        shown.append({"topic": name, **attrs.asdict(topics[name]), "rows": [_row(p) for p in partitions]})
    return shown


def _ailing_first(p: Partition) -> tuple[bool, int]:
    return (not (_is_leaderless(p) or _is_under_replicated(p)), p.partition)


def _row(p: Partition) -> dict[str, Any]:
    return {
        "partition": p.partition,
        "leader": p.leader,
        "replicas": list(p.replicas),
        "isr": list(p.isr),
        "is_moving": p.move is not None,
        "is_under_replicated": _is_under_replicated(p),
        "status": p.status_code,
    }


def _set(configs: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: configs[name] for name in names if configs.get(name)}


def _reported_bytes(view: ClusterView, broker: int, told: Reported) -> int | None:
    """None where no replica was reported."""
    reports = (told(TopicPartition(p.topic, p.partition), broker) for p in view.partitions_on(broker))
    sizes = [report.size_bytes for report in reports if report is not None and report.size_bytes is not None]
    return sum(sizes) if sizes else None
