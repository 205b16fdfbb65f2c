"""Throttles of replication (KIP-179, KIP-73, KIP-542) as values: what is asked for, and what is marked for removal.

A mark is a key below `/admin`: it names the owners (topics, or brokers) whose throttles go when nothing is being
reassigned any more, and keeps per config what an operator had set (`was`) and which values are ours (`set`). What it
does not keep is nobody's but the mark's: a mark of somebody who knows no `previous` means all of an owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

from controller.model.durations import milliseconds
from controller.model.errors import ApiError
from controller.model.frozen import frozen
from controller.model.legacy import LegacyEntry
from controller.model.requests import as_replicas
from controller.model.throttle_configs import LISTS, RATES
from controller.model.values import Extra, Replicas

MarkKind: TypeAlias = Literal["topics", "brokers"]
"""Whose throttles: lists of replicas are topics', rates are brokers'."""
MarkSlot: TypeAlias = Literal["topics", "brokers", "old topics", "old brokers"]
"""Which key: one of ours, or one under the other name that the KIP uses."""

KINDS: Final[tuple[MarkKind, ...]] = ("topics", "brokers")
OLD: Final[Mapping[MarkKind, MarkSlot]] = {"topics": "old topics", "brokers": "old brokers"}
SLOTS: Final[tuple[MarkSlot, ...]] = (*KINDS, *OLD.values())
CONFIGS: Final[Mapping[MarkKind, tuple[str, ...]]] = {
    "topics": LISTS,
    "brokers": (*RATES["replication"], *RATES["reassignment"]),
}
"""What a removal drops."""

ADVISED_MIN: Final = 1024
"""Bytes a second below which the KIP advises against a throttle."""


@frozen
class Kept:
    """One config of a marked owner. `set`: the values that are ours; of a list of replicas: its elements that are.
    `was`: what stood there before, None: nothing."""

    was: str | None = None
    set: tuple[str, ...] = ()
    extra: Extra | None = None


Previous: TypeAlias = Mapping[str, Mapping[str, Kept]]
"""By owner and config."""


@frozen
class ThrottleMark:
    """A mark as it stands in the store, or is to stand there. `version` 0: the key is absent. `problem`: why it cannot
    be read; then it names nobody. `format`: the `version` that its JSON says."""

    version: int = 0
    owners: tuple[str, ...] = ()
    previous: Previous = attrs.field(factory=dict)
    extra: Extra | None = None
    format: int = 1
    problem: str | None = None


NO_MARK: Final = ThrottleMark()


@frozen
class CommitLimits:
    """What one commit of the store takes, beside its fence."""

    keys: int
    bytes: int


Wanted: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By owner and config: the value that is asked for; of a list of replicas its elements."""


@frozen
class ThrottlePlan:
    """What a request that was checked is to do. `wanted`: throttles to set, by kind. `replaces`: kinds of which the
    marked owners that are not asked for get theirs back, but for those in `spared`. `moves`: what is to be moved
    then. `answer`: for the caller, once all is done."""

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


# --- what callers hand in


def _as_rate(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"a rate must be an int of bytes per second, not {value!r:.80}")
    return value


@attrs.frozen
class ThrottledRate:
    """Bytes a second that a broker sends as leader, and fetches as follower, of what is throttled (KIP-179). That they
    are positive is checked by the controller (INVALID_THROTTLE). TypeError for what is no int."""

    leader_rate: int = attrs.field(converter=_as_rate)
    follower_rate: int = attrs.field(converter=_as_rate)


def _as_brokers(value: object) -> Replicas | None:
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    return None if value is None else as_replicas(value, "the brokers of ThrottledReplicas")


@attrs.frozen
class ThrottledReplicas:
    """Which brokers are throttled as leader, and as follower, of a partition (KIP-179). None: every broker in the
    cluster; empty: none. TypeError for what is no collection of ints."""

    leaders: Replicas | None = attrs.field(default=None, converter=_as_brokers)
    followers: Replicas | None = attrs.field(default=None, converter=_as_brokers)


def _check_flag(_: object, attribute: attrs.Attribute[bool], value: object) -> None:
    if type(value) is not bool:
        raise TypeError(f"{attribute.name} must be a bool, not {value!r:.80}")


@attrs.frozen(kw_only=True)
class ReassignPartitionsOptions:
    """`validate_only`: the same answers, and nothing changes. `throttle`: bytes a second of all replication that the
    moves make, on each broker and side; None or 2^63-1: no throttle. `auto_remove_throttle`: it goes when the last move
    has ended. `timeout_s`: seconds until the commit. TypeError, ValueError where a field is not of its kind."""

    validate_only: bool = attrs.field(default=False, validator=_check_flag)
    throttle: int | None = attrs.field(default=None)
    auto_remove_throttle: bool = attrs.field(default=True, validator=_check_flag)
    timeout_s: float = 60.0

    def __attrs_post_init__(self) -> None:
        if type(self.throttle) is not int and self.throttle is not None:
            raise TypeError(f"throttle must be an int, not {self.throttle!r:.80}")
        milliseconds(self.timeout_s, "timeout_s")
