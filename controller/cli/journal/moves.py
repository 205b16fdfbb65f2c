"""The moves in the rows of a journal, each as a table of R, I and T.

A move begins with its TargetSet, or with the Takeover that finds it running. It ends with the commit in which T is
cleared. Of a move with very many rows (an ISR that flaps for days) the first and the last are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from ...model.plural import counted
from ..printing import clean, compact

Row = Mapping[str, Any]
Key = tuple[str, int]

FIRST_ROWS: Final = 500
LAST_ROWS: Final = 500
_VALUES: Final = ("replicas", "isr", "target", "leader", "leader_epoch")


@attrs.define
class Move:
    """One move: its rows, the brokers that have to delete a replica, and how it ended (None: it runs)."""

    epoch: int
    topic: str
    partition: int
    ended: str | None = None
    deletes: list[int] = attrs.field(factory=list)
    first: list[dict[str, Any]] = attrs.field(factory=list)
    last: deque[dict[str, Any]] = attrs.field(factory=lambda: deque(maxlen=LAST_ROWS))
    left_out: int = 0

    def add(self, row: Row, event: str) -> None:
        entry = {"seq": row["seq"], "row": row["row"], "event": event}
        entry |= {name: row[name] for name in ("cause", "request") if name in row}
        self.keep(entry | {name: row.get(name) for name in _VALUES})

    def keep(self, entry: dict[str, Any]) -> None:
        if len(self.first) < FIRST_ROWS:
            self.first.append(entry)
            return
        self.left_out += len(self.last) == LAST_ROWS
        self.last.append(entry)

    def as_json(self) -> str:
        """One line; `rows_left_out` is the number of rows between the first and the last ones."""
        fields = {
            "epoch": self.epoch,
            "topic": self.topic,
            "partition": self.partition,
            "ended": self.ended,
            "deletes": self.deletes,
            "rows": [*self.first, *self.last],
            "rows_left_out": self.left_out,
        }
        return compact(fields)

    def as_text(self) -> Iterator[str]:
        yield clean(f"{self.topic}-{self.partition}  epoch {self.epoch}  {self.ended or 'running'}")
        cells = [_cells(entry) for entry in (*self.first, *self.last)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        for i, line in enumerate(cells):
            if i == FIRST_ROWS and self.left_out:
                yield f"  ... {counted(self.left_out, 'row')} ..."
            yield "  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        if self.deletes:
            yield f"  to delete: {', '.join(map(str, self.deletes))}"


def _cells(entry: Mapping[str, Any]) -> list[str]:
    lists = (entry.get(name) for name in ("replicas", "isr", "target"))
    letters = [
        f"{letter} {'-' if value is None else compact(value)}" for letter, value in zip("RIT", lists, strict=True)
    ]
    led = [f"leader {entry.get('leader')}", f"leader epoch {entry.get('leader_epoch')}"]
    at = "" if entry["event"] == "before" else f"{entry['seq']}.{entry['row']}"
    return [clean(text) for text in (*letters, *led, at, entry["event"], str(entry.get("cause", "")))]


class Moves:
    """Rows in, moves out. Give every row, in order; `ended` gives each move once, when its commit is whole."""

    def __init__(self, topic: str | None = None, partition: int | None = None) -> None:
        self._wanted = (topic, partition)
        self._running: dict[Key, Move] = {}
        self._done: dict[Key, list[Move]] = {}
        self._before: dict[Key, dict[str, Any]] = {}

    def feed(self, row: Row) -> None:
        if row["event"] == "Takeover":
            self._take_over(row)
        elif row["event"] == "TopicDeleted":
            for key in [key for key in self._running if key[0] == row.get("topic")]:
                self._end(key, "topic deleted")
        elif row["event"] == "DeleteIntended":
            self._delete(row)
        elif "replicas" in row and "partition" in row and self._is_wanted(row):
            self._partition(row)

    def _delete(self, row: Row) -> None:
        """Of the move that ended just now, or of the target that was replaced in one that runs."""
        move = self._running.get(_key(row))
        for told in [move] if move is not None else self._done.get(_key(row), [])[-1:]:
            told.deletes.append(row["broker"])

    def _take_over(self, row: Row) -> None:
        for move in row.get("detail", {}).get("moves", ()):
            if self._is_wanted(move):
                found = self._running[_key(move)] = Move(row["epoch"], *_key(move))
                found.add({**move, "seq": row["seq"], "row": row["row"]}, "Takeover")

    def _is_wanted(self, row: Row) -> bool:
        topic, partition = self._wanted
        return (topic is None or row["topic"] == topic) and (partition is None or row["partition"] == partition)

    def _partition(self, row: Row) -> None:
        key, event = _key(row), row["event"]
        move = self._running.get(key)
        if move is None and "target" in row:
            move = self._running[key] = Move(row["epoch"], *key)
            self._first_row(move, row)
        if move is not None:
            move.add(row, event)
            if "target" not in row:
                self._end(key, str(row.get("cause", event)))
        elif event == "IsrShrunk" and self._done.get(key):
            self._done[key][-1].add(row, event)
        self._before[key] = {name: row.get(name) for name in _VALUES}

    def _first_row(self, move: Move, row: Row) -> None:
        """How the partition stood before: as a row said, or as this one says, which changes nothing but T."""
        before = self._before.get((move.topic, move.partition))
        if before is None and row["event"] == "TargetSet" and row.get("origin") == row["replicas"]:
            before = {name: row.get(name) for name in _VALUES} | {
                "target": None,
                "leader_epoch": row["leader_epoch"] - 1,
            }
        if before is not None:
            move.keep({"seq": row["seq"], "row": row["row"], "event": "before"} | before)

    def _end(self, key: Key, cause: str) -> None:
        move = self._running.pop(key)
        move.ended = cause
        self._done.setdefault(key, []).append(move)

    def ended(self) -> Iterator[Move]:
        done, self._done = self._done, {}
        for moves in done.values():
            yield from moves

    def running(self) -> Iterator[Move]:
        """The moves that did not end in this term, which is over, as far as it is looked at."""
        running, self._running, self._before = self._running, {}, {}
        yield from running.values()


def _key(row: Row) -> Key:
    return row["topic"], row["partition"]
