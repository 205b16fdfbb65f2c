"""The configs of throttles, and the replicas that a throttle of reassignments limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from ...model.values import TopicPartition
from .values import RATES, Move

if TYPE_CHECKING:
    from .cluster import Cluster

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
RATE_KEYS: Final = (LEADER_RATE, FOLLOWER_RATE)
REPLICA_KEYS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


def removes_by_itself(cluster: Cluster) -> bool:
    """Whether the server manages rates itself, and removes them when the last reassignment ends (KIP-542)."""
    return cluster.offers(RATES)


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
