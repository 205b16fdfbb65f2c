"""Journals whose findings must not depend on how their rows reach the audit: as one, in groups of topics, in batches.
Each is written into a folder, and has a violation of the kind that BREAKS names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.pipeline_journal.journals import RATE, Row, append, find, insert, intent_forgotten, throttle, write, written


def crashed_before_removal(folder: Path) -> list[Path]:
    """A throttle stands for minutes of a term in which nothing moves, by rows that say nothing of throttles; then its
    controller dies."""
    rows = _throttle_left()
    last = rows[-1]
    takeover = {"epoch": last["epoch"] + 1, "seq": last["seq"] + 1, "row": 0, "ts": last["ts"] + 1, "event": "Takeover"}
    rows.append({**takeover, "detail": {"controller_id": 1, "moves": [], "intents": []}, "rows": 1})
    return write(folder, rows)


def left_before_a_bad_line(folder: Path) -> list[Path]:
    """The same, and then there is a line that cannot be read."""
    rows = _throttle_left()
    append(rows, {"event": "KeysRewritten"})
    append(rows, {"event": "KeysRewritten"})
    files = write(folder, rows)
    _spoil(files[-1], -2)
    return files


def half_done_before_a_bad_line(folder: Path) -> list[Path]:
    """A commit owes an intent, and the line after it cannot be read."""
    rows = written()
    at = intent_forgotten(rows)
    while "rows" not in rows[at]:
        at += 1
    files = write(folder, rows)
    _spoil(files[0], at + 1)
    return files


def half_done_before_a_term_without_takeover(folder: Path) -> list[Path]:
    """A commit owes an intent, and the next row is one of another topic, of another term."""
    rows = written()
    owed = rows[intent_forgotten(rows)]
    second = [row for row in rows if row["epoch"] != owed["epoch"]]
    begins = next(i for i, row in enumerate(second) if row["row"] == 0 and row.get("topic", "orders") != "orders")
    first = [row for row in rows if row["epoch"] == owed["epoch"] and row["seq"] <= owed["seq"]]
    return write(folder, [*first, *second[begins:]])


def chain_broken_twice(folder: Path) -> list[Path]:
    """Between two files of a term, and later within one."""
    files = write(folder, written(), lines_max=12)
    for file, line in ((files[0], -1), (files[2], 2)):
        lines = file.read_bytes().splitlines(keepends=True)
        lines[line] = lines[line].replace(b'"ts":', b'"ts": ')
        file.write_bytes(b"".join(lines))
    return files


def _throttle_left() -> list[Row]:
    rows = written()
    insert(rows, find(rows, "TargetSet"), throttle("ThrottleSet", "brokers/5", {RATE: "1000"}))
    append(rows, {"event": "KeysRewritten"}, later_ms=180_000)
    return rows


def _spoil(file: Path, line: int) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    lines[line] = b'{"no":"journal"}\n'
    file.write_bytes(b"".join(lines))


BREAKS: dict[Callable[[Path], list[Path]], str] = {
    crashed_before_removal: "throttle",
    left_before_a_bad_line: "throttle",
    half_done_before_a_bad_line: "owed intent",
    half_done_before_a_term_without_takeover: "owed intent",
    chain_broken_twice: "chain",
}
"""With the kind of a violation that each has."""
