"""Throttles of reassignments, in the way that the server supports.

* Kedge announces in ApiVersions that it manages rates itself (KIP-542). It chooses the replicas, marks its rates, and
  removes them when the last reassignment ends. --verify and --cancel have it remove marked rates only.
* Any other server gets what Kafka's tool sets (KIP-73): replica lists in topic configs, rates in broker configs. They
  stay until --verify or --cancel removes them, together with those of operators; a warning is printed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import attrs
import click

from ...model.values import TopicPartition
from ..kafka.errors import Failed
from ..kafka.values import RATES, Change, Move, Op, Resource, ResourceType

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

TAKEN_BACK: Final = "Throttles of reassignments are removed; those that operators set themselves are kept."


def removes_by_itself(cluster: Cluster) -> bool:
    """Whether the server takes throttles back when the last move ends."""
    return cluster.offers(RATES)


def throttle(cluster: Cluster, held: Lists, rate: int, *, stays: bool = False) -> None:
    """Moves of these replicas copy at most `rate` bytes/s per broker, in and out. `stays`: also when the last
    move ended, of a server that takes throttles back by itself. Raises Failed."""
    if removes_by_itself(cluster):
        cluster.throttle_moves(dict.fromkeys(held.brokers, (rate, rate)), held.replicas, stays=stays)
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
        cluster.end_throttle()
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
        cluster.end_throttle()
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
        raise Failed(f"throttles were not changed: {said}")


def _broker(broker: int) -> Resource:
    return Resource(ResourceType.BROKER, str(broker))


def _set(values: Mapping[str, str]) -> list[Change]:
    return [Change(name, Op.SET, value) for name, value in values.items()]


def _delete(names: Iterable[str]) -> list[Change]:
    return [Change(name, Op.DELETE) for name in names]


LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
RATE_KEYS: Final = (LEADER_RATE, FOLLOWER_RATE)
REPLICA_KEYS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
LOW_RATE: Final = 1024


@attrs.frozen
class Lists:
    """The replicas that a throttle limits: lists of leaders and of followers per topic, and the brokers involved.
    `replicas`: the same per partition."""

    leaders: dict[str, str]
    followers: dict[str, str]
    brokers: tuple[int, ...]
    replicas: Mapping[TopicPartition, tuple[tuple[int, ...], tuple[int, ...]]]


def lists(
    running: Mapping[TopicPartition, Move],
    targets: Mapping[TopicPartition, Iterable[int]],
    present: Mapping[TopicPartition, Iterable[int]],
) -> Lists:
    """Of the moves that run and those that a plan adds or replaces, together."""
    moves = {tp: (frozenset(move.sources), frozenset(move.adding)) for tp, move in running.items()}
    for tp, target in targets.items():
        sources = frozenset(running[tp].sources if tp in running else present[tp])
        moves[tp] = (sources, frozenset(target) - sources)
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for tp, (sources, destinations) in moves.items():
        leaders.setdefault(tp.topic, set()).update(f"{tp.partition}:{broker}" for broker in sources)
        followers.setdefault(tp.topic, set()).update(f"{tp.partition}:{broker}" for broker in destinations)
    brokers = {broker for sources, destinations in moves.values() for broker in sources | destinations}
    replicas = {tp: (tuple(sorted(sources)), tuple(sorted(added))) for tp, (sources, added) in moves.items()}
    return Lists(_joined(leaders), _joined(followers), tuple(sorted(brokers)), replicas)


def removal_warning(brokers: Iterable[int], topics: Iterable[str]) -> str:
    """What is printed before all throttles of these are removed: Kafka does not record who set them."""
    return (
        f"Warning: all replication throttles of {' and '.join(_levels(brokers, topics).values())} are removed, "
        "including those that operators set; --preserve-throttles keeps them."
    )


def cleared_text(brokers: Iterable[int], topics: Iterable[str]) -> str:
    """What Kafka's tool prints while it clears them; without topics the first line alone."""
    found = _levels(brokers, topics)
    return "\n".join(f"Clearing {level}-level throttles on {named}" for level, named in found.items())


def _levels(brokers: Iterable[int], topics: Iterable[str]) -> dict[str, str]:
    """By level ("broker", "topic") what is named there, as "brokers 1,2"; a level without names is left out."""
    names = {"broker": [*map(str, brokers)], "topic": sorted(topics)}
    return {level: f"{level}{'' if len(of) == 1 else 's'} {','.join(of)}" for level, of in names.items() if of}


def _joined(found: Mapping[str, set[str]]) -> dict[str, str]:
    return {topic: ",".join(sorted(pairs)) for topic, pairs in sorted(found.items())}
