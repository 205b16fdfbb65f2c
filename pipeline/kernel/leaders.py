"""Preferred leaders, evenly: as few rows as can be get another first replica, and no broker leads more than its share.

A flow over brokers: an edge from a to b is a partition that a leads and b holds. From a broker that leads too many, the
shortest path to one that leads too few is taken, one partition along each edge, until there is no path. So the largest
count is the least that can be had with the partitions that may be touched; most shifts touch one row.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from pipeline.kernel.cluster import NOBODY, Bools, Cluster, Ints, leaders_per_broker
from pipeline.kernel.outcome import Outcome

_Edges = dict[int, dict[int, list[int]]]


def leaders(cluster: Cluster, usable: Bools) -> Outcome:
    """Every partition that is not held may change its first replica; nothing is copied. One with a replica on a dead
    broker is left alone: its move would wait for that."""
    waits = ((cluster.replicas != NOBODY) & ~cluster.alive[cluster.replicas]).any(axis=1)
    after = even_leaders(cluster.replicas, (cluster.held == 0) & ~waits, usable)
    return Outcome(after, (), 0)


def even_leaders(replicas: Ints, touched: Bools, may_lead: Bools) -> Ints:
    """The rows with other first replicas in some of `touched`, so that of the brokers that may lead none has more
    than its share (rounded up), as far as can be."""
    count = leaders_per_broker(replicas, len(may_lead)).tolist()
    leaders = [count[broker] for broker in np.nonzero(may_lead)[0].tolist()]
    if not leaders:
        return replicas
    share = -(-sum(leaders) // len(leaders))
    edges = _edges(replicas, np.nonzero(touched)[0], may_lead)
    lead: dict[int, int] = {}
    rows: dict[int, list[int]] = {}
    for start in np.nonzero(may_lead)[0].tolist():
        while count[start] > share:
            path = _path(edges, lead, replicas, count=count, start=start, share=share)
            if not path:
                break
            for a, b in pairwise(path):
                partition = edges[a][b].pop()
                lead[partition] = b
                rows[partition] = _led_by(rows.get(partition, replicas[partition].tolist()), b)
                for other in rows[partition][1:]:
                    if other != NOBODY and may_lead[other]:
                        edges.setdefault(b, {}).setdefault(other, []).append(partition)
            count[path[0]] -= 1
            count[path[-1]] += 1
    if not rows:
        return replicas
    found = replicas.copy()
    found[list(rows)] = list(rows.values())
    return found


def _edges(replicas: Ints, touched: Ints, may_lead: Bools) -> _Edges:
    """Per leader and other replica the partitions, the first one last, where it is taken from."""
    brokers = len(may_lead)
    first = replicas[touched, 0]
    keys, partitions = [], []
    for column in replicas[touched, 1:].T:
        there = (column != NOBODY) & may_lead[column] & (first != NOBODY)
        keys.append(first[there] * brokers + column[there])
        partitions.append(touched[there])
    if not sum(map(len, keys)):
        return {}
    key, partition = np.concatenate(keys), np.concatenate(partitions)
    order = np.lexsort((-partition, key))
    key, partition = key[order], partition[order]
    starts = np.nonzero(np.concatenate(([True], key[1:] != key[:-1])))[0].tolist()
    edges: _Edges = {}
    for start, end in zip(starts, [*starts[1:], len(key)], strict=True):
        a, b = divmod(int(key[start]), brokers)
        edges.setdefault(a, {})[b] = partition[start:end].tolist()
    return edges


def _path(
    edges: _Edges, lead: dict[int, int], replicas: Ints, *, count: list[int], start: int, share: int
) -> list[int]:
    """The shortest way from `start` to a broker below its share; of several the one to who leads the fewest."""
    near = [b for b in edges.get(start, ()) if count[b] < share]
    for b in sorted(near, key=lambda b: (count[b], b)):
        if _has_edge(edges[start][b], lead, replicas, start):
            return [start, b]
    came: dict[int, int] = {start: start}
    level = deque([start])
    while level:
        reached: list[int] = []
        for a in level:
            for b in sorted(edges.get(a, ())):
                if b not in came and _has_edge(edges[a][b], lead, replicas, a):
                    came[b] = a
                    reached.append(b)
        ends = [b for b in reached if count[b] < share]
        if ends:
            path = [min(ends, key=lambda b: (count[b], b))]
            while path[-1] != start:
                path.append(came[path[-1]])
            return path[::-1]
        level = deque(reached)
    return []


def _has_edge(partitions: list[int], lead: dict[int, int], replicas: Ints, a: int) -> bool:
    """Whether a partition is left that `a` still leads; the others are taken off."""
    while partitions and (lead[partitions[-1]] if partitions[-1] in lead else int(replicas[partitions[-1], 0])) != a:
        partitions.pop()
    return bool(partitions)


def _led_by(row: list[int], broker: int) -> list[int]:
    """The row with `broker` first, in exchange with who was."""
    at = row.index(broker)
    return [broker, *row[1:at], row[0], *row[at + 1 :]]
