"""Every table of audits: events of a journal, findings of an audit, and progress. All of them begin with the cluster.

Bytes and milliseconds are in the names. `journal_event` has the fields of a line (`docs/journal.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
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
    about="A line of a journal. `file` and `line` are its place. The last line of a commit has the number of its lines "
    "as `rows`. `detail` and `unknown` (fields of a newer version) have values as JSON, `hash` is of the bytes of the "
    "line. A line that cannot be read, a torn tail, and a file that was deleted meanwhile have `problem`, `reason` and "
    "`raw`.",
)

AUDIT_VIOLATION: Final = Table(
    "audit_violation",
    "cluster string, kind string, file string, line long, controller_epoch int, seq long, row int, "
    "event string, ts_ms long, topic string?, partition int?, broker_id int?, expected string, got string",
    about="A broken rule, with the first line that shows it.",
)

AUDIT_GAP: Final = Table(
    "audit_gap",
    "cluster string, kind string, file string, line long, controller_epoch int?, text string",
    about="A place that cannot be judged. `line` 0: the file as a whole.",
)

PROGRESS: Final = Table(
    "progress",
    "cluster string, topic string, partition int, controller_epoch int, started_ms long, last_ms long, "
    "ended_ms long?, ended string?, origin array<int>?, replicas array<int>, isr array<int>, "
    "target array<int>, leader int, adding array<int>, waiting_on array<int>, joined int, isr_losses int, "
    "bytes_copied long?, bytes_total long?, eta_ms long?, eta_low_ms long?, eta_high_ms long?",
    about="A reassignment. `last_ms` is the time of its last progress, `ended` how it ended, null while it runs. Of "
    "the new replicas `adding`, `joined` are in sync; `waiting_on` are targets that are not. `isr_losses` counts how "
    "often the ISR shrank. Totals need sizes of replicas.",
)

STUCK: Final = Table(
    "stuck",
    "cluster string, topic string, partition int, since_ms long, still_ms long, waiting_on array<int>, "
    "causes array<string>",
    about="A running reassignment without progress for `still_ms`.",
)

BROKER_REASSIGNMENT: Final = Table(
    "broker_reassignment",
    "cluster string, ts_ms long, broker_id int, reassigning_partitions int, bytes_in long, bytes_out long",
    about="What a broker had to copy in a step of time that begins at `ts_ms` (KIP-352).",
)

ETA_CALIBRATION: Final = Table(
    "eta_calibration",
    "cluster string, topic string, partition int, started_ms long, basis string, predicted_ms long, "
    "real_ms long, ratio double",
    about="A predicted and the real time of a reassignment that has ended. `basis`: bytes or duration; `ratio`: real "
    "over predicted.",
)

WAVE_CALIBRATION: Final = Table(
    "wave_calibration",
    "cluster string, plan string, wave int, moves int, completed int, bytes long?, started_ms long?, "
    "ended_ms long?, eta_s double?, eta_low_s double?, eta_high_s double?, real_s double?, ratio double?, "
    "verdict string",
    about="The expected and the real time of a wave of an exported plan. `moves` copy data, `completed` of them have "
    "ended; `ratio`: real over expected.",
)

JOURNAL_TABLES: Final[Mapping[str, Table]] = {
    table.name: table for table in list(globals().values()) if type(table) is Table
}
