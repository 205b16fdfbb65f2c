"""Every table of planning. Bytes and bytes per second everywhere, with the unit in the name.

Cluster and snapshot are folders (`files`), not columns. A null means "unknown", which is never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .schema import Table

ALIVE: Final = "alive"
DRAINING: Final = "draining"
DEAD: Final = "dead"
STATES: Final = (ALIVE, DRAINING, DEAD)

MEASURED: Final = "measured"
SPLIT: Final = "split"  # a topic's rate, divided over its partitions by size
SIZE_ONLY: Final = "size_only"  # no rate was measured: the size over the retention

BROKER: Final = Table(
    "broker",
    (
        ("broker_id", "int", False),
        ("host", "string", True),
        ("rack", "string", True),
        ("state", "string", False),
        ("disk_capacity_bytes", "long", True),
        ("nw_in_capacity_bps", "double", True),
        ("nw_out_capacity_bps", "double", True),
    ),
    ("broker_id",),
)
CAPACITIES: Final = BROKER.columns[-3:]
BROKER_DEFAULT: Final = Table("broker_default", CAPACITIES)  # one row: of brokers without a capacity, added ones too
PARTITION: Final = Table(
    "partition",
    (
        ("topic", "string", False),
        ("partition", "int", False),
        ("replicas", "array<int>", False),
        ("isr", "array<int>", False),
        ("leader", "int", False),
        ("leader_epoch", "int", False),
        ("target_replicas", "array<int>", True),
        ("status_code", "byte", False),
        ("retention_ms", "long", True),
        ("write_bps", "double", True),
    ),
    ("topic", "partition"),
)
REPLICA_LOG: Final = Table(
    "replica_log",
    (
        ("broker_id", "int", True),  # null: of any broker, as in kafka-kit's metrics
        ("log_dir", "string", True),
        ("topic", "string", False),
        ("partition", "int", False),
        ("size_bytes", "long", False),
        ("offset_lag", "long", True),
        ("is_future", "boolean", False),
    ),
    ("topic", "partition", "broker_id", "log_dir"),
)
REPLICA_SAMPLE: Final = Table(
    "replica_sample",
    (
        ("ts", "timestamp", False),
        ("broker_id", "int", True),
        ("topic", "string", False),
        ("partition", "int", True),  # null: of all partitions of the topic that the broker leads
        ("in_bps", "double", True),
        ("out_bps", "double", True),
        ("is_leader", "boolean", True),
        ("in_reassignment", "boolean", False),
    ),
    ("ts", "topic", "partition", "broker_id"),
)
BROKER_SAMPLE: Final = Table(
    "broker_sample",
    (
        ("ts", "timestamp", False),
        ("broker_id", "int", False),
        ("cpu_share", "double", True),
        ("nw_in_bps", "double", True),
        ("nw_out_bps", "double", True),
        ("disk_free_bytes", "long", True),
        ("reassigning_partitions", "int", True),
        ("reassignment_in_bps", "double", True),
        ("reassignment_out_bps", "double", True),
        ("produce_p99_ms", "double", True),  # of 100 requests 99 took no longer, from their arrival to their answer
        ("fetch_consumer_p99_ms", "double", True),
        ("fetch_follower_p99_ms", "double", True),
    ),
    ("ts", "broker_id"),
)
QUARANTINE: Final = Table(
    "quarantine",
    (
        ("source", "string", False),
        ("line", "long", True),
        ("raw", "string", False),
        ("reason", "string", False),
    ),
)
REPLICA_LOAD: Final = Table(
    "replica_load",  # one row per partition: in the long run its replicas have the same load
    (
        ("topic", "string", False),
        ("partition", "int", False),
        ("size_bytes", "long", True),  # null: no size of the topic is known
        ("write_bps", "double", True),
        ("read_bps", "double", True),
        ("completeness", "double", False),
        ("basis", "string", False),
    ),
    ("topic", "partition"),
)
_LOADS: Final = (
    ("replicas", "long", False),
    ("leaders", "long", False),
    ("size_bytes", "long", False),
    ("in_bps", "double", False),
    ("out_bps", "double", False),
    ("potential_out_bps", "double", False),
    ("completeness", "double", False),
    ("basis", "string", False),
)
BROKER_LOAD: Final = Table("broker_load", (("broker_id", "int", False), *_LOADS), ("broker_id",))
RACK_LOAD: Final = Table("rack_load", (("rack", "string", True), *_LOADS), ("rack",))
VIOLATION: Final = Table(
    "violation",
    (
        ("kind", "string", False),
        ("topic", "string", True),
        ("partition", "int", True),
        ("broker_id", "int", True),
        ("observed", "double", False),
        ("limit", "double", False),
        ("unit", "string", False),
        ("when", "string", False),  # "now", or "potential": if every replica led
    ),
    ("kind", "topic", "partition", "broker_id", "when"),
)
PLAN: Final = Table(
    "plan",
    (
        ("plan", "string", False),
        ("kind", "string", False),
        ("partitions_changed", "long", False),
        ("replicas_copied", "long", False),
        ("bytes_copied", "long", True),  # null: no size of a copied partition is known
        ("bytes_bound", "long", True),
        ("copied_unsized", "long", False),  # copied partitions of unknown size
        ("partitions_unsized", "long", False),  # of the whole snapshot
        ("rejected", "long", False),
        ("complete", "boolean", False),
        ("size_max_mean_before", "double", True),  # null: no size is known at all
        ("size_max_mean_after", "double", True),
        ("leaders_max_mean_before", "double", False),
        ("leaders_max_mean_after", "double", False),
        ("settings", "map<string,string>", False),  # values are JSON
        ("snapshot_sha256", "string", False),  # of the snapshot that it was made from
    ),
    ("plan",),
)
PLAN_MOVE: Final = Table(
    "plan_move",
    (
        ("plan", "string", False),
        ("topic", "string", False),
        ("partition", "int", False),
        ("replicas", "array<int>", False),
        ("target_replicas", "array<int>", False),
        ("leader", "int", False),
        ("bytes", "long", True),  # null: its size is not known
        ("write_bps", "double", True),
    ),
    ("plan", "topic", "partition"),
)
_REASON: Final = (
    ("plan", "string", False),
    ("topic", "string", False),
    ("partition", "int", True),
    ("broker_id", "int", True),
    ("reason", "string", False),
)
_REASON_ORDER: Final = ("plan", "topic", "partition", "broker_id")
PLAN_REASON: Final = Table("plan_reason", _REASON, _REASON_ORDER)  # why a part of the request is not in the plan
WAVE_REASON: Final = Table("wave_reason", _REASON, _REASON_ORDER)  # why a move of the plan is in no wave
PLAN_LOAD: Final = Table(
    "plan_load",  # the load of a broker before and after the plan
    (
        ("plan", "string", False),
        ("broker_id", "int", False),
        ("replicas_before", "long", False),
        ("replicas_after", "long", False),
        ("leaders_before", "long", False),
        ("leaders_after", "long", False),
        ("size_bytes_before", "long", True),  # null: no size is known at all
        ("size_bytes_after", "long", True),
    ),
    ("plan", "broker_id"),
)
REDUCTION: Final = Table(
    "reduction",
    (
        ("plan", "string", False),
        ("topic", "string", False),
        ("partitions", "int", False),
        ("total_count", "int", False),
        ("size_bytes", "long", False),
        ("write_bps", "double", False),
        ("basis", "string", False),
    ),
    ("plan", "topic"),
)
WAVE: Final = Table(
    "wave",
    (
        ("plan", "string", False),
        ("wave", "int", False),
        ("partitions", "long", False),
        ("copies", "long", False),
        ("bytes", "long", True),  # null: no size of a copied partition is known
        ("unsized", "long", False),  # copied partitions of unknown size
        ("unrated", "long", False),  # copied partitions of unknown write rate
        ("peak_disk_share", "double", True),
        ("eta_s", "double", True),  # null: not throttled, or of unknown size
        ("eta_low_s", "double", True),
        ("eta_high_s", "double", True),
    ),
    ("plan", "wave"),
)
WAVE_MOVE: Final = Table(
    "wave_move",
    (
        ("plan", "string", False),
        ("wave", "int", False),
        ("topic", "string", False),
        ("partition", "int", False),
        ("replicas", "array<int>", False),
        ("target_replicas", "array<int>", False),
        ("source", "int", False),
        ("bytes", "long", True),  # null: its size is not known
    ),
    ("plan", "wave", "topic", "partition"),
)
WAVE_THROTTLE: Final = Table(
    "wave_throttle",
    (
        ("plan", "string", False),
        ("wave", "int", False),
        ("broker_id", "int", False),
        ("sends", "int", False),
        ("receives", "int", False),
        ("sent_bytes", "long", False),
        ("received_bytes", "long", False),
        ("leader_rate_bps", "long", True),  # null: not throttled
        ("follower_rate_bps", "long", True),
    ),
    ("plan", "wave", "broker_id"),
)

RUN: Final = Table(
    "run",  # the result of `kedge plan apply-policy` for a snapshot, so that it is not repeated
    (
        ("policy_sha256", "string", False),
        ("snapshot_sha256", "string", False),
        ("row", "string", False),  # the result as JSON
        ("code", "int", False),
    ),
)

TABLES: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        BROKER,
        BROKER_DEFAULT,
        PARTITION,
        REPLICA_LOG,
        REPLICA_SAMPLE,
        BROKER_SAMPLE,
        QUARANTINE,
        REPLICA_LOAD,
        BROKER_LOAD,
        RACK_LOAD,
        VIOLATION,
        PLAN,
        PLAN_MOVE,
        PLAN_REASON,
        PLAN_LOAD,
        REDUCTION,
        WAVE,
        WAVE_MOVE,
        WAVE_THROTTLE,
        WAVE_REASON,
        RUN,
    )
}
