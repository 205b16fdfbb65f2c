"""Events as Arrow batches of `JOURNAL_EVENT`, and back. A field that a line does not have is null; lines have no null
fields, so nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadInput
from ..tables.arrow import array_of, arrow_schema, arrow_type, conform
from ..tables.journal import JOURNAL_EVENT
from .files import Part, cluster_of, cuts, read_lines
from .lines import KINDS, Event

BATCH_ROWS: Final = 10_000

_NAMES: Final = {"controller_epoch": "epoch", "broker_id": "broker"}
"""Columns whose field has another name in a line."""

_OF_EVENT: Final = ("cluster", "file", "line", "hash", "problem", "reason", "raw")

NEEDED: Final = ("controller_epoch", "seq", "row", "ts", "event", "hash")
"""What every line has that can be read."""

EVENT_SCHEMA: Final = arrow_schema(JOURNAL_EVENT)
LINE_SCHEMA: Final = pa.schema(
    [("cluster", pa.string()), ("file", pa.string()), ("line", pa.int64()), ("raw", pa.binary())]
)


def batches(events: Iterable[Event], rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Events as batches of at most `rows_max` rows, in their order."""
    rest = iter(events)
    while some := list(islice(rest, rows_max)):
        yield batch_of(some)


def batch_of(events: Sequence[Event]) -> pa.RecordBatch:
    rows: list[Mapping[str, Any]] = [event.row if event.row is not None else {} for event in events]
    columns = []
    for name, kind, _ in JOURNAL_EVENT.columns:
        field = _NAMES.get(name, name)
        values: list[Any]
        if name == "cluster":
            values = [_cluster_of(event.file) for event in events]
        elif name in _OF_EVENT:
            values = [getattr(event, name) for event in events]
        elif name == "ts":
            values = [None if (ms := row.get("ts")) is None else ms * 1000 for row in rows]
        elif name == "detail":
            values = [_texts(row["detail"]) if "detail" in row else None for row in rows]
        elif name == "unknown":
            values = [_unknown(row) for row in rows]
        else:
            values = [row.get(field) for row in rows]
        columns.append(array_of(values, arrow_type(kind)))
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_SCHEMA)


def events_of(batch: Any) -> Iterator[Event]:
    """The events of a batch of rows, which any program may have kept. Raises BadInput for columns of other types, and
    for a line that has no problem and lacks a field that every line has."""
    table = conform(JOURNAL_EVENT, pa.Table.from_batches([batch]), JOURNAL_EVENT.name)
    for name in NEEDED:
        if pc.any(pc.and_(pc.is_null(table[name]), pc.is_null(table["problem"]))).as_py():
            raise BadInput(f"{JOURNAL_EVENT.name}: {name} is null in a row without a problem")
    columns = {name: _values(name, table[name]) for name in JOURNAL_EVENT.names}
    places = zip(*(columns.pop(name) for name in _OF_EVENT[1:]), strict=True)
    del columns["cluster"]
    names = [_NAMES.get(name, name) for name in columns]
    for (file, line, digest, problem, reason, raw), values in zip(
        places, zip(*columns.values(), strict=True), strict=True
    ):
        row = None
        if problem is None:
            row = {name: value for name, value in zip(names, values, strict=True) if value is not None}
            row |= row.pop("unknown", {})
        yield Event(file, line, digest or "", row, problem, reason, raw)


def _values(name: str, column: Any) -> list[Any]:
    """As they are in a line."""
    if name == "ts":
        return pc.divide(pc.cast(column, pa.int64()), 1000).to_pylist()  # type: ignore[no-any-return]
    values: list[Any] = column.to_pylist()
    if name not in ("detail", "unknown"):
        return values
    try:
        return [None if said is None else {key: json.loads(text) for key, text in said} for said in values]
    except (ValueError, TypeError) as error:
        raise BadInput(f"{JOURNAL_EVENT.name}: {name} has a value that is no JSON: {error}") from None


def line_batches(part: Part) -> Iterator[pa.RecordBatch]:
    """The lines of a part as in its file. If the file is deleted meanwhile, a row without a line follows what could be
    read."""
    numbers, rest = count(part.first_line), _whole_lines(part)
    while some := list(islice(rest, BATCH_ROWS)):
        columns = [[cluster_of(part.path)] * len(some), [part.path] * len(some), list(islice(numbers, len(some))), some]
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns, LINE_SCHEMA.types)), schema=LINE_SCHEMA)


def _whole_lines(part: Part) -> Iterator[bytes | None]:
    try:
        with Path(part.path).open("rb") as file:
            file.seek(part.start)
            for start, end in cuts(part):
                yield from read_lines(file, end - start)
    except OSError:
        yield None


_cluster_of: Final = lru_cache(cluster_of)  # few files, many rows


def _texts(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, json.dumps(value, separators=(",", ":"))) for name, value in said.items()]


def _unknown(row: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    if row.keys() <= KINDS.keys():
        return None
    return _texts({name: value for name, value in row.items() if name not in KINDS})
