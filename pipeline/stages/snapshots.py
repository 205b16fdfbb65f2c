"""A digest of the snapshot that a plan was made from, so that the plan is not used with another one.

The digest covers all that a plan reads, by content and not by files: collecting the same again gives the same digest,
on every engine. A snapshot collected again under its old id with other contents has another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from ..errors import BadInput
from ..kernel.cluster import NOBODY, Cluster
from ..tables.arrow import Arrow
from .arrays import Limits, to_cluster


def digest(cluster: Cluster, broker: Arrow) -> str:
    """The sha256 of brokers, rows, sizes and rates. `cluster`: with any limits; it may have more brokers than `broker`
    if they hold nothing, such as those that a plan adds."""
    ids = np.append(cluster.brokers, NOBODY)  # NOBODY (-1) is the index of the last element
    found = hashlib.sha256()
    found.update(json.dumps(broker.sort_by("broker_id").to_pylist(), sort_keys=True).encode())
    found.update(json.dumps([cluster.topics, cluster.replicas.shape]).encode())
    for values in (
        *(cluster.topic, cluster.number, ids[cluster.replicas], ids[cluster.leader], cluster.held),
        *(cluster.size, cluster.write_bps, cluster.read_bps, cluster.sized, cluster.rated),
    ):
        found.update(np.ascontiguousarray(values).data)
    return found.hexdigest()


def check_same(tables: Mapping[str, Arrow]) -> None:
    """As `check_digest`, for the tables of a snapshot and a plan."""
    broker = tables["broker"]
    cluster = to_cluster(broker, tables["partition"], tables["replica_load"], limits=Limits(), ignore_racks=True)
    check_digest(tables["plan"], digest(cluster, broker))


def check_digest(plan: Arrow, found: str) -> None:
    """Raises BadInput if the plan was made from another snapshot than that of the digest."""
    (said,) = plan.select(["plan", "snapshot_sha256"]).to_pylist()
    if said["snapshot_sha256"] != found:
        raise BadInput(
            f"plan {said['plan']}: its snapshot was collected again after the plan was made; make the plan again with "
            "the same command, and collect under another --snapshot to keep a plan usable"
        )
