"""Whom a throttle holds, by the settings that Kafka has for it (KIP-73), and what is said when they are taken away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from controller.cli.kafka.values import Move, TopicPartition

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
    """Whom a throttle holds: per topic the list of leaders and that of followers, and all brokers that take part."""

    leaders: dict[str, str]
    followers: dict[str, str]
    brokers: tuple[int, ...]


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
    return Lists(_joined(leaders), _joined(followers), tuple(sorted(brokers)))


def removal_warning(brokers: Iterable[int], topics: Iterable[str]) -> str:
    """What is printed before all throttles of these are removed, whoever set them: Kafka does not record that."""
    return (
        f"Warning: all replication throttles of {' and '.join(_levels(brokers, topics).values())} are removed, "
        "also those that operators set themselves; --preserve-throttles keeps them."
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
