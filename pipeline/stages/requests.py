"""Requests for plans: one value per kind, checked on creation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs

from ..errors import BadInput

TOLERANCE = 0.01


@attrs.frozen
class Drain:
    """No replica on these brokers; if none is named, on those in state draining."""

    brokers: tuple[int, ...] = ()


@attrs.frozen
class Add:
    """Level bytes onto these brokers, (id, rack or None); one that is not in the snapshot is used as given."""

    brokers: tuple[tuple[int, str | None], ...]
    tolerance: float = TOLERANCE
    bytes_max: int | None = None

    def __attrs_post_init__(self) -> None:
        if not self.brokers:
            raise BadInput("add: expected at least one broker, got none")
        _check_level(self.tolerance, self.bytes_max)


@attrs.frozen
class Rebalance:
    """Level bytes over all brokers, copying at most `bytes_max`."""

    tolerance: float = TOLERANCE
    bytes_max: int | None = None

    def __attrs_post_init__(self) -> None:
        _check_level(self.tolerance, self.bytes_max)


@attrs.frozen
class BalanceDisks:
    """Level the bytes of the directories within each of these brokers; if none is named, within all."""

    brokers: tuple[int, ...] = ()
    tolerance: float = TOLERANCE

    def __attrs_post_init__(self) -> None:
        _check_level(self.tolerance, None)


@attrs.frozen
class FixRacks:
    """Every partition in as many racks as possible."""


@attrs.frozen
class SetFactor:
    """`factor` replicas for all partitions of these topics; if none is named, of all."""

    factor: int
    topics: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.factor < 1:
            raise BadInput(f"replication factor: expected 1 or more, got {self.factor}")


@attrs.frozen
class Leaders:
    """Preferred leaders evenly, by changing the order of replicas only."""


@attrs.frozen
class ReducePartitions:
    """As few partitions as keep each below these bytes and bytes per second; of these topics, if none is named of
    all."""

    bytes_max: int
    bps_max: float
    topics: tuple[str, ...] = ()

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
    ReducePartitions: "reduce-partitions",
}

LEVELS: Final = frozenset({KINDS[Add], KINDS[Rebalance], KINDS[BalanceDisks]})
"""The kinds that level bytes, which is impossible if sizes are unknown."""

RUNS_DISKS: Final = "kafka-reassign-partitions runs the plan.json of its export"
"""How a plan of `BalanceDisks` is run."""

Request: TypeAlias = Drain | Add | Rebalance | BalanceDisks | FixRacks | SetFactor | Leaders | ReducePartitions


def settings_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """The request of a plan, from its row in the table plan, where the values are JSON: null is "not given"."""
    return {key: json.loads(value) for key, value in said["settings"]}


def _check_level(tolerance: float, bytes_max: int | None) -> None:
    if not 0 <= tolerance < 1:
        raise BadInput(f"tolerance: expected 0 or more and below 1, got {tolerance}")
    if bytes_max is not None and bytes_max < 0:
        raise BadInput(f"limit of bytes to move: expected 0 or more, got {bytes_max}")
