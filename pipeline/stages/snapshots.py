"""Which snapshot a plan was made of: a digest of all that a plan looks at, so that none is used with another snapshot.

The digest is of contents and not of files: collecting the same again gives the same, and the engines say the same of
it. A snapshot that was collected anew under its old id with other contents is another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from pipeline.errors import BadInput
from pipeline.kernel.cluster import NOBODY, Cluster
from pipeline.stages.arrays import Limits, to_cluster
from pipeline.tables.arrow import Arrow
from pipeline.tables.declared import BROKER, PARTITION, PLAN, REPLICA_LOAD


def digest(cluster: Cluster, broker: Arrow) -> str:
    """The sha256 of brokers, rows, sizes and rates. `cluster`: of any limits, and with more brokers than `broker` has
    where they hold nothing, as those that a plan adds."""
    ids = np.append(cluster.brokers, NOBODY)  # NOBODY is an index of the last
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
    """As `check_digest`, of the tables of a snapshot and a plan."""
    broker = tables[BROKER.name]
    cluster = to_cluster(broker, tables[PARTITION.name], tables[REPLICA_LOAD.name], limits=Limits(), ignore_racks=True)
    check_digest(tables[PLAN.name], digest(cluster, broker))


def check_digest(plan: Arrow, found: str) -> None:
    """BadInput where the plan was made of another snapshot than that of the digest."""
    (said,) = plan.select(["plan", "snapshot_sha256"]).to_pylist()
    if said["snapshot_sha256"] != found:
        raise BadInput(
            f"plan {said['plan']}: its snapshot was collected anew since it was made; make it again from what is there "
            "now (the same command does), and collect under another --snapshot where a plan is to stay of use"
        )
