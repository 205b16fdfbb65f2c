"""Throttles of replication (KIP-179, KIP-73, KIP-542) as values: requests, and marks for their removal.

A mark is a key below `/admin`. It names the owners (topics or brokers) whose throttles are removed when no reassignment
runs any more. For each config it keeps the value that an operator had set (`was`) and the values of this controller
(`set`). For a config without such a record, everything counts as the mark's: a mark by a program that does not know
`previous` covers all throttles of its owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

from .durations import milliseconds
from .errors import ApiError
from .frozen import frozen
from .legacy import LegacyEntry
from .requests import as_replicas
from .throttle_configs import LISTS, RATES
from .values import Extra, Replicas

MarkKind: TypeAlias = Literal["topics", "brokers"]
"""The owners of throttles: topics have lists of replicas, brokers have rates."""
MarkSlot: TypeAlias = Literal["topics", "brokers", "old topics", "old brokers"]
"""The key of a mark: this controller's, or one under the other name that the KIP uses."""

KINDS: Final[tuple[MarkKind, ...]] = ("topics", "brokers")
OLD: Final[Mapping[MarkKind, MarkSlot]] = {"topics": "old topics", "brokers": "old brokers"}
SLOTS: Final[tuple[MarkSlot, ...]] = (*KINDS, *OLD.values())
CONFIGS: Final[Mapping[MarkKind, tuple[str, ...]]] = {
    "topics": LISTS,
    "brokers": (*RATES["replication"], *RATES["reassignment"]),
}
"""The configs that a removal deletes."""

ADVISED_MIN: Final = 1024
"""Bytes per second below which KIP-179 advises against a throttle."""


@frozen
class Kept:
    """One config of a marked owner. `set`: the values that this controller set, or the elements that it added to a
    list.
    `was`: the former value, None if there was none."""

    was: str | None = None
    set: tuple[str, ...] = ()
    extra: Extra | None = None


Previous: TypeAlias = Mapping[str, Mapping[str, Kept]]
"""By owner and config."""


@frozen
class ThrottleMark:
    """A mark in the store, or one to be written. `version` 0: the key is absent. `problem`: why it cannot be read; it
    has no owners then. `format`: the `version` in its JSON."""

    version: int = 0
    owners: tuple[str, ...] = ()
    previous: Previous = attrs.field(factory=dict)
    extra: Extra | None = None
    format: int = 1
    problem: str | None = None


NO_MARK: Final = ThrottleMark()


@frozen
class CommitLimits:
    """The limits of one commit of the store, without its fence."""

    keys: int
    bytes: int


Wanted: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By owner and config: the requested value, or the elements of a list of replicas."""


@frozen
class ThrottlePlan:
    """The work of a checked request. `wanted`: throttles to set, by kind. `replaces`: kinds whose other marked owners
    get their former values back, except those in `spared`. `moves`: what to move afterwards. `answer`: for the caller,
    once all is done."""

    wanted: Mapping[MarkKind, Wanted]
    replaces: frozenset[MarkKind] = frozenset()
    spared: frozenset[str] = frozenset()
    auto_remove: bool = True
    moves: tuple[LegacyEntry, ...] = ()
    answer: Mapping[object, ApiError | None] = attrs.field(factory=dict)
    is_reassignment: bool = False


@frozen
class ThrottleStep:
    """One step of a plan that does not fit into one commit. `order`: a step waits for all with a lower one. `owner` "":
    the step is about the mark, or (`begin`) about the moves."""

    order: int
    do: Literal["mark", "back", "set", "trim", "begin"]
    kind: MarkKind = "topics"
    owner: str = ""


# --- arguments of callers


def _as_rate(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"a rate must be an int of bytes per second, not {value!r:.80}")
    return value


@attrs.frozen
class ThrottledRate:
    """The bytes per second that a broker may send as leader, and fetch as follower, of throttled replicas (KIP-179).
    The controller checks that they are positive (INVALID_THROTTLE). TypeError if one is not an int."""

    leader_rate: int = attrs.field(converter=_as_rate)
    follower_rate: int = attrs.field(converter=_as_rate)


def _as_brokers(value: object) -> Replicas | None:
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    return None if value is None else as_replicas(value, "the brokers of ThrottledReplicas")


@attrs.frozen
class ThrottledReplicas:
    """The brokers that are throttled as leader and as follower of a partition (KIP-179). None: all brokers of the
    cluster; empty: none. TypeError if it is not a collection of ints."""

    leaders: Replicas | None = attrs.field(default=None, converter=_as_brokers)
    followers: Replicas | None = attrs.field(default=None, converter=_as_brokers)


def _check_flag(_: object, attribute: attrs.Attribute[bool], value: object) -> None:
    if type(value) is not bool:
        raise TypeError(f"{attribute.name} must be a bool, not {value!r:.80}")


@attrs.frozen(kw_only=True)
class ReassignPartitionsOptions:
    """`validate_only`: check only. `throttle`: bytes per second for all copying of the moves, per broker and side; None
    or 2^63-1: no throttle. `auto_remove_throttle`: remove it when the last move has ended. `timeout_s`: seconds until
    the commit. TypeError, ValueError for a field of the wrong type or range."""

    validate_only: bool = attrs.field(default=False, validator=_check_flag)
    throttle: int | None = attrs.field(default=None)
    auto_remove_throttle: bool = attrs.field(default=True, validator=_check_flag)
    timeout_s: float = 60.0

    def __attrs_post_init__(self) -> None:
        if type(self.throttle) is not int and self.throttle is not None:
            raise TypeError(f"throttle must be an int, not {self.throttle!r:.80}")
        milliseconds(self.timeout_s, "timeout_s")
