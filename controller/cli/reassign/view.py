"""What actions need to know of a cluster, whether brokers tell it or ZooKeeper; and the checks of a plan against it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.values import Broker, TopicPartition, TopicState
from controller.cli.reassign.plan import Plan


class View(Protocol):
    """`controller.cli.kafka.cluster.Cluster`, or the store of a controller."""

    def brokers(self) -> dict[int, Broker]:
        """Those that live, by id."""
        ...

    def topics(self, names: Collection[str] | None = None) -> dict[str, TopicState]:
        """The topics of these names that exist."""
        ...


def replicas_of(topics: Iterable[TopicState]) -> dict[TopicPartition, tuple[int, ...]]:
    """Where all partitions of these topics are."""
    return {TopicPartition(topic.name, p.index): p.replicas for topic in topics for p in topic.partitions}


def known_topics(view: View, names: Collection[str]) -> dict[str, TopicState]:
    """These topics. Raises Failed where one is unknown."""
    found = view.topics(names)
    for name in sorted(names):
        if name not in found:
            raise Failed(f"Topic {name} not found.")
    return found


def check_brokers(wanted: Iterable[int], brokers: Mapping[int, Broker]) -> None:
    """Raises Failed where one of them does not live."""
    for broker in wanted:
        if broker not in brokers:
            raise Failed(f"Unknown broker id {broker}")


def current_replicas(view: View, plan: Plan) -> dict[TopicPartition, tuple[int, ...]]:
    """Where the partitions of a plan are. Raises Failed where the plan names what is not there."""
    check_brokers(plan.brokers, view.brokers())
    everywhere = replicas_of(known_topics(view, plan.topics).values())
    missing = [tp for tp in plan.entries if tp not in everywhere]
    if missing:
        raise Failed(f"Unable to find partition: {', '.join(map(str, missing))}")
    return {tp: everywhere[tp] for tp in plan.entries}
