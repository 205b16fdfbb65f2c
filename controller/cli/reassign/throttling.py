"""Throttles of moves: the one place that decides how a server takes them.

* Kedge tells in ApiVersions that it sets rates itself (KIP-542): it computes whom they hold, and takes them back when
  the last move ends, whoever crashed. Nothing else is needed. Its marks tell its rates from those of operators, so
  --verify and --cancel have it take back what is marked, and delete nothing themselves.
* Any other server gets what Kafka's own tool sets (KIP-73): lists of replicas in the settings of topics, rates in
  those of brokers, which stay until --verify or --cancel takes them away. Nobody knows then who set them: all go, as
  with Kafka's tool, and a warning says so before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import click

from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.configs import Change, Op, Resource, ResourceType
from controller.cli.kafka.errors import Failed
from controller.cli.kafka.private import RATES
from controller.cli.reassign.throttled import (
    DIRS_RATE,
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    RATE_KEYS,
    REPLICA_KEYS,
    Lists,
    cleared_text,
    removal_warning,
)

TAKEN_BACK: Final = "Throttles that were set for moves are taken back; those that operators set themselves are kept."


def removes_by_itself(cluster: Cluster) -> bool:
    """Whether the server takes throttles back when the last move ends."""
    return cluster.offers(RATES)


def throttle(cluster: Cluster, held: Lists, rate: int, *, stays: bool = False) -> None:
    """Moves of these replicas copy at most `rate` bytes/s per broker, in and out. `stays`: also when the last
    move ended, of a server that takes throttles back by itself. Raises Failed."""
    if removes_by_itself(cluster):
        cluster.set_reassignment_rates(dict.fromkeys(held.brokers, (rate, rate)), stays=stays)
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
    _alter(cluster, {_broker(broker): rates for broker in held.brokers})


def give_back(cluster: Cluster, held: Lists) -> None:
    """After a throttle was set for moves of which none began."""
    if removes_by_itself(cluster):
        cluster.set_reassignment_rates({})
    else:
        _delete_all(cluster, held.brokers, held.leaders)


def throttle_dirs(cluster: Cluster, brokers: Iterable[int], rate: int) -> None:
    """Moves between directories of these brokers copy at most `rate` bytes/s. Raises Failed."""
    _alter(cluster, {_broker(broker): _set({DIRS_RATE: str(rate)}) for broker in sorted(set(brokers))})


def clear(cluster: Cluster, topics: Iterable[str], dirs_on: Iterable[int], say: Callable[[str], object]) -> None:
    """Once nothing moves: the throttles of moves are gone, and so are those between directories of the brokers
    `dirs_on`; on Kafka, every throttle of all brokers and of those `topics` that exist. Raises Failed, Refused."""
    if removes_by_itself(cluster):
        say(TAKEN_BACK)
        cluster.set_reassignment_rates({})
        _alter(cluster, {_broker(broker): _delete([DIRS_RATE]) for broker in sorted(set(dirs_on))})
        return
    brokers, named = sorted(cluster.brokers()), sorted(topics)
    click.echo(removal_warning(brokers, named), err=True)
    say(cleared_text(brokers, named))
    _delete_all(cluster, brokers, cluster.topics(named) if named else ())


def _delete_all(cluster: Cluster, brokers: Iterable[int], topics: Iterable[str]) -> None:
    _alter(cluster, {_broker(broker): _delete([*RATE_KEYS, DIRS_RATE]) for broker in brokers})
    _alter(cluster, {Resource(ResourceType.TOPIC, topic): _delete(REPLICA_KEYS) for topic in topics})


def _alter(cluster: Cluster, changes: Mapping[Resource, list[Change]]) -> None:
    refused = cluster.alter_configs(changes) if changes else {}
    if refused:
        said = "; ".join(f"{at.type.name.lower()} {at.name}: {error}" for at, error in sorted(refused.items()))
        raise Failed(f"throttles could not be changed: {said}")


def _broker(broker: int) -> Resource:
    return Resource(ResourceType.BROKER, str(broker))


def _set(values: Mapping[str, str]) -> list[Change]:
    return [Change(name, Op.SET, value) for name, value in values.items()]


def _delete(names: Iterable[str]) -> list[Change]:
    return [Change(name, Op.DELETE) for name in names]
