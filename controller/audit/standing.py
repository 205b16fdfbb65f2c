"""The words of a legal trace: the rules by name, how a broken one is told, and a partition as a row says it stands.

* Rows come from files: every field is of its kind, or the row breaks the rule `shape`.
* `Standing` has what a row says after the record. A partition without a state key stands with no isr, leader -1, leader
  epoch -1, as in the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from controller.model.frozen import frozen
from controller.model.values import NO_EPOCH, NO_LEADER, Replicas

Row: TypeAlias = Mapping[str, Any]

RULES: Final[Mapping[str, str]] = {
    "shape": "a row has the fields of its event, each of its kind",
    "numbering": "seq rises, row counts from 0 without holes, and the last row of a commit says how many there are",
    "term": "a term begins with its Takeover, keeps its epoch, and ends with Resigned; epochs rise",
    "topic id": "a topic keeps its id until it is deleted",
    "topic": "a topic is created once; none is elected or moved while it is deleted, and none is deleted that moves",
    "broker": "a broker with another epoch is a death, then a birth; nobody who left leads or enters the isr",
    "leader epoch": "leader epochs never go back, and rise by what the event says",
    "partition epoch": "partition epochs never go back, and there is one per commit",
    "leader": "the leader is in the isr or there is none; it changes by election and completion only",
    "isr": "the isr is never empty, within R and T, and changes only as its event says",
    "replicas": "R changes only by growth, completion, and members of the isr that nobody had listed",
    "target": "T is untouched from its request until it is cleared",
    "origin": "where a move came from stays as long as it runs",
    "status": "the status changes by StatusChanged only: online, read-only, offline; nobody leads what is offline anew",
    "purge": "what is offline, or was never led, is purged, the last partition first, once nobody has to delete it",
    "move": "a move is begun once, and goes on only while it runs",
    "growth": "R grows at its end by the members of T that entered the isr, in the commit in which they did",
    "completion": "R := T, T cleared, isr within R: in this order, in one commit, and only with T within the isr",
    "intent": "nobody of R or T is told to delete; a replica has one open intent",
    "owed intent": "who leaves R and T has an intent in the same commit; who comes back has none",
    "open intent": "only an open intent is acknowledged or dropped",
    "legacy key": "entries are removed from a legacy key that is there, and it is removed once",
    "throttle": "throttles that are to go with the last move go when nothing moves",
    "chain": "each line carries the hash of the line before it",
}
"""What a row can break, in words. `chain` is looked at by whoever reads the lines."""


class Broken(Exception):
    """A rule is broken; what stands in it is put together to an `Illegal` by the trace."""

    def __init__(self, rule: str, expected: str, got: str) -> None:
        super().__init__(rule, expected, got)
        self.rule = rule
        self.expected = expected
        self.got = got


@attrs.frozen
class Illegal:
    """A row that no legal trace has: which, the rule (a name in RULES), what it would have been, what it is."""

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
        numbers = (("epoch", self.epoch), ("seq", self.seq), ("row", self.row))  # -1: the line does not say
        where = "".join(f"{name} {value}, " for name, value in numbers if value >= 0)
        at = f"{where}{self.event}{of}"
        return f"{at}: {self.rule}: expected {self.expected}, got {self.got} ({RULES[self.rule]})"


@frozen
class Standing:
    """A partition after a row. `target`: T, None when it does not move; `partition_epoch` None: the row says none.
    `is_fresh`: of a topic that was created in this term, without a leader so far."""

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
    def has_state(self) -> bool:
        return bool(self.isr)

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
    """Asked many times for few different lists."""
    return tuple(dict.fromkeys(replicas + target))


@lru_cache(maxsize=65_536)
def _outside(isr: Replicas, members: Replicas) -> Replicas:
    return tuple(b for b in isr if b not in members)


def read_standing(row: Row) -> Standing:
    """A partition as `row` (of the journal, or of a Takeover's moves) says it. Raises Broken for a field that is not of
    its kind, and for what holds of no partition, whatever was before."""
    led = "isr" in row
    standing = Standing(
        word(row, "topic"),
        number(row, "partition"),
        topic_id_of(row),
        ids(row, "replicas"),
        ids(row, "isr") if led else (),
        ids(row, "target") if "target" in row else None,
        number(row, "leader", NO_LEADER) if led else NO_LEADER,
        number(row, "leader_epoch") if led else NO_EPOCH,
        number(row, "partition_epoch") if "partition_epoch" in row else None,
        _status(row),
        ids(row, "origin") if "origin" in row else None,
    )
    if standing.leader != NO_LEADER and standing.leader not in standing.isr:
        broken("leader", f"one of the isr {list(standing.isr)}, or -1", standing.leader)
    return standing


def _status(row: Row) -> int:
    found = number(row, "status", -1) if "status" in row else 0
    if found > 1:
        broken("shape", "-1, 0 or 1 as status", found)
    return found


def broken(rule: str, expected: object, got: object) -> NoReturn:
    """Raise Broken; tuples are told as the lists that a row has."""
    raise Broken(rule, _said(expected), _said(got))


def _said(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def word(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        broken("shape", f"a name as {name}", f"{value!r:.80}")
    return value


def topic_id_of(row: Row) -> str:
    """A topic without an id has none in its rows."""
    return word(row, "topic_id") if "topic_id" in row else ""


def number(row: Row, name: str, low: int = 0) -> int:
    value = row.get(name)
    if type(value) is not int or value < low:
        broken("shape", f"a number of at least {low} as {name}", f"{value!r:.80}")
    return value


def ids(row: Row, name: str) -> Replicas:
    """A list of brokers: at least one, each once."""
    return brokers(row.get(name), name)


_NUMBERS: Final = {int}


def brokers(value: object, name: str) -> Replicas:
    """`value` as brokers of a list: at least one, each once. Raises Broken."""
    # By what runs in C: an audit asks this three times a row.
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
    """A list of a detail, empty where it is not said."""
    value = row.get(name, [])
    if not isinstance(value, list | tuple):
        broken("shape", f"a list as {name}", f"{value!r:.80}")
    return list(value)
