"""Events about throttles: requests, what follows from marks, and the removal (KIP-179)."""

from __future__ import annotations

from typing import ClassVar

import attrs

from ..throttle_configs import UNLIMITED, Family
from ..throttles import CommitLimits, MarkKind, ThrottlePlan
from ..values import Replicas
from .base import Event


@attrs.define
class NamedTarget:
    """The target of one partition. `policy_message`: why the host's policy refuses it."""

    topic: str
    partition: int
    target: Replicas
    policy_message: str | None = None


@attrs.define
class ThrottleRequest(Event):
    """Root of the requests that may set throttles."""

    validate_only: bool
    auto_remove: bool
    commit_limits: CommitLimits


@attrs.define
class ReassignPartitions(ThrottleRequest):
    """Move these partitions while no others move, under a throttle (None: without one). `twice`: partitions that the
    request names more than once."""

    targets: tuple[NamedTarget, ...]
    throttle: int | None
    twice: frozenset[tuple[str, int]] = frozenset()

    @property
    def is_throttled(self) -> bool:
        return self.throttle not in (None, UNLIMITED)


@attrs.define
class AlterThrottledRates(ThrottleRequest):
    """Broker, rate as leader, rate as follower; for each broker."""

    rates: tuple[tuple[int, int, int], ...]
    family: Family


@attrs.define
class AlterThrottledReplicas(ThrottleRequest):
    """Topic, partition, leaders, followers; None stands for all brokers of the cluster."""

    replicas: tuple[tuple[str, int, Replicas | None, Replicas | None], ...]


@attrs.define
class ThrottleDue(Event):
    """Bring the configs of one owner to its mark."""

    kind: MarkKind
    owner: str


@attrs.define
class ThrottlePlanDue(Event):
    """Continue a request: the kinds in `left`, then its moves and its answer. `is_refused`: its last step could not be
    committed, so it is given up."""

    ignores_deadline: ClassVar[bool] = True

    plan: ThrottlePlan
    left: tuple[MarkKind, ...] = ()
    is_refused: bool = False

    def dropped(self) -> Event:
        return attrs.evolve(self, is_refused=True)


@attrs.define
class ThrottleRemovalDue(Event):
    """A controller took over, or the last reassignment has ended: bring every owner to its mark; unless something is
    reassigned, nothing stays marked."""
