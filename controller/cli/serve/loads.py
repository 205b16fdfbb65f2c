"""What brokers have to carry, counted in the committed state: a question for `Controller.query`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final

import attrs

from controller.model.throttle_configs import LISTS, RATES
from controller.model.values import TopicPartition
from controller.model.view import ClusterView
from controller.runtime.log_reports import LogReport

TOPICS_MAX: Final = 50
COUNTED: Final = ("leaving_partitions", "under_replicated", "leaderless")
_RATES: Final = tuple(name for names in RATES.values() for name in names)


@attrs.frozen
class _Load:
    """What brokers have, counted in one pass."""

    leaders: dict[int, int]
    replicas: dict[int, int]
    leaving: int
    under_replicated: int
    leaderless: int


Reported = Callable[[TopicPartition, int], LogReport | None]


def loads(view: ClusterView, ours: Container[int], told: Reported) -> dict[str, Any]:
    """What the status page shows of brokers, throttled topics, and partitions that somebody has to look after. Bytes of
    the brokers in `ours` are left to whoever asks; those of others are what they `told`."""
    load = _counted(view)
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
        for broker in sorted({*view.brokers, *view.admitted_brokers()})
    ]
    topics = [(name, said) for name in view.topic_names() if (said := _set(view.topic_config(name), LISTS))]
    return {
        "brokers": brokers,
        "throttled_topics": [{"topic": name, **said} for name, said in sorted(topics)[:TOPICS_MAX]],
        "throttled_topics_count": len(topics),
        **dict(zip(COUNTED, (load.leaving, load.under_replicated, load.leaderless), strict=True)),
    }


def _counted(view: ClusterView) -> _Load:
    leaders: dict[int, int] = {}
    replicas: dict[int, int] = {}
    leaving = under = leaderless = 0
    for partition in view.partitions():
        for broker in partition.members:
            replicas[broker] = replicas.get(broker, 0) + 1
        leaders[partition.leader] = leaders.get(partition.leader, 0) + 1
        leaving += partition.status_code != 0
        leaderless += partition.leader < 0
        under += partition.move is None and len(partition.isr) < len(partition.replicas)
    return _Load(leaders, replicas, leaving, under, leaderless)


def _set(configs: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: configs[name] for name in names if configs.get(name)}


def _reported_bytes(view: ClusterView, broker: int, told: Reported) -> int | None:
    """None where nothing was reported of any replica."""
    reports = (told(TopicPartition(p.topic, p.partition), broker) for p in view.partitions_on(broker))
    sizes = [report.size_bytes for report in reports if report is not None and report.size_bytes is not None]
    return sum(sizes) if sizes else None
