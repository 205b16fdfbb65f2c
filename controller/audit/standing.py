"""The vocabulary of the audit: the rules by name, a broken rule, and the state of a partition after a row.

* Rows come from files: every field has its type, or the row breaks the rule `shape`.
* `PartitionState` has the values of a row. A partition without a state key has no isr, leader -1 and leader epoch -1,
  as in the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from ..model.values import NO_EPOCH, NO_LEADER, Replicas

Row: TypeAlias = Mapping[str, Any]

RULES: Final[Mapping[str, str]] = {
    "shape": "a row has the fields of its event, each with its type",
    "numbering": "seq rises, row counts from 0 without holes, and the last row of a commit says how many there are",
    "term": "a term begins with its Takeover, keeps its epoch, and ends with Resigned; epochs rise",
    "topic id": "a topic keeps its id until it is deleted",
    "topic": "a topic is created once; it has no election or move during its deletion, and no move when it is deleted",
    "broker": "a new broker epoch is a death, then a birth; a broker that left neither leads nor enters the isr",
    "leader epoch": "leader epochs never go back, and rise by the amount that belongs to the event",
    "partition epoch": "partition epochs never go back, and there is one per commit",
    "leader": "the leader is in the isr, or there is none; it changes by election and completion only",
    "isr": "the isr is never empty, is within R and T, and changes only as its event allows",
    "replicas": "R changes only by growth, by completion, and by members of the isr that no list contained",
    "target": "T is unchanged from its request until it is cleared",
    "origin": "the origin of a move is unchanged as long as the move runs",
    "status": "the status changes by StatusChanged only: online, read-only, offline; offline has no new leader",
    "purge": "partitions are purged last one first, offline or never led, when no broker has to delete them",
    "move": "a move begins once, and continues only while it runs",
    "growth": "R grows at its end by the members of T that entered the isr, in the commit in which they did",
    "completion": "R := T, T cleared, isr within R: in this order, in one commit, and only with T within the isr",
    "intent": "no member of R or T gets an intent; a replica has one open intent",
    "owed intent": "a broker that leaves R and T has an intent in the same commit; one that comes back has none",
    "open intent": "only an open intent is acknowledged or dropped",
    "legacy key": "entries are removed from a legacy key that exists, and it is removed once",
    "throttle": "throttles that are removed with the last move are removed when no move runs",
    "chain": "each line carries the hash of the line before it",
}
"""The meaning of each rule. `chain` is checked by the reader of the lines, not by `Trace`."""


@attrs.define
class Broken(Exception):
    """A rule is broken; the trace builds an `Illegal` from it."""

    rule: str
    expected: str
    got: str


@attrs.frozen
class Illegal:
    """A row that no legal trace has: its place, the rule (a name in RULES), what was expected, and what it says."""

    epoch: int
    seq: int
    row: int
    event: str
    topic: str | None
    partition: int | None
    rule: str
    expected: str
    got: str

    def __str__(self) -> str:
        topic = "" if self.topic is None else f" of {self.topic}"
        of = topic if self.partition is None else f"{topic}-{self.partition}"
        numbers = (("epoch", self.epoch), ("seq", self.seq), ("row", self.row))  # -1: the line has no such number
        where = "".join(f"{name} {value}, " for name, value in numbers if value >= 0)
        at = f"{where}{self.event}{of}"
        return f"{at}: {self.rule}: expected {self.expected}, got {self.got} ({RULES[self.rule]})"


@attrs.frozen
class PartitionState:
    """A partition after a row. `target`: T, None when it does not move; `partition_epoch` None: not in the row.
    `is_fresh`: the topic was created in this term, and the partition has had no leader yet."""

    topic: str
    partition: int
    topic_id: str
    replicas: Replicas
    isr: Replicas = ()
    target: Replicas | None = None
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    partition_epoch: int | None = None
    status: int = 0
    origin: Replicas | None = None
    is_fresh: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return self.topic, self.partition

    @property
    def members(self) -> Replicas:
        """R, then what only T adds."""
        return self.replicas if self.target is None else _united(self.replicas, self.target)

    @property
    def strays(self) -> Replicas:
        """Members of the isr that are in neither R nor T."""
        return _outside(self.isr, self.members)


@lru_cache(maxsize=65_536)
def _united(replicas: Replicas, target: Replicas) -> Replicas:
    """Cached, because it is called many times for few different lists."""
    return tuple(dict.fromkeys(replicas + target))


@lru_cache(maxsize=65_536)
def _outside(isr: Replicas, members: Replicas) -> Replicas:
    return tuple(b for b in isr if b not in members)


def read_standing(row: Row) -> PartitionState:
    """A partition as `row` (of the journal, or of a Takeover's moves) describes it. Raises Broken for a field of a
    wrong type, and for values that no partition can have."""
    led = "isr" in row
    standing = PartitionState(
        word(row, "topic"),
        number(row, "partition"),
        topic_id_of(row),
        brokers(row.get("replicas"), "replicas"),
        brokers(row["isr"], "isr") if led else (),
        brokers(row["target"], "target") if "target" in row else None,
        number(row, "leader", NO_LEADER) if led else NO_LEADER,
        number(row, "leader_epoch") if led else NO_EPOCH,
        number(row, "partition_epoch") if "partition_epoch" in row else None,
        _status(row),
        brokers(row["origin"], "origin") if "origin" in row else None,
    )
    if standing.leader != NO_LEADER and standing.leader not in standing.isr:
        broken("leader", f"a member of the isr {list(standing.isr)}, or -1", standing.leader)
    return standing


def _status(row: Row) -> int:
    found = number(row, "status", -1) if "status" in row else 0
    if found > 1:
        broken("shape", "-1, 0 or 1 as status", found)
    return found


def broken(rule: str, expected: object, got: object) -> NoReturn:
    """Raise Broken."""
    raise Broken(rule, shown(expected), shown(got))


def shown(value: object) -> str:
    """As in a row: a tuple as a list."""
    return str(list(value)) if isinstance(value, tuple) else str(value)


def word(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        broken("shape", f"a name as {name}", f"{value!r:.80}")
    return value


def topic_id_of(row: Row) -> str:
    """The id of the row's topic; empty for a topic without an id."""
    return word(row, "topic_id") if "topic_id" in row else ""


def number(row: Row, name: str, low: int = 0) -> int:
    value = row.get(name)
    if type(value) is not int or value < low:
        broken("shape", f"a number of at least {low} as {name}", f"{value!r:.80}")
    return value


_NUMBERS: Final = {int}


def brokers(value: object, name: str) -> Replicas:
    """`value` as the brokers of a list: at least one, each once. Raises Broken."""
    # Fast path of functions that run in C: an audit calls this three times per row.
    if type(value) is list and value and set(map(type, value)) == _NUMBERS and min(value) >= 0:
        found = tuple(value)
        if len(set(found)) == len(found):
            return found
    if not isinstance(value, list | tuple) or (value and (set(map(type, value)) != _NUMBERS or min(value) < 0)):
        broken("shape", f"brokers as {name}", f"{value!r:.80}")
    rule = name if name in RULES else "shape"
    if not value:
        broken(rule, f"at least one broker as {name}", "none")
    if len(set(value)) != len(value):
        broken(rule, f"each broker once in {name}", f"{value!r:.80}")
    return tuple(value)


def detail(row: Row) -> Row:
    """The `detail` of a row, empty where it has none."""
    value = row.get("detail", {})
    if not isinstance(value, Mapping):
        broken("shape", "an object as detail", f"{value!r:.80}")
    return value


def listed(row: Row, name: str) -> list[Any]:
    """A list in a detail, empty where it is missing."""
    value = row.get(name, [])
    if not isinstance(value, list | tuple):
        broken("shape", f"a list as {name}", f"{value!r:.80}")
    return list(value)
