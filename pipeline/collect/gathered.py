"""Where every source puts its rows, and the tables made from them.

Sources complement each other: a broker's rack may come from the store and its capacity from a file. A later source
replaces the values of a broker field by field; a null replaces nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, NoReturn, TypeVar

import attrs

from ...controller.model import numerals
from ...stores.reading import TwiceError, parse_json
from ..errors import BadInput
from ..tables.arrow import Arrow, from_rows
from ..tables.declared import (
    ALIVE,
    BROKER,
    BROKER_DEFAULT,
    BROKER_SAMPLE,
    DEAD,
    LOG_DIR,
    PARTITION,
    REPLICA_LOG,
    REPLICA_SAMPLE,
)
from ..tables.rejects import Rejects

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
_FIELDS: Final = BROKER.names[1:]
_T = TypeVar("_T")
_JSON: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


@attrs.define
class Gathered:
    """The rows of the tables of one snapshot, and those that could not be read."""

    brokers: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    partitions: list[tuple[Any, ...]] = attrs.field(factory=list)
    logs: list[tuple[Any, ...]] = attrs.field(factory=list)
    log_dirs: dict[tuple[int, str], tuple[int | None, int | None, bool]] = attrs.field(factory=dict)
    """By broker and path: total and usable bytes of the volume, and whether the directory is cordoned."""
    replica_samples: list[tuple[Any, ...]] = attrs.field(factory=list)
    broker_samples: list[tuple[Any, ...]] = attrs.field(factory=list)
    rejects: Rejects = attrs.field(factory=Rejects)
    default: dict[str, Any] = attrs.field(factory=dict)
    """Capacities of brokers of which no source has any, also of those that a plan adds."""
    notes: list[str] = attrs.field(factory=list)
    """Sentences for the user about how a source was read."""
    knows_alive: bool = False
    """Whether a source says which brokers are alive; if none does, all count as alive."""
    doubtful: set[int] = attrs.field(factory=set)
    """Brokers listed in a row that cannot be used: they do not count as dead."""

    def broker(self, broker_id: int, **known: Any) -> None:
        """Add what is known of a broker (columns of the table broker)."""
        row = self.brokers.setdefault(broker_id, dict.fromkeys(_FIELDS))
        row.update({name: value for name, value in known.items() if value is not None})

    def broker_sample(self, when: datetime, broker_id: int, **known: float | None) -> None:
        """Add a measurement of a broker (columns of the table broker_sample)."""
        self.broker_samples.append((when, broker_id, *(known.get(name) for name in BROKER_SAMPLE.names[2:])))

    def tables(self) -> dict[str, Arrow]:
        """The tables by name. A broker that only holds replicas is dead if a source knows which brokers are alive."""
        unseen = DEAD if self.knows_alive else ALIVE
        for row in self.partitions:
            for broker_id in {*row[2], *(row[6] or ())}:
                if broker_id not in self.brokers:
                    self.broker(broker_id)
        for broker_id in self.doubtful & self.brokers.keys():
            self.brokers[broker_id]["state"] = self.brokers[broker_id]["state"] or ALIVE
        brokers = [
            (broker_id, row["host"], row["rack"], row["state"] or unseen, *(row[name] for name in _FIELDS[3:]))
            for broker_id, row in sorted(self.brokers.items())
        ]
        return {
            "broker": from_rows(BROKER, brokers),
            "broker_default": from_rows(BROKER_DEFAULT, [tuple(self.default.values())] if self.default else []),
            "partition": from_rows(PARTITION, self.partitions),
            "replica_log": from_rows(REPLICA_LOG, self.logs),
            "log_dir": from_rows(LOG_DIR, [(*key, *volume, None) for key, volume in self.log_dirs.items()]),
            "replica_sample": from_rows(REPLICA_SAMPLE, self.replica_samples),
            "broker_sample": from_rows(BROKER_SAMPLE, self.broker_samples),
            "rejected_rows": self.rejects.table(),
        }


class BadRow(Exception):
    """A row of an input cannot be used; the message is the reason."""


def bad_row(what: str, expected: str, got: object) -> NoReturn:
    raise BadRow(f"{what}: expected {expected}, got {got!r:.120}")


def each(rejects: Rejects, source: str, rows: Mapping[str, Any] | list[Any], take: Callable[[str, Any], None]) -> None:
    """Give every row to `take`, with its number or its name; one that raises BadRow is rejected."""
    named = rows.items() if isinstance(rows, Mapping) else ((str(i), row) for i, row in enumerate(rows, 1))
    for number, (name, row) in enumerate(named, 1):
        try:
            take(name, row)
        except BadRow as error:
            rejects.add(source, number, {name: row} if isinstance(rows, Mapping) else row, str(error))


def of_kind(rows: Mapping[str, Any] | list[Any], source: str, what: str, looks: Callable[[str, Any], bool]) -> Any:
    """Return `rows` if it is empty, or if at least one row looks like `what` (its name or number, and its value).
    Raises BadInput otherwise: a file of another kind must not count as a file of bad rows."""
    named = rows.items() if isinstance(rows, Mapping) else ((str(i), row) for i, row in enumerate(rows, 1))
    if rows and not any(looks(name, row) for name, row in named):
        raise BadInput(f"{source}: none of the {len(rows)} rows looks like {what}; this is a file of another kind")
    return rows


def is_id(name: str) -> bool:
    """Whether a name of a JSON object may be the id of a broker or a partition."""
    return numerals.whole(name) is not None


def document(data: bytes, source: str, key: str | None = None, kind: type[_T] | None = None) -> Any:
    """The JSON object in `data`, or its value under `key`, which is of type `kind`. Raises BadInput for anything
    else."""
    try:
        found = parse_json(data)
    except TwiceError as error:
        raise BadInput(f"{source}: {error}") from None
    except ValueError as error:
        raise BadInput(f"{source}: not a whole JSON file: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(found, dict):
        raise BadInput(f"{source}: expected a JSON object, got {_JSON[type(found)]}")
    if key is None:
        return found
    if kind is not None and key not in found:
        raise BadInput(f"{source}: expected a JSON object with {_JSON[kind]} under {key!r}; the key is missing")
    value = found.get(key)
    if kind is not None and not isinstance(value, kind):
        raise BadInput(f"{source}: expected {_JSON[kind]} under {key!r}, got {_JSON[type(value)]}")
    return value


def whole(raw: object, what: str, high: int = LONG_MAX, low: int = 0) -> int:
    """`raw` as a whole number within low..high, also from a string, as in names of JSON objects. Raises BadRow
    otherwise."""
    found = numerals.whole(raw, low=None, high=None) if isinstance(raw, str) else raw
    if type(found) is not int or not low <= found <= high:
        bad_row(what, f"a whole number within {low}..{high}", raw)
    return found


def amount(raw: object, what: str) -> float:
    """`raw` as a finite number, 0 or more, also from a string. Raises BadRow otherwise."""
    found: Any = numerals.decimal(raw) if isinstance(raw, str) else raw
    if type(found) not in {int, float} or not 0 <= found < LONG_MAX:  # NaN is not
        bad_row(what, "a number, 0 or more", raw)
    return float(found)


def an_object(raw: object, what: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        bad_row(what, "a JSON object", raw)
    return raw


def a_list(raw: object, what: str) -> list[Any]:
    if not isinstance(raw, list):
        bad_row(what, "a list", raw)
    return raw
