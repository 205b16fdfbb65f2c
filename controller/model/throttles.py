"""Throttles of replication (KIP-179, KIP-73, KIP-542) as values: requests, and marks for their removal.

Keys below `/admin` mark the owners (topics or brokers) whose throttles are removed when no reassignment runs any more.
The mark of an owner has, for each config, the value that an operator had set, the values of this controller, and the
wanted values until they are set. A change of the mark and of the configs is one commit, so the mark is always true.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

from .durations import milliseconds
from .errors import ApiError
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


@attrs.frozen
class ConfigMark:
    """One config of a marked owner. `previous`: the operator's value, None if there is none. `ours`: the value that
    this controller set, or the elements that it added to a list.

    Until the config is as wanted: `wanted`, the values that are to be ours (None: there is nothing to do), and `stays`,
    values that are set besides, and belong to the operator from then on."""

    previous: str | None = None
    ours: tuple[str, ...] = ()
    wanted: tuple[str, ...] | None = None
    stays: tuple[str, ...] = ()
    extra: Extra | None = None

    @property
    def bytes_max(self) -> int:
        """An upper bound of its bytes in the key."""
        values = (*self.ours, *(self.wanted or ()))
        previous = 0 if self.previous is None else len(json.dumps(self.previous))
        return 120 + previous + sum(len(value) + 3 for value in values)


@attrs.frozen
class OwnerMark:
    """The throttle of one topic or broker. `configs`: None if a program that knows no `previous` named the owner: all
    its throttles count as ours. `is_replaced`: it is given back at once. `is_ended`: it is given back as soon as
    nothing is being reassigned. These two, and values that are to stay, are kept in memory only: after a takeover, the
    throttle ends with the moves."""

    configs: Mapping[str, ConfigMark] | None = attrs.field(factory=dict)
    is_replaced: bool = False
    is_ended: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether a config is not yet as wanted."""
        return any(one.wanted is not None for one in (self.configs or {}).values())

    @property
    def is_listed(self) -> bool:
        """Whether the key names the owner: not where there is nothing but values that are to stay."""
        return not self.configs or any(one.ours or not one.stays for one in self.configs.values())

    @property
    def bytes_max(self) -> int:
        """An upper bound of its bytes in the key, without its name."""
        return 20 + sum(one.bytes_max for one in (self.configs or {}).values())


Marks: TypeAlias = Mapping[str, OwnerMark]
"""By owner."""


def owners(kind: MarkKind, marks: Marks) -> list[str]:
    """The marked owners: topics by name, brokers by id."""
    return sorted(marks, key=int if kind == "brokers" else str)


def listed(kind: MarkKind, marks: Marks) -> list[str]:
    return [owner for owner in owners(kind, marks) if marks[owner].is_listed]


def bytes_max(marks: Marks) -> int:
    """An upper bound of the bytes of the key."""
    return 400 + sum(2 * len(owner) + 20 + mark.bytes_max for owner, mark in marks.items())


@attrs.frozen
class MarkKey:
    """A key of marks without its owners. `format`: the `version` in its JSON."""

    extra: Extra | None = None
    format: int = 1


@attrs.frozen
class CommitLimits:
    """The limits of one commit of the store, without its fence."""

    keys: int
    bytes: int


Wanted: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By owner and config: the requested value, or the elements of a list of replicas."""


@attrs.frozen
class ThrottlePlan:
    """The work of a checked request. `wanted`: throttles to set, by kind. `replaces`: kinds whose other marked owners
    get their former values back, except those in `spared`. `moves`: what to move afterwards; `topic_ids`: of their
    topics, since another topic may get the name meanwhile. `answer`: for the caller, once all is done."""

    wanted: Mapping[MarkKind, Wanted]
    commit_limits: CommitLimits
    replaces: frozenset[MarkKind] = frozenset()
    spared: frozenset[str] = frozenset()
    auto_remove: bool = True
    moves: tuple[LegacyEntry, ...] = ()
    topic_ids: Mapping[str, str] = attrs.field(factory=dict)
    answer: Mapping[object, ApiError | None] = attrs.field(factory=dict, eq=False)


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
