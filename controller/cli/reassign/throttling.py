"""Throttles of reassignments.

The server is one of Kedge, which announces in ApiVersions that it manages rates itself (KIP-542): it chooses the
replicas, marks its rates, and removes them when the last reassignment ends. --verify and --cancel have it remove marked
rates only. Kafka does not record who set a throttle, so the command sets none there: `kedge plan submit` does, which
records each value beside the plan and sets the operator's own again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from ...model.values import TopicPartition
from ..kafka.errors import Failed
from ..kafka.values import RATES, Change, Move, Op, Resource, ResourceType

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

TAKEN_BACK: Final = "Throttles of reassignments are removed; those that operators set themselves are kept."


def removes_by_itself(cluster: Cluster) -> bool:
    return cluster.offers(RATES)


def require_kedge(cluster: Cluster) -> None:
    """Raises Failed where a throttle of moves would overwrite those of operators."""
    if not removes_by_itself(cluster):
        raise Failed(
            "--throttle needs a server of Kedge, because Kafka does not record who set a throttle; kedge plan submit "
            "throttles on Kafka, and sets the values of operators again"
        )


def throttle(cluster: Cluster, held: Lists, rate: int, *, stays: bool = False) -> None:
    """Moves of these replicas copy at most `rate` bytes/s per broker, in and out. `stays`: also when the last move
    ended. Raises Failed."""
    cluster.throttle_moves(dict.fromkeys(held.brokers, (rate, rate)), held.replicas, stays=stays)


def throttle_dirs(cluster: Cluster, brokers: Iterable[int], rate: int) -> None:
    _alter(cluster, brokers, Change(DIRS_RATE, Op.SET, str(rate)))


def clear(cluster: Cluster, dirs_on: Iterable[int], say: Callable[[str], object]) -> None:
    """Once nothing moves: the throttles of moves are gone, and so are those between directories of the brokers
    `dirs_on`. Raises Failed, Refused."""
    if removes_by_itself(cluster):
        say(TAKEN_BACK)
        cluster.end_throttle()
    _alter(cluster, dirs_on, Change(DIRS_RATE, Op.DELETE))


def _alter(cluster: Cluster, brokers: Iterable[int], change: Change) -> None:
    wanted = {Resource(ResourceType.BROKER, str(broker)): [change] for broker in sorted(set(brokers))}
    refused = cluster.alter_configs(wanted) if wanted else {}
    if refused:
        problems = "; ".join(f"{at.type.name.lower()} {at.name}: {error}" for at, error in sorted(refused.items()))
        raise Failed(f"throttles were not changed: {problems}")


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


def _joined(found: Mapping[str, set[str]]) -> dict[str, str]:
    return {topic: ",".join(sorted(pairs)) for topic, pairs in sorted(found.items())}
