"""The columns on docs/tables.md, from the declarations of the tables and a small cluster that is planned.

`python -m tests.docs.tables` rewrites the part of the page below its mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kedge.pipeline import WaveSettings, generate, local
from kedge.pipeline.journal.arrow import batch_of
from kedge.pipeline.journal.lines import read_line
from kedge.pipeline.tables.arrow import Arrow, from_rows
from kedge.pipeline.tables.declared import (
    BROKER_SAMPLE,
    LOG_DIR,
    REPLICA_LOG,
    REPLICA_SAMPLE,
    RUN,
    SNAPSHOT_TIME,
    TABLES,
)
from kedge.pipeline.tables.journal import (
    AUDIT_GAP,
    AUDIT_VIOLATION,
    BROKER_REASSIGNMENT,
    ETA_CALIBRATION,
    JOURNAL_EVENT,
    JOURNAL_TABLES,
    PROGRESS,
    STUCK,
    WAVE_CALIBRATION,
)
from kedge.pipeline.tables.schema import Table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
MARK: Final = "<!-- made by `python -m tests.docs.tables` -->\n"
_NOW: Final = datetime(2026, 11, 28, 6, tzinfo=UTC)


_OF_JOURNALS: Final = """
## Tables of journals

`kedge journal audit --out` and `progress --out` write them, and the functions [audit and
progress](auditing.md#journals-in-tables) return them. `journal_event` is what the data source `kedge_journal` gives.
"""
_FILE: Final = "journal/kedge-7-0.jsonl"
_LINE: Final = (
    b'{"epoch":7,"seq":42,"row":0,"ts":1795845600000,"event":"TargetSet","topic":"orders",'
    b'"topic_id":"bq1wDv9hRIyWTrKzVWdWoQ","partition":0,"replicas":[1,2],"isr":[1,2],"target":[2,3],"origin":[1,2],'
    b'"leader":1,"leader_epoch":5,"partition_epoch":9,"status":0,"broker":3,"cause":"a request","request":"17",'
    b'"detail":{"started_ms":1795845600000},'
    b'"newer":1,"rows":1,"prev":"%s"}' % (b"5f1b" * 16)
)


def page(text: str) -> str:
    """The page with the columns of the tables of now."""
    before, mark, _ = text.partition(MARK)
    assert mark, f"{PAGE} has no mark"
    sections = (*_sections(TABLES, _examples()), _OF_JOURNALS, *_sections(JOURNAL_TABLES, _of_journals()))
    return before + mark + "".join(sections)


def _sections(tables: Mapping[str, Table], examples: Mapping[str, Arrow]) -> Iterator[str]:
    for table in tables.values():
        if table.name != table.key:
            continue
        yield f"\n### {table.name}\n\n{table.about}\n\n| column | type | null | example |\n|---|---|---|---|\n"
        rows = examples[table.name].to_pylist()
        yield from (_row(table, column, [row[column[0]] for row in rows]) for column in table.columns)


def _row(table: Table, column: tuple[str, str, bool], values: list[Any]) -> str:
    name, kind, nullable = column
    default = table.defaults.get(name)
    null = "yes" if nullable else "no" if default is None else f"no; absent is {json.dumps(default)}"
    example = next((value for value in values if value not in (None, [])), None)
    return f"| {name} | {kind} | {null} | {_text(example)} |\n"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    text = json.dumps(dict(value) if value and isinstance(value, list) and isinstance(value[0], tuple) else value)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def _examples() -> dict[str, Arrow]:
    """Rows of every table, of a cluster in which a rule is broken, a row is rejected and a move is refused."""
    raw = generate(brokers=6, topics=2, partitions=3, seed=1)
    rows = raw["partition"].to_pylist()
    rows[0] |= {"leader": rows[0]["replicas"][1], "target_replicas": rows[0]["replicas"][::-1]}
    rows.append(rows[1] | {"partition": 9, "replicas": [1001, 1001], "write_bps": 1.5e6})
    names = TABLES["partition"].names
    broker, topic = rows[1]["replicas"][0], rows[1]["topic"]
    given = {
        "broker": raw["broker"],
        "broker_default": from_rows(TABLES["broker_default"], [(1 << 40, 1.25e8, 1.25e8)]),
        "partition": from_rows(TABLES["partition"], [[row[name] for name in names] for row in rows]),
        "log_dir": from_rows(
            LOG_DIR, [(b, f"/data{n}", 1 << 41, 1 << 40, False, None) for b in range(1001, 1007) for n in (1, 2)]
        ),
        "replica_log": from_rows(REPLICA_LOG, [(broker, "/data1", topic, 1, 52_428_800, 0, False)]),
        "replica_sample": from_rows(REPLICA_SAMPLE, [(_NOW, broker, topic, 1, 2.5e6, 5e6, True, False)]),
        "broker_sample": from_rows(
            BROKER_SAMPLE, [(_NOW, broker, 0.4, 3e6, 9e6, 1 << 39, 1, 1e6, 0.0, 12.5, 501.0, 500.0)]
        ),
    }
    silver = local.check(local.compute_load(local.validate(given)))
    found = local.waves(local.drain(silver, brokers=[1001]), WaveSettings(throttle_bps=1e6, disk_ceiling=0.01))
    reduced = local.reduce_partitions(silver, bytes_max=1 << 50, bps_max=1e12)
    waves = local.waves(local.drain(silver, brokers=[1001]), WaveSettings(throttle_bps=1e6))
    return {
        **waves,
        "wave_reason": found["wave_reason"],
        "reduction": reduced["reduction"],
        "snapshot_time": from_rows(SNAPSHOT_TIME, [(_NOW,)]),
        "run": from_rows(RUN, [("5f1b" * 16, "13ef" * 16, '{"cluster": "east"}', 0)]),
    }


def _of_journals() -> dict[str, Arrow]:
    events = [read_line(_FILE, 3, _LINE), read_line(_FILE, 4, b"broken")]
    ms, whose = 1_795_845_600_000, ("orders", 0)
    rows: dict[Table, tuple[object, ...]] = {
        AUDIT_VIOLATION: ("east", "leader", _FILE, 3, 7, 42, 0, "IsrChanged", ms, *whose, 3, "a leader in [1, 2]", "3"),
        AUDIT_GAP: ("east", "bad line", _FILE, 4, 7, "no JSON object"),
        PROGRESS: ("east", *whose, 7, ms, ms + 5000, ms + 9000, "completed", [1, 2], [2, 3], [2, 3], [2, 3], 2, [3],
                   [3], 1, 1, 1 << 20, 1 << 30, ms + 60_000, ms + 50_000, ms + 70_000),
        STUCK: ("east", *whose, ms, 600_000, [3], ["target down"]),
        BROKER_REASSIGNMENT: ("east", ms, 3, 1, 1 << 20, 1 << 20),
        ETA_CALIBRATION: ("east", *whose, ms, "bytes", 60_000, 75_000, 1.25),
        WAVE_CALIBRATION: ("east", "drain", 1, 3, 3, 1 << 30, ms, ms + 60_000, 50.0, 40.0, 70.0, 60.0, 1.2, "within"),
    }  # fmt: skip
    found = {table.name: from_rows(table, [row]) for table, row in rows.items()}
    return {**found, JOURNAL_EVENT.name: pa.Table.from_batches([batch_of(events)])}


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
