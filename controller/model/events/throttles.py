"""Events about throttles: requests, their steps, and the removal (KIP-179)."""

from __future__ import annotations

from typing import ClassVar

from ..frozen import frozen
from ..throttle_configs import UNLIMITED, Family
from ..throttles import CommitLimits, MarkKind, ThrottleStep
from ..values import Replicas
from .base import Event


@frozen
class NamedTarget:
    """The target of one partition. `policy_message`: why the host's policy refuses it."""

    topic: str
    partition: int
    target: Replicas
    policy_message: str | None = None


@frozen
class ThrottleRequest(Event):
    """Root of the requests that may set throttles. `room`: the limits of a commit."""

    takes_turns: ClassVar[bool] = True

    validate_only: bool
    auto_remove: bool
    room: CommitLimits

    @property
    def sets_throttles(self) -> bool:
        """Whether it may change throttles."""
        return not self.validate_only


@frozen
class ReassignPartitions(ThrottleRequest):
    """Move these partitions while no others move, under a throttle (None: without one). `twice`: partitions that the
    request names more than once."""

    targets: tuple[NamedTarget, ...]
    throttle: int | None
    twice: frozenset[tuple[str, int]] = frozenset()

    @property
    def is_throttled(self) -> bool:
        """Whether the moves have a throttle."""
        return self.throttle not in (None, UNLIMITED)

    @property
    def sets_throttles(self) -> bool:
        return not self.validate_only and self.is_throttled


@frozen
class AlterThrottledRates(ThrottleRequest):
    """Broker, rate as leader, rate as follower; for each broker."""

    rates: tuple[tuple[int, int, int], ...]
    family: Family


@frozen
class AlterThrottledReplicas(ThrottleRequest):
    """Topic, partition, leaders, followers; None stands for all brokers of the cluster."""

    replicas: tuple[tuple[str, int, Replicas | None, Replicas | None], ...]


@frozen
class ThrottleStepDue(Event):
    """The next step of the running request."""

    is_begun: ClassVar[bool] = True

    step: ThrottleStep
    is_last: bool = False

    def dropped(self) -> Event:
        return ThrottleRequestAborted(self.now_ms)


@frozen
class ThrottleRequestAborted(Event):
    """A step could not be decided: the request ends."""


@frozen
class ThrottleRemovalDue(Event):
    """Check whether throttles are marked for removal and no reassignment runs."""

    takes_turns: ClassVar[bool] = True


@frozen
class ThrottleBackDue(Event):
    """Remove the throttles of one owner, if no reassignment runs."""

    kind: MarkKind
    owner: str


@frozen
class ThrottleMarkGoneDue(Event):
    """The throttles of all owners of a kind are removed: remove the mark, if no reassignment runs. `is_last`: the
    removal is complete with it."""

    is_kept: ClassVar[bool] = True

    kind: MarkKind
    is_last: bool
