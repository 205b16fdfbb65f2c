"""Plans that take preferred leaders away from brokers, and that give them back; no data is copied.

* Demoted brokers get the last places of the rows that they lead, in-sync replicas on brokers that may lead the first
  ones. Which of these leads is chosen so that leaders are even (`leaders`).
* A row is put back only while it is what the earlier plan produced: another change since then is not undone.
* A partition with a replica on a dead broker is not changed: its reassignment would wait for that broker.
"""

from __future__ import annotations

import numpy as np

from .cluster import NOBODY, Bools, Cluster, Ints
from .leaders import even_leaders, waits
from .moves import NOBODY_LAGS, Lagging
from .outcome import CHANGED, DEAD_BROTHER, EXCLUDED, HELD, NO_LEADER, NOT_OPEN, NOT_PREFERRED, REASONS, Outcome, Reason


def demote(cluster: Cluster, demoted: Bools, usable: Bools, lagging: Lagging = NOBODY_LAGS) -> Outcome:
    """No `demoted` broker is the preferred leader of a partition, unless a reason says why. `usable`: those that may
    lead; `demoted` are not among them."""
    rows, may_lead = cluster.replicas, usable & cluster.takes
    there, first = rows != NOBODY, demoted[rows[:, 0]]
    able = there & may_lead[rows]
    for partition in [p for p in lagging if first[p]]:
        able[partition] &= ~np.isin(rows[partition], list(lagging[partition]))
    touched = first & (cluster.held == 0) & ~waits(cluster) & ~cluster.keeps[rows[:, 0]] & able.any(axis=1)
    places = np.argsort(np.where(able, 0, np.where(there, 1 + demoted[rows], 3)), axis=1, kind="stable")
    turned = np.where(touched[:, None], np.take_along_axis(rows, places, axis=1), rows)
    unable = touched[:, None] & ~np.take_along_axis(able, places, axis=1)
    evened = even_leaders(np.where(unable, NOBODY, turned), touched, may_lead)
    leads = (cluster.leader != NOBODY) & demoted[cluster.leader]
    left = np.nonzero((first | leads) & ~touched)[0].tolist()
    return Outcome(np.where(unable, turned, evened), tuple(_why(cluster, p, demoted) for p in left), 0)


def _why(cluster: Cluster, partition: int, demoted: Bools) -> Reason:
    first, leader = int(cluster.replicas[partition, 0]), int(cluster.leader[partition])
    if cluster.held[partition]:
        return partition, first if demoted[first] else leader, HELD[int(cluster.held[partition])]
    if not demoted[first]:
        return partition, leader, REASONS[NOT_PREFERRED]
    is_dead = any(not cluster.alive[b] for b in cluster.replicas[partition].tolist() if b != NOBODY)
    return partition, first, REASONS[EXCLUDED if cluster.keeps[first] else DEAD_BROTHER if is_dead else NO_LEADER]


def put_back(cluster: Cluster, at: Ints, produced: Ints, before: Ints, usable: Bools) -> Outcome:
    """The partitions `at` have the rows `before` again, where they have those that a plan `produced`: all as wide as
    those of the cluster. `usable`: the brokers that may lead."""
    now, after = cluster.replicas[at], cluster.replicas.copy()
    refused = {
        0: (now == before).all(axis=1),
        CHANGED: (now != produced).any(axis=1),
        DEAD_BROTHER: waits(cluster)[at],
        EXCLUDED: cluster.keeps[now[:, 0]],
        NOT_OPEN: ~(usable & cluster.takes)[before[:, 0]],
    }
    codes = np.select(list(refused.values()), list(refused), 1)
    free = (codes == 1) & (cluster.held[at] == 0)
    after[at[free]] = before[free]
    kept = np.nonzero((codes != 0) & ~free)[0].tolist()
    return Outcome(after, tuple(_kept(cluster, int(at[i]), int(codes[i])) for i in kept), 0)


def _kept(cluster: Cluster, partition: int, code: int) -> Reason:
    held = int(cluster.held[partition])
    return partition, NOBODY, HELD[held] if held else REASONS[code]
