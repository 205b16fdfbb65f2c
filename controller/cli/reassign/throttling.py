"""Throttles of moves: the one place that decides how a server takes them.

* Kedge tells in ApiVersions that it sets rates itself (KIP-542): it computes whom they hold, and takes them back when
  the last move ends, whoever crashed. Nothing else is needed.
* Any other server gets what Kafka's own tool sets (KIP-73): lists of replicas in the settings of topics, rates in
  those of brokers, which stay until --verify or --cancel takes them away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.configs import Change, Op, Resource, ResourceType
from controller.cli.kafka.errors import Failed
from controller.cli.kafka.private import RATES
from controller.cli.reassign.throttled import (
    DIRS_RATE,
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    LOW_RATE,
    RATE_KEYS,
    REPLICA_KEYS,
    Lists,
)

KEDGE_RATE_KEYS: Final = ("leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate")


def removes_by_itself(cluster: Cluster) -> bool:
    """Whether the server takes throttles back when the last move ends."""
    return cluster.offers(RATES)


def throttle(cluster: Cluster, held: Lists, rate: int, *, stays: bool = False) -> None:
    """Moves of these replicas copy at most `rate` bytes/s per broker, in and out. `stays`: also when the last
    move ended, of a server that takes throttles back by itself. Raises Failed."""
    if removes_by_itself(cluster):
        cluster.set_reassignment_rates(held.brokers, rate, stays=stays)
        return
    _alter(
        cluster,
        {
            Resource(ResourceType.TOPIC, topic): _set(
                {LEADER_REPLICAS: leaders, FOLLOWER_REPLICAS: held.followers[topic]}
            )
            for topic, leaders in held.leaders.items()
        },
    )
    rates = _set(dict.fromkeys(RATE_KEYS, str(rate)))
    _alter(cluster, {Resource(ResourceType.BROKER, str(broker)): rates for broker in held.brokers})


def give_back(cluster: Cluster, held: Lists) -> None:
    """After a throttle was set for moves of which none began."""
    if removes_by_itself(cluster):
        cluster.set_reassignment_rates((), LOW_RATE)
    else:
        clear(cluster, held.brokers, held.leaders)


def throttle_dirs(cluster: Cluster, brokers: Iterable[int], rate: int) -> None:
    """Moves between directories of these brokers copy at most `rate` bytes/s. Raises Failed."""
    _alter(cluster, {Resource(ResourceType.BROKER, str(b)): _set({DIRS_RATE: str(rate)}) for b in sorted(set(brokers))})


def clear(cluster: Cluster, brokers: Iterable[int], topics: Iterable[str]) -> None:
    """No throttle is set on these any more, whoever set it. Raises Failed."""
    keys = (*RATE_KEYS, DIRS_RATE, *(KEDGE_RATE_KEYS if removes_by_itself(cluster) else ()))
    _alter(cluster, {Resource(ResourceType.BROKER, str(broker)): _delete(keys) for broker in brokers})
    _alter(cluster, {Resource(ResourceType.TOPIC, topic): _delete(REPLICA_KEYS) for topic in topics})


def _alter(cluster: Cluster, changes: Mapping[Resource, list[Change]]) -> None:
    refused = cluster.alter_configs(changes) if changes else {}
    if refused:
        said = "; ".join(f"{at.type.name.lower()} {at.name}: {error}" for at, error in sorted(refused.items()))
        raise Failed(f"throttles could not be changed: {said}")


def _set(values: Mapping[str, str]) -> list[Change]:
    return [Change(name, Op.SET, value) for name, value in values.items()]


def _delete(names: Iterable[str]) -> list[Change]:
    return [Change(name, Op.DELETE) for name in names]
