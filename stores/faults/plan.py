"""Faults, and the plan that says when they happen.

Rules
* A plan is a list of rules, or a function of the call and a seeded `random.Random`. Both are deterministic: the same
  calls in the same order meet the same faults.
* A call is counted and recorded before its faults happen. Numbers begin at 1 and count over all sessions that came from
  one FaultStore by `another_session`: "commit number i" counts per process, not per connection.
* Several faults of one call happen in order, until one of them ends the call.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

import attrs

from ..base import Invalid, Op


@attrs.frozen
class FailBefore:
    """The request is not sent: Unavailable."""


@attrs.frozen
class LoseReply:
    """The request is sent and answered, but the answer is lost: OutcomeUnknown, applied (or refused by the server)."""


@attrs.frozen
class LoseRequest:
    """The request is lost on its way: OutcomeUnknown, and never applied."""


@attrs.frozen
class DeliverLater:
    """The request is delayed: OutcomeUnknown now, and it reaches the server later: on `deliver_late()`, or just before
    the `before_commit`-th commit after it. For commits only; for any other call it acts as LoseRequest."""

    before_commit: int | None = None


@attrs.frozen
class Delay:
    """The call takes `seconds` longer, by the injected sleep."""

    seconds: float


@attrs.frozen
class ExpireSession:
    """The server ends the session just before the call."""


@attrs.frozen
class CutOff:
    """The client is disconnected just before the call, until `reconnect()`."""


@attrs.frozen
class ForceResync:
    """Every stream gets a Resync "injected" just before the call."""


@attrs.frozen
class DropEvent:
    """The event is dropped. This breaks the contract on purpose."""


@attrs.frozen
class DoubleEvent:
    """The event is delivered twice."""


Fault: TypeAlias = (
    FailBefore
    | LoseReply
    | LoseRequest
    | DeliverLater
    | Delay
    | ExpireSession
    | CutOff
    | ForceResync
    | DropEvent
    | DoubleEvent
)

CALLS: tuple[str, ...] = (
    "get",
    "get_many",
    "get_columns",
    "children",
    "created_below",
    "snapshot",
    "commit",
    "subscribe",
    "another_session",
    "event",
)
"""Names of calls: the methods of a store, and "event" for a hint that a stream is about to deliver."""


@attrs.frozen
class Call:
    """One call, as plans get it and as it is recorded. `number` counts the calls of this name, from 1; `ops`: those of
    a commit."""

    name: str
    keys: tuple[str, ...]
    number: int
    ops: tuple[Op, ...] = ()


def _known(_: object, __: object, name: str) -> None:
    if name != "*" and name not in CALLS:
        raise Invalid(f"a rule must be for one of {', '.join(CALLS)} or '*', not {name!r}")


@attrs.frozen
class Rule:
    """`fault` happens to calls named `name` ("*": all but events) with a key that matches `key` (`*` and `?`; `*`
    matches slashes too): to the `nth` of those calls, or without a number to all."""

    fault: Fault
    name: str = attrs.field(default="commit", validator=_known)
    key: str = "*"
    nth: int | None = None

    def matches(self, call: Call) -> bool:
        """Whether this rule counts `call`."""
        if self.name not in (call.name, "*") or (self.name == "*" and call.name == "event"):
            return False
        return self.key == "*" or any(fnmatchcase(key, self.key) for key in call.keys)


def at_commit(number: int, *faults: Fault) -> tuple[Rule, ...]:
    """Rules by which `faults` happen to commit number `number`, counted from 1."""
    return tuple(Rule(fault, "commit", nth=number) for fault in faults)


Plan: TypeAlias = Sequence[Rule] | Callable[[Call, random.Random], Iterable[Fault]]


class Script:
    """A running plan, shared by a FaultStore and all sessions that come from it. Thread-safe."""

    def __init__(self, plan: Plan, seed: int, calls_max: int) -> None:
        self.plan = plan
        self.calls: deque[Call] = deque(maxlen=calls_max)
        self.numbers: Counter[str] = Counter()
        self._random = random.Random(seed)  # noqa: S311 - seeded on purpose
        self._matched: Counter[int] = Counter()  # how many calls each rule has counted, by its index in the plan
        self._lock = threading.Lock()

    def begin(self, name: str, keys: Iterable[str], ops: Sequence[Op] = ()) -> tuple[Call, list[Fault]]:
        """Count and record a call, and return its faults."""
        with self._lock:
            self.numbers[name] += 1
            call = Call(name, tuple(keys), self.numbers[name], tuple(ops))
            self.calls.append(call)
            if callable(self.plan):
                return call, list(self.plan(call, self._random))
            return call, [rule.fault for place, rule in enumerate(self.plan) if self._happens(place, rule, call)]

    def replace(self, plan: Plan) -> None:
        """Follow another plan from now on; its rules count from zero, calls are numbered on."""
        with self._lock:
            self.plan = plan
            self._matched.clear()

    def _happens(self, place: int, rule: Rule, call: Call) -> bool:
        if not rule.matches(call):
            return False
        self._matched[place] += 1
        return rule.nth is None or rule.nth == self._matched[place]
