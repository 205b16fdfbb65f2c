"""Requests for plans: one value per kind, checked on creation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from ..arguments import checked, ids
from ..errors import BadInput
from ..kernel.goals import RESOURCES

TOLERANCE = 0.01


def _with_racks(brokers: Iterable[tuple[Any, str | None]]) -> tuple[tuple[int, str | None], ...]:
    try:
        given = [(broker, rack) for broker, rack in brokers]
    except (TypeError, ValueError):
        raise BadInput(f"brokers: expected ids, each with its rack or None, got {brokers!r:.80}") from None
    if odd := [rack for _, rack in given if not isinstance(rack, str | None)]:
        raise BadInput(f"rack: expected a text or None, got {odd[0]!r:.80}")
    return tuple(zip(ids([broker for broker, _ in given]), (rack for _, rack in given), strict=True))


@attrs.frozen(field_transformer=checked)
class Drain:
    """No replica on these brokers; if none is named, on those in state draining."""

    brokers: tuple[int, ...] = attrs.field(default=(), converter=ids)


@attrs.frozen(field_transformer=checked)
class Add:
    """Level bytes onto these brokers, (id, rack or None); one that is not in the snapshot is used as given."""

    brokers: tuple[tuple[int, str | None], ...] = attrs.field(converter=_with_racks)
    tolerance: float = TOLERANCE
    bytes_max: int | None = None

    def __attrs_post_init__(self) -> None:
        if not self.brokers:
            raise BadInput("add: expected at least one broker, got none")
        _check_level(self.tolerance, self.bytes_max)


@attrs.frozen(field_transformer=checked)
class Rebalance:
    """Level what `by` names over all brokers, copying at most `bytes_max`: "bytes", "network-in", "network-out",
    "replicas", "leaders", "topic-replicas", "topic-leaders"; the last two are the counts of each topic. Brokers above a
    capacity, `replicas_max` or `leaders_max` are repaired first."""

    tolerance: float = TOLERANCE
    bytes_max: int | None = None
    by: tuple[str, ...] = ("bytes",)
    replicas_max: int | None = None
    leaders_max: int | None = None

    def __attrs_post_init__(self) -> None:
        _check_level(self.tolerance, self.bytes_max)
        unknown = [name for name in self.by if name not in RESOURCES]
        if unknown or not self.by or len(set(self.by)) < len(self.by):
            expected = f"expected some of {', '.join(RESOURCES)}, each once"
            raise BadInput(f"by: {expected}; got {', '.join(map(str, self.by)) or 'none'}")
        for what, most in (("replicas", self.replicas_max), ("leaders", self.leaders_max)):
            if most is not None and most < 0:
                raise BadInput(f"limit of {what} of a broker: expected 0 or more, got {most}")


@attrs.frozen(field_transformer=checked)
class BalanceDisks:
    """Level the bytes of the directories within each of these brokers; if none is named, within all."""

    brokers: tuple[int, ...] = attrs.field(default=(), converter=ids)
    tolerance: float = TOLERANCE

    def __attrs_post_init__(self) -> None:
        _check_level(self.tolerance, None)


@attrs.frozen
class FixRacks:
    """Every partition in as many racks as possible."""


@attrs.frozen(field_transformer=checked)
class SetFactor:
    """`factor` replicas for every partition."""

    factor: int

    def __attrs_post_init__(self) -> None:
        if self.factor < 1:
            raise BadInput(f"replication factor: expected 1 or more, got {self.factor}")


@attrs.frozen
class Leaders:
    """Preferred leaders evenly, by changing the order of replicas only."""


@attrs.frozen(field_transformer=checked)
class Demote:
    """No preferred leader on these brokers, by changing the order of replicas only."""

    brokers: tuple[int, ...] = attrs.field(converter=ids)

    def __attrs_post_init__(self) -> None:
        if not self.brokers:
            raise BadInput("demote: expected at least one broker, got none")


@attrs.frozen(field_transformer=checked)
class Undo:
    """The order of replicas as it was before the plan of that name, which must not have copied anything."""

    undo: str


@attrs.frozen(field_transformer=checked)
class ReducePartitions:
    """As few partitions as keep each below these bytes and bytes per second."""

    bytes_max: int
    bps_max: float

    def __attrs_post_init__(self) -> None:
        if self.bytes_max < 1 or not self.bps_max > 0:
            raise BadInput(
                f"limits of a partition: expected above 0, got {self.bytes_max} bytes, {self.bps_max} bytes/s"
            )


KINDS: Final[Mapping[type, str]] = {
    Drain: "drain",
    Add: "fill-brokers",
    Rebalance: "rebalance",
    BalanceDisks: "balance-disks",
    FixRacks: "fix-racks",
    SetFactor: "set-replication-factor",
    Leaders: "balance-leaders",
    Demote: "demote",
    Undo: "undo",
    ReducePartitions: "reduce-partitions",
}

LEVELS: Final = frozenset({KINDS[Add], KINDS[Rebalance], KINDS[BalanceDisks]})
"""The kinds that level bytes, which is impossible if sizes are unknown."""

RUNS_DISKS: Final = "kafka-reassign-partitions runs the plan.json of its export"
"""How a plan of `BalanceDisks` is run."""

Request: TypeAlias = (
    Drain | Add | Rebalance | BalanceDisks | FixRacks | SetFactor | Leaders | Demote | Undo | ReducePartitions
)


def settings_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a plan, from its row in the table plan, where the values are JSON: null is "not given"."""
    return {key: json.loads(value) for key, value in said["settings"]}


def _check_level(tolerance: float, bytes_max: int | None) -> None:
    if not 0 <= tolerance < 1:
        raise BadInput(f"tolerance: expected 0 or more and below 1, got {tolerance}")
    if bytes_max is not None and bytes_max < 0:
        raise BadInput(f"limit of bytes to move: expected 0 or more, got {bytes_max}")
