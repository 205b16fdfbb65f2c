"""Every table of audits: events of a journal, findings of an audit, and progress.

Bytes and milliseconds are in the names. `journal_event` has the fields of a line (`docs/journal.md`), its place, and
its `cluster`; `detail` and `unknown` (fields of newer versions) keep each value as JSON text. A line that cannot be
read is a row with `problem`.
"""

from __future__ import annotations

from typing import Final

from .schema import Table

JOURNAL_EVENT: Final = Table(
    "journal_event",
    "cluster string, file string, line long, controller_epoch int?, seq long?, row int?, rows int?, "
    "ts timestamp?, event string?, topic string?, topic_id string?, partition int?, replicas array<int>?, "
    "isr array<int>?, target array<int>?, origin array<int>?, leader int?, leader_epoch int?, "
    "partition_epoch long?, status byte?, broker_id int?, cause string?, request string?, "
    "detail map<string,string>?, unknown map<string,string>?, prev string?, hash string?, problem string?, "
    "reason string?, raw string?",
)

AUDIT_VIOLATION: Final = Table(
    "audit_violation",
    "cluster string, kind string, file string, line long, controller_epoch int, seq long, row int, "
    "event string, ts_ms long, topic string?, partition int?, broker_id int?, expected string, got string",
)

AUDIT_GAP: Final = Table(
    "audit_gap",
    "cluster string, kind string, file string, line long, controller_epoch int?, text string",
)

PROGRESS: Final = Table(
    "progress",
    "cluster string, topic string, partition int, controller_epoch int, started_ms long, last_ms long, "
    "ended_ms long?, ended string?, origin array<int>?, replicas array<int>, isr array<int>, "
    "target array<int>, leader int, adding array<int>, waiting_on array<int>, joined int, isr_losses int, "
    "bytes_copied long?, bytes_total long?, eta_ms long?, eta_low_ms long?, eta_high_ms long?",
)

STUCK: Final = Table(
    "stuck",
    "cluster string, topic string, partition int, since_ms long, still_ms long, waiting_on array<int>, "
    "causes array<string>",
)

BROKER_REASSIGNMENT: Final = Table(
    "broker_reassignment",
    "cluster string, ts_ms long, broker_id int, reassigning_partitions int, bytes_in long, bytes_out long",
)

ETA_CALIBRATION: Final = Table(
    "eta_calibration",
    "cluster string, topic string, partition int, started_ms long, basis string, predicted_ms long, "
    "real_ms long, ratio double",
)

WAVE_CALIBRATION: Final = Table(
    "wave_calibration",
    "cluster string, plan string, wave int, moves int, completed int, bytes long?, started_ms long?, "
    "ended_ms long?, eta_s double?, eta_low_s double?, eta_high_s double?, real_s double?, ratio double?, "
    "verdict string",
)
