"""Throttles of reassignments.

The server is one of Kedge, which announces in ApiVersions that it manages rates itself (KIP-542): it chooses the
replicas, marks its rates, and removes them when the last reassignment ends. --verify and --cancel have it remove marked
rates only. Kafka does not record who set a throttle, so the command sets none there: `kedge plan submit` does, which
records each value beside the plan and sets the operator's own again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from ..kafka.errors import Failed
from ..kafka.throttled import Lists, removes_by_itself
from ..kafka.values import Change, Op, Resource, ResourceType

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
LOW_RATE: Final = 1024
TAKEN_BACK: Final = "Throttles of reassignments are removed; those that operators set themselves are kept."


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
