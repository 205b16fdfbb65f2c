"""The output of `kafka-log-dirs --describe`: sizes per replica and folder. Its two lines of text are skipped, so that
the output can be used as printed."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any

from ..errors import BadInput
from .gathered import INT_MAX, LONG_MAX, BadRow, Gathered, a_list, an_object, bad_row, document, each, of_kind, whole
from .layouts import topic_of


def from_log_dirs(data: bytes, source: str, into: Gathered) -> None:
    """Add every replica of every folder without an error; a folder with an error is rejected."""
    data = data.removeprefix(BOM_UTF8)
    lines = [line for line in data.splitlines() if line.lstrip().startswith(b"{")]
    if not lines:
        raise BadInput(f"{source}: expected the output of kafka-log-dirs, found no line that begins a JSON object")
    # Kafka prints one line; a reformatted file is one object from its first brace on.
    text = lines[0] if len(lines) == 1 and lines[0].rstrip().endswith(b"}") else data[data.index(b"{") :]

    def broker(_: str, row: Any) -> None:
        broker_id = whole(an_object(row, "broker").get("broker"), "broker", INT_MAX)
        each(into.rejects, source, a_list(row.get("logDirs"), "logDirs"), lambda _, found: folder(broker_id, found))

    def folder(broker_id: int, row: Any) -> None:
        path = an_object(row, "log dir").get("logDir")
        if row.get("error") is not None:
            raise BadRow(f"broker {broker_id}, {path!r:.200}: {row['error']!r:.200}")
        replicas = a_list(row.get("partitions"), "partitions")
        if isinstance(path, str):
            into.log_dirs.setdefault((broker_id, path), (None, None, False))
        each(into.rejects, source, replicas, lambda _, found: replica(broker_id, path, found))

    def replica(broker_id: int, path: object, row: Any) -> None:
        topic, number = _name(an_object(row, "replica").get("partition"))
        size, lag = whole(row.get("size"), "size"), row.get("offsetLag")
        lag = None if lag is None else whole(lag, "offsetLag", LONG_MAX, -LONG_MAX)
        future = row.get("isFuture", False)
        if type(future) is not bool:
            bad_row("isFuture", "true or false", future)
        into.logs.append((broker_id, path if isinstance(path, str) else None, topic, number, size, lag, future))

    rows = document(text, source, "brokers", list)
    each(into.rejects, source, of_kind(rows, source, "a broker with its log dirs", _is_broker), broker)


def _is_broker(_: str, row: Any) -> bool:
    return isinstance(row, dict) and "broker" in row


def _name(raw: object) -> tuple[str, int]:
    """Topic and partition of `orders-0`; a topic may have hyphens."""
    topic, hyphen, number = raw.rpartition("-") if isinstance(raw, str) else ("", "", "")
    if not hyphen:
        bad_row("partition", "topic-partition", raw)
    return topic_of(topic), whole(number, "partition", INT_MAX)
