"""Every table of planning. Bytes and bytes per second everywhere, with the unit in the name.

Cluster and snapshot are folders (`files`), not columns. A null means "unknown", which is never 0: no size or rate of
what the row is about is known.
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
    "broker_id int, host string?, rack string?, state string, disk_capacity_bytes long?, "
    "nw_in_capacity_bps double?, nw_out_capacity_bps double?",
    order="broker_id",
)
# one row: the capacities of brokers without any, also of added ones
BROKER_DEFAULT: Final = Table(
    "broker_default",
    "disk_capacity_bytes long?, nw_in_capacity_bps double?, nw_out_capacity_bps double?",
)
PARTITION: Final = Table(
    "partition",
    "topic string, partition int, replicas array<int>, isr array<int>, leader int, leader_epoch int, "
    "target_replicas array<int>?, status_code byte, retention_ms long?, write_bps double?",
    order="topic, partition",
)
# `broker_id` null: of any broker, as in kafka-kit's metrics
REPLICA_LOG: Final = Table(
    "replica_log",
    "broker_id int?, log_dir string?, topic string, partition int, size_bytes long, offset_lag long?, "
    "is_future boolean",
    order="topic, partition, broker_id, log_dir",
)
# `partition` null: of all partitions of the topic that the broker leads
REPLICA_SAMPLE: Final = Table(
    "replica_sample",
    "ts timestamp, broker_id int?, topic string, partition int?, in_bps double?, out_bps double?, "
    "is_leader boolean?, in_reassignment boolean",
    order="ts, topic, partition, broker_id",
)
# `_p99_ms`: of 100 requests 99 took no longer, from their arrival to their answer
BROKER_SAMPLE: Final = Table(
    "broker_sample",
    "ts timestamp, broker_id int, cpu_share double?, nw_in_bps double?, nw_out_bps double?, "
    "disk_free_bytes long?, reassigning_partitions int?, reassignment_in_bps double?, "
    "reassignment_out_bps double?, produce_p99_ms double?, fetch_consumer_p99_ms double?, "
    "fetch_follower_p99_ms double?",
    order="ts, broker_id",
)
REJECTED_ROWS: Final = Table(
    "rejected_rows",
    "source string, line long?, raw string, reason string",
)
# one row per partition: in the long run its replicas have the same load
REPLICA_LOAD: Final = Table(
    "replica_load",
    "topic string, partition int, size_bytes long?, write_bps double?, read_bps double?, completeness double, "
    "basis string",
    order="topic, partition",
)
_LOADS: Final = (
    "replicas long, leaders long, size_bytes long, in_bps double, out_bps double, potential_out_bps double, "
    "completeness double, basis string"
)
BROKER_LOAD: Final = Table("broker_load", f"broker_id int, {_LOADS}", order="broker_id")
RACK_LOAD: Final = Table("rack_load", f"rack string?, {_LOADS}", order="rack")
# `when`: "now", or "potential": if every replica led
VIOLATION: Final = Table(
    "violation",
    "kind string, topic string?, partition int?, broker_id int?, observed double, limit double, unit string, "
    "when string",
    order="kind, topic, partition, broker_id, when",
)
# `copied_unsized`: copied partitions of unknown size; `partitions_unsized`: of the whole snapshot; values of `settings`
# are JSON; `snapshot_sha256`: of the snapshot that it was made from
PLAN: Final = Table(
    "plan",
    "plan string, kind string, partitions_changed long, replicas_copied long, bytes_copied long?, "
    "bytes_bound long?, copied_unsized long, partitions_unsized long, rejected long, complete boolean, "
    "size_max_mean_before double?, size_max_mean_after double?, leaders_max_mean_before double, "
    "leaders_max_mean_after double, settings map<string,string>, snapshot_sha256 string",
    order="plan",
)
PLAN_MOVE: Final = Table(
    "plan_move",
    "plan string, topic string, partition int, replicas array<int>, target_replicas array<int>, leader int, "
    "bytes long?, write_bps double?",
    order="plan, topic, partition",
)
_REASON: Final = "plan string, topic string, partition int?, broker_id int?, reason string"
_REASON_ORDER: Final = "plan, topic, partition, broker_id"
# why a part of the request is not in the plan
PLAN_REASON: Final = Table("plan_reason", _REASON, _REASON_ORDER)
# why a move of the plan is in no wave
WAVE_REASON: Final = Table("wave_reason", _REASON, _REASON_ORDER)
# the load of a broker before and after the plan
PLAN_LOAD: Final = Table(
    "plan_load",
    "plan string, broker_id int, replicas_before long, replicas_after long, leaders_before long, "
    "leaders_after long, size_bytes_before long?, size_bytes_after long?",
    order="plan, broker_id",
)
REDUCTION: Final = Table(
    "reduction",
    "plan string, topic string, partitions int, total_count int, size_bytes long, write_bps double, basis string",
    order="plan, topic",
)
# `unsized`, `unrated`: copied partitions of unknown size, of unknown write rate; times are null if it is not throttled,
# or of unknown size
WAVE: Final = Table(
    "wave",
    "plan string, wave int, partitions long, copies long, bytes long?, unsized long, unrated long, "
    "peak_disk_share double?, eta_s double?, eta_low_s double?, eta_high_s double?",
    order="plan, wave",
)
WAVE_MOVE: Final = Table(
    "wave_move",
    "plan string, wave int, topic string, partition int, replicas array<int>, target_replicas array<int>, "
    "source int, bytes long?",
    order="plan, wave, topic, partition",
)
# a rate is null if it is not throttled
WAVE_THROTTLE: Final = Table(
    "wave_throttle",
    "plan string, wave int, broker_id int, sends int, receives int, sent_bytes long, received_bytes long, "
    "leader_rate_bps long?, follower_rate_bps long?",
    order="plan, wave, broker_id",
)

# the result of `kedge plan apply-policy` for a snapshot (`row`: as JSON), so that it is not repeated
RUN: Final = Table(
    "run",
    "policy_sha256 string, snapshot_sha256 string, row string, code int",
)

SNAPSHOT: Final = (BROKER, PARTITION, REPLICA_LOAD)
SAMPLES: Final = (REPLICA_LOG, REPLICA_SAMPLE, BROKER_SAMPLE)
OF_PLAN: Final = (
    PLAN,
    PLAN_MOVE,
    PLAN_REASON,
    PLAN_LOAD,
)  # the first says whether there is a plan
OF_WAVES: Final = (WAVE_REASON, WAVE_MOVE, WAVE_THROTTLE, WAVE)  # the last says that they are complete

TABLES: Final[Mapping[str, Table]] = {table.name: table for table in list(globals().values()) if type(table) is Table}
