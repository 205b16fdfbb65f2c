"""What a rebalance is to reach: caps of brokers, and levels of resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs
import numpy as np

from .cluster import NOBODY, Bools, Cluster, Floats
from .placement import Resource
from .resources import BYTES, IN, LEADERS, OF_LEADERS, OUT, RATE_STEPS, REPLICAS, capacities, loads, proportional, usage

TOPIC_REPLICAS, TOPIC_LEADERS, PEAK = 6, 7, 8  # after the resources of whole brokers
RESOURCES: Final[Mapping[str, int]] = {
    "bytes": BYTES,
    "network-in": IN,
    "network-out": OUT,
    "replicas": REPLICAS,
    "leaders": LEADERS,
    "topic-replicas": TOPIC_REPLICAS,
    "topic-leaders": TOPIC_LEADERS,
}
"""What can be levelled; the last two are counts of each topic."""


@attrs.frozen(eq=False)
class Goals:
    """`by`: what to level, of RESOURCES. `replicas_max`, `leaders_max`: of any broker."""

    by: Sequence[str]
    tolerance: float
    bytes_max: int | None = None
    replicas_max: int | None = None
    leaders_max: int | None = None

    @property
    def kinds(self) -> set[int]:
        return {RESOURCES[name] for name in self.by}

    def caps(self, cluster: Cluster) -> Floats:
        """Resources x B: what a broker may use at most."""
        found = capacities(cluster)
        for resource, most in ((REPLICAS, self.replicas_max), (LEADERS, self.leaders_max)):
            found[resource] = np.inf if most is None else most
        return found


def exceeded(cluster: Cluster, goals: Goals, live: Bools) -> bool:
    """Whether one of the `live` brokers is above a cap."""
    load = loads(usage(cluster, cluster.replicas), cluster.replicas, cluster.replicas[:, 0], len(live))
    return bool((load > goals.caps(cluster))[:, live].any())


def resources_of(cluster: Cluster, goals: Goals, live: Bools) -> Iterator[Resource]:
    """The resources that have a cap or are chosen; always bytes, the peak of disks, and leaders."""
    use, capacity, caps = usage(cluster, cluster.replicas), capacities(cluster), goals.caps(cluster)
    load, whole = loads(use, cluster.replicas, cluster.replicas[:, 0], len(live)), np.zeros_like(cluster.topic)
    for kind, used in enumerate(use):
        if kind in goals.kinds | {BYTES, LEADERS} or np.isfinite(caps[kind]).any():
            weight = np.where(live, proportional(capacity[kind], live), 0.0)
            share = weight * (load[kind, live].sum() / max(weight.sum(), 1e-300))
            yield Resource(kind, kind in OF_LEADERS, used, whole, load[[kind]], share[None], caps[[kind]])
    held = load[[BYTES]]
    yield Resource(PEAK, PEAK in OF_LEADERS, use[BYTES], whole, held.copy(), held, caps[[BYTES]])
    for kind in sorted(goals.kinds & {TOPIC_REPLICAS, TOPIC_LEADERS}):
        count = _counts(cluster, leaders=kind == TOPIC_LEADERS)
        mean = count[:, live].sum(axis=1, keepdims=True) / max(int(live.sum()), 1)
        endless, share = np.broadcast_to(np.inf, count.shape), np.broadcast_to(mean, count.shape)
        yield Resource(kind, kind == TOPIC_LEADERS, use[LEADERS], cluster.topic, count, share, endless)


def _counts(cluster: Cluster, *, leaders: bool) -> Floats:
    """Topics x B: the replicas or leaders of each topic on each broker. Small floats: there may be many topics."""
    found = np.zeros((len(cluster.topics), len(cluster.brokers)), np.float32)
    for column in cluster.replicas[:, : 1 if leaders else None].T:
        there = column != NOBODY
        np.add.at(found, (cluster.topic[there], column[there]), 1)
    return np.asarray(found)


def limit_to(resource: Resource, tolerance: float) -> None:
    """Limit what counts as level: the share and the tolerance; of counts not less than the least that is possible."""
    by_topic = resource.kind in {TOPIC_REPLICAS, TOPIC_LEADERS}
    share, cap = (values[:, : 1 if by_topic else None] for values in (resource.share, resource.cap))
    most = share * (1 + tolerance)
    if by_topic or resource.kind in {REPLICAS, LEADERS}:
        most = np.maximum(np.ceil(share - 1e-6), np.floor(most))
    # in the steps of loads, so that comparisons are exact
    limit = np.floor(np.minimum(cap, most) * RATE_STEPS) / RATE_STEPS
    resource.limit = np.broadcast_to(limit, resource.load.shape)
