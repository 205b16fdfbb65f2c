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
    defaults={"state": ALIVE},
    about="A broker. `state`: alive, draining or dead, in any case; capacities are of its disks together and of its "
    "network.",
)
BROKER_DEFAULT: Final = Table(
    "broker_default",
    "disk_capacity_bytes long?, nw_in_capacity_bps double?, nw_out_capacity_bps double?",
    about="One row: the capacities of brokers that have none, also of added ones.",
)
PARTITION: Final = Table(
    "partition",
    "topic string, partition int, replicas array<int>, isr array<int>, leader int, leader_epoch int, "
    "target_replicas array<int>?, status_code byte, retention_ms long?, write_bps double?",
    order="topic, partition",
    defaults={"leader": -1, "leader_epoch": 0, "status_code": 0},
    about="A partition. `replicas` begins with the preferred leader; `leader` -1: none; `target_replicas`: of a running"
    " reassignment; `status_code`: 0 online, 1 offline, 2 readOnly (KIP-694); `write_bps`: measured elsewhere.",
)
# the rows of both that can be used; the tables above are as they were collected, or as another program wrote them
BROKER_VALID: Final = BROKER.valid()
PARTITION_VALID: Final = PARTITION.valid()
SNAPSHOT_TIME: Final = Table(
    "snapshot_time",
    "taken_at timestamp",
    about="When the snapshot was taken: by this, and not by its name, one is newer than another.",
)
REPLICA_LOG: Final = Table(
    "replica_log",
    "broker_id int?, log_dir string?, topic string, partition int, size_bytes long, offset_lag long?, "
    "is_future boolean",
    order="topic, partition, broker_id, log_dir",
    defaults={"is_future": False},
    about="A log on a disk. `broker_id` null: of any broker, as in the metrics of kafka-kit; `is_future`: of a move "
    "between directories.",
)
LOG_DIR: Final = Table(
    "log_dir",
    "broker_id int, log_dir string, total_bytes long?, usable_bytes long?, is_cordoned boolean, size_bytes long?",
    order="broker_id, log_dir",
    defaults={"is_cordoned": False},
    about="A log directory of a broker. Total and usable bytes are of its volume, null if the broker does not report "
    "them (KIP-827). No new replica is created in a cordoned one (KIP-1066). `size_bytes` is of its replicas, null "
    "until loads are computed.",
)
LOG_DIR_VALID: Final = LOG_DIR.valid()
VALID: Final = (BROKER_VALID, PARTITION_VALID, LOG_DIR_VALID)
REPLICA_SAMPLE: Final = Table(
    "replica_sample",
    "ts timestamp, broker_id int?, topic string, partition int?, in_bps double?, out_bps double?, "
    "is_leader boolean?, in_reassignment boolean",
    order="ts, topic, partition, broker_id",
    defaults={"in_reassignment": False},
    about="Rates of a replica at a time. `partition` null: of all partitions of the topic that the broker leads.",
)
BROKER_SAMPLE: Final = Table(
    "broker_sample",
    "ts timestamp, broker_id int, cpu_share double?, nw_in_bps double?, nw_out_bps double?, "
    "disk_free_bytes long?, reassigning_partitions int?, reassignment_in_bps double?, "
    "reassignment_out_bps double?, produce_p99_ms double?, fetch_consumer_p99_ms double?, "
    "fetch_follower_p99_ms double?",
    order="ts, broker_id",
    about="Values of a broker at a time. `_p99_ms`: of 100 requests 99 took no longer, from their arrival to their "
    "answer.",
)
REJECTED_ROWS: Final = Table(
    "rejected_rows",
    "source string, line long?, raw string, reason string, topic string?, partition int?, brokers array<int>?",
    about="A row of any input that cannot be used. `source`: a file, or `table NAME`; `topic`, `partition`, `brokers`: "
    "of a partition that no plan knows therefore, no brokers if they are not known.",
)
REPLICA_LOAD: Final = Table(
    "replica_load",
    "topic string, partition int, size_bytes long?, write_bps double?, read_bps double?, completeness double, "
    "basis string",
    order="topic, partition",
    about="The load of each replica of a partition: in the long run all have the same. `completeness`: the share of "
    "windows with a sample; `basis`: measured, split or size_only.",
)
_LOADS: Final = (
    "replicas long, leaders long, size_bytes long, in_bps double, out_bps double, potential_out_bps double, "
    "completeness double, basis string"
)
BROKER_LOAD: Final = Table(
    "broker_load",
    f"broker_id int, {_LOADS}",
    order="broker_id",
    about="The load of a broker. `potential_out_bps`: if it led all that it holds; `basis`: the weakest of its "
    "replicas.",
)
RACK_LOAD: Final = Table(
    "rack_load", f"rack string?, {_LOADS}", order="rack", about="The load of the brokers of a rack."
)
VIOLATION: Final = Table(
    "violation",
    "kind string, topic string?, partition int?, broker_id int?, observed double, limit double, unit string, "
    "when string",
    order="kind, topic, partition, broker_id, when",
    about="A broken rule. `when`: now, or potential (if every replica led).",
)
PLAN: Final = Table(
    "plan",
    "plan string, kind string, partitions_changed long, replicas_copied long, bytes_copied long?, "
    "bytes_bound long?, copied_unsized long, partitions_unsized long, partitions_unrated long, "
    "rejected long, complete boolean, "
    "size_max_mean_before double?, size_max_mean_after double?, leaders_max_mean_before double, "
    "leaders_max_mean_after double, network_in_max_mean_before double?, network_in_max_mean_after double?, "
    "network_out_max_mean_before double?, network_out_max_mean_after double?, settings map<string,string>, "
    "snapshot_sha256 string",
    order="plan",
    about="A plan. `bytes_bound` is what any plan for the request has to copy. `copied_unsized` counts copied "
    "partitions of unknown size, `partitions_unsized` and `partitions_unrated` those of the snapshot of unknown size "
    "or rate. `size_max_mean_before` is the fullest broker to the mean. `settings` has values as JSON. "
    "`snapshot_sha256` is of the snapshot that the plan was made from.",
)
PLAN_MOVE: Final = Table(
    "plan_move",
    "plan string, topic string, partition int, replicas array<int>, target_replicas array<int>, leader int, "
    "bytes long?, write_bps double?",
    order="plan, topic, partition",
    about="A partition that changes. `bytes`: copied in all.",
)
PLAN_LOG_DIR: Final = Table(
    "plan_log_dir",
    "plan string, topic string, partition int, broker_id int, log_dir_before string?, log_dir string",
    order="plan, topic, partition, broker_id",
    about="The directory of a new replica on a broker with several, and of one that moves within its broker, from "
    "`log_dir_before`.",
)
_REASON: Final = "plan string, topic string, partition int?, broker_id int?, reason string"
_REASON_ORDER: Final = "plan, topic, partition, broker_id"
PLAN_REASON: Final = Table("plan_reason", _REASON, _REASON_ORDER, about="Why a part of the request is not in the plan.")
WAVE_REASON: Final = Table("wave_reason", _REASON, _REASON_ORDER, about="Why a move of the plan is in no wave.")
PLAN_LOAD: Final = Table(
    "plan_load",
    "plan string, broker_id int, replicas_before long, replicas_after long, leaders_before long, "
    "leaders_after long, size_bytes_before long?, size_bytes_after long?, in_bps_before double?, in_bps_after double?, "
    "out_bps_before double?, out_bps_after double?",
    order="plan, broker_id",
    about="The load of a broker before and after the plan. `out_bps` is when every preferred leader leads.",
)
REDUCTION: Final = Table(
    "reduction",
    "plan string, topic string, partitions int, total_count int, size_bytes long, write_bps double, basis string",
    order="plan, topic",
    about="A topic that gets fewer partitions (KIP-694). `partitions` now, `total_count` afterwards.",
)
WAVE: Final = Table(
    "wave",
    "plan string, wave int, partitions long, copies long, bytes long?, unsized long, unrated long, "
    "peak_disk_share double?, eta_s double?, eta_low_s double?, eta_high_s double?",
    order="plan, wave",
    about="Moves that run at the same time. `unsized`, `unrated`: copied partitions of unknown size, of unknown write "
    "rate; times are null if it is not throttled, or of unknown size.",
)
WAVE_MOVE: Final = Table(
    "wave_move",
    "plan string, wave int, topic string, partition int, replicas array<int>, target_replicas array<int>, "
    "source int, bytes long?",
    order="plan, wave, topic, partition",
    about="A partition that changes in a wave. `source`: the broker that is copied from.",
)
WAVE_THROTTLE: Final = Table(
    "wave_throttle",
    "plan string, wave int, broker_id int, sends int, receives int, sent_bytes long, received_bytes long, "
    "leader_rate_bps long?, follower_rate_bps long?",
    order="plan, wave, broker_id",
    about="The copies of a broker in a wave, and its rates, null if it is not throttled.",
)
RUN: Final = Table(
    "run",
    "policy_sha256 string, snapshot_sha256 string, row string, code int",
    about="The result of `kedge plan apply-policy` for a snapshot (`row`: as JSON), so that it is not repeated.",
)

SNAPSHOT: Final = (BROKER, PARTITION, REPLICA_LOAD)
MEASURES: Final = (REPLICA_LOG, LOG_DIR, BROKER_SAMPLE, SNAPSHOT_TIME)
OF_PLAN: Final = (
    PLAN,
    PLAN_MOVE,
    PLAN_REASON,
    PLAN_LOAD,
)  # the first says whether there is a plan
OF_WAVES: Final = (WAVE_REASON, WAVE_MOVE, WAVE_THROTTLE, WAVE)  # the last says that they are complete

TABLES: Final[Mapping[str, Table]] = {table.name: table for table in list(globals().values()) if type(table) is Table}
