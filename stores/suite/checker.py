"""Checks whether a history of register operations is linearizable: a search after Wing and Gong, with Lowe's memory.

Rules
* An operation takes effect at one instant between its start and its end. An operation with an unknown outcome has no
  end: it may take effect at any time after its start, or never.
* Registers are independent, so each is checked alone (linearizability is local).
* The search extends a prefix of the history by any operation that started before all others had ended. A state is the
  set of operations done and the register's value; none is visited twice (Lowe, "Testing for linearizability").
* An operation that changes nothing and fits now is taken now, without trying others in its place: in any order that
  takes it later, it can be moved to the front. Otherwise the search would grow with every concurrent read.
* An operation without an end whose value no other one names explains one thing: that a compare-and-set was refused. So
  it is tried only then, and of those that do the same only the one that started first. Clients that are cut off leave
  hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, Literal

import attrs

UNKNOWN_END: Final = math.inf
STATES_MAX: Final = 500_000
_READING: Final = ("read", "miss")


@attrs.frozen
class Operation:
    """One call on a register, with ticks of one clock that all clients share.

    "read" found `value`; "write" wrote `value`; "cas" found `expected` and wrote `value`; "miss" was a compare-and-set
    that was refused since the value was not `expected`. Values are unique per write, so that a value names its write.
    """

    register: str
    kind: Literal["read", "write", "cas", "miss"]
    value: bytes | None
    start: float
    end: float = UNKNOWN_END
    expected: bytes | None = None


class Undecided(Exception):
    """The search exceeded its limit: too many operations of one register are concurrent, or have no end."""


class Unanswered(AssertionError):
    """Operations had no answer although nothing was broken on purpose."""


def unlinearizable(
    history: Iterable[Operation], initial: bytes | None = None, *, states_max: int = STATES_MAX
) -> str | None:
    """The name of a register whose history no order explains; None if all are linearizable. Raises Undecided if one
    register takes more than `states_max` states."""
    registers: dict[str, list[Operation]] = {}
    for operation in history:
        registers.setdefault(operation.register, []).append(operation)
    for name, operations in sorted(registers.items()):
        if not _explained(sorted(operations, key=lambda op: (op.start, op.end)), initial, states_max):
            return name
    return None


def _explained(operations: list[Operation], initial: bytes | None, states_max: int) -> bool:
    must = sum(1 << index for index, op in enumerate(operations) if op.end != UNKNOWN_END)
    unseen = _unseen(operations)
    tried: set[tuple[int, bytes | None]] = set()
    stack: list[tuple[int, bytes | None]] = [(0, initial)]
    while stack:
        done, value = stack.pop()
        if done & must == must:
            return True
        if (done, value) in tried:
            continue
        tried.add((done, value))
        if len(tried) > states_max:
            raise Undecided(f"no answer within {states_max} states of {len(operations)} operations")
        for index in _next(operations, unseen, done, value):
            after = _effect(operations[index], value)
            if isinstance(after, _Refused):
                continue
            stack.append((done | 1 << index, after))
            if operations[index].kind in _READING:
                break
    return False


def _unseen(operations: list[Operation]) -> list[tuple[str, bytes | None] | None]:
    """For each operation without an end whose value no other one names, what it does to the register; else None."""
    named = {op.value for op in operations if op.kind == "read"} | {op.expected for op in operations}
    is_open = [op.end == UNKNOWN_END and op.value not in named for op in operations]
    return [(op.kind, op.expected) if is_it else None for op, is_it in zip(operations, is_open, strict=True)]


def _next(
    operations: list[Operation], unseen: list[tuple[str, bytes | None] | None], done: int, value: bytes | None
) -> list[int]:
    """The operations that may be next: those that started before the end of every operation still to come. Those that
    change nothing are first; of the others, the one that ended first is last, so that it is tried first."""
    bound = UNKNOWN_END
    candidates: list[int] = []
    others: dict[tuple[str, bytes | None], int] = {}
    for index in range(_lowest_unset(done), len(operations)):
        operation = operations[index]
        if operation.start > bound:
            break
        if done >> index & 1:
            continue
        if (does := unseen[index]) is not None:
            others.setdefault(does, index)
            continue
        candidates.append(index)
        bound = min(bound, operation.end)
    if any(operations[index].kind == "miss" and operations[index].expected == value for index in candidates):
        candidates += others.values()
    return sorted(candidates, key=lambda i: (operations[i].kind not in _READING, -operations[i].end))


class _Refused:
    """The operation cannot have taken effect here."""


_REFUSED: Final = _Refused()


def _effect(operation: Operation, value: bytes | None) -> bytes | _Refused | None:
    """The register after `operation` on `value`, or _REFUSED if the operation would have had another result."""
    match operation.kind:
        case "read":
            return value if operation.value == value else _REFUSED
        case "write":
            return operation.value
        case "cas":
            return operation.value if operation.expected == value else _REFUSED
        case "miss":
            return value if operation.expected != value else _REFUSED


def _lowest_unset(bits: int) -> int:
    return (~bits & (bits + 1)).bit_length() - 1
