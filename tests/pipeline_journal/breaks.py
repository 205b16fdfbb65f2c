"""Journals whose findings must not depend on how rows reach the audit: at once, in groups of topics, in batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.journal.files import journal_files
from tests.pipeline_journal import journals
from tests.pipeline_journal.journals import (
    PLANTED,
    RATE,
    Row,
    append,
    find,
    insert,
    intent_forgotten,
    seeded,
    throttle,
    values,
    write,
    written,
)


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


def epoch_back_in_the_next_term(rows: list[Row]) -> None:
    now = values(rows, "payments", 1)
    append(rows, {"event": "IsrChanged", "cause": "alter_isr", **now, "leader_epoch": now["leader_epoch"] - 1})


def partitions_added_twice(rows: list[Row]) -> None:
    created = rows[find(rows, "TopicCreated", topic="payments")]
    added = {"event": "PartitionsAdded", "topic": "payments", "topic_id": created["topic_id"]}
    append(rows, {"event": "TopicCreated", "topic": "new", "topic_id": "n", "detail": {"assignments": [[1], [2]]}})
    append(rows, {**added, "topic": "new", "topic_id": "n", "detail": {"first": 2, "assignments": [[1]]}})
    append(rows, {**added, "topic": "new", "topic_id": "n", "detail": {"first": 2, "assignments": [[1]]}})


def broker_left_twice(rows: list[Row]) -> None:
    for _ in range(2):
        append(rows, {"event": "BrokerLeft", "broker": 6})


def legacy_key_removed_twice(rows: list[Row]) -> None:
    for _ in range(2):
        append(rows, {"event": "LegacyKeyRemoved"})


def changed_in_a_gap(rows: list[Row]) -> None:
    """Nothing is wrong: the rows that say so are missing. What breaks a rule comes later."""
    now = values(rows, "payments", 0, status=1)
    append(rows, {"event": "StatusChanged", **now, "leader_epoch": now["leader_epoch"] + 1})
    append(rows, {"event": "Gap", "detail": {"first": {"controller_epoch": rows[-1]["epoch"]}}})
    append(rows, {"event": "IsrChanged", "cause": "alter_isr", **now, "status": 0, "replicas": [5, 6], "isr": [5, 6],
                  "leader": 5, "leader_epoch": now["leader_epoch"] + 7})  # fmt: skip
    broker_left_twice(rows)


def planted(plant: Callable[[list[Row]], Any], folder: Path, lines_max: int = 12) -> list[Path]:
    rows = written()
    plant(rows)
    return write(folder, rows, lines_max)


def throttled(folder: Path) -> list[Path]:
    """Throttles and reductions, all as they should be."""
    return write(folder, journals.throttled(), lines_max=12)


def broken_cluster(folder: Path) -> list[Path]:
    """Kills, failovers, deaths, lost commits: no rule is broken by them."""
    seeded(folder, 201, 300)
    return journal_files([folder])


_KNOWN_FROM_BEFORE: dict[Callable[[list[Row]], None], str] = {
    epoch_back_in_the_next_term: "leader epoch",
    partitions_added_twice: "topic",
    broker_left_twice: "broker",
    legacy_key_removed_twice: "legacy key",
    changed_in_a_gap: "broker",
}
"""Rows that are wrong by what a row long before said, with the kind of the violation."""

JOURNALS = [
    *(pytest.param(partial(planted, plant), kind, id=plant.__name__) for plant, kind in PLANTED.items()),
    *(pytest.param(partial(planted, plant), kind, id=plant.__name__) for plant, kind in _KNOWN_FROM_BEFORE.items()),
    pytest.param(crashed_before_removal, "throttle", id="crashed_before_removal"),
    pytest.param(left_before_a_bad_line, "throttle", id="left_before_a_bad_line"),
    pytest.param(half_done_before_a_bad_line, "owed intent", id="half_done_before_a_bad_line"),
    pytest.param(half_done_before_a_term_without_takeover, "owed intent", id="half_done_before_another_term"),
    pytest.param(chain_broken_twice, "chain", id="chain_broken_twice"),
    pytest.param(throttled, None, id="throttled"),
    pytest.param(broken_cluster, None, id="broken_cluster", marks=pytest.mark.slow),
]
"""Writes a journal into a folder, and the kind of a violation that it has."""
