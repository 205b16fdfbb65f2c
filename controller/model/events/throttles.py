"""Throttles: what callers ask for, its steps, and the removal (KIP-179)."""

from __future__ import annotations

from typing import ClassVar

from controller.model.events.base import Event
from controller.model.frozen import frozen
from controller.model.throttle_configs import UNLIMITED, Family
from controller.model.throttles import CommitLimits, MarkKind, ThrottleStep
from controller.model.values import Replicas


@frozen
class NamedTarget:
    """What one partition is to be moved to. `policy_message`: what the host's policy has against it."""

    topic: str
    partition: int
    target: Replicas
    policy_message: str | None = None


@frozen
class ThrottleRequest(Event):
    """Root of the requests that may set throttles. `room`: what a commit takes."""

    takes_turns: ClassVar[bool] = True

    validate_only: bool
    auto_remove: bool
    room: CommitLimits

    @property
    def sets_throttles(self) -> bool:
        """Whether it may change any."""
        return not self.validate_only


@frozen
class ReassignPartitions(ThrottleRequest):
    """Move these partitions, and nothing else at the same time, under a throttle (None: without one). `twice`: those
    that the request names more than once."""

    targets: tuple[NamedTarget, ...]
    throttle: int | None
    twice: frozenset[tuple[str, int]] = frozenset()

    @property
    def is_throttled(self) -> bool:
        """Whether the moves are under a throttle at all."""
        return self.throttle not in (None, UNLIMITED)

    @property
    def sets_throttles(self) -> bool:
        return not self.validate_only and self.is_throttled


@frozen
class AlterThrottledRates(ThrottleRequest):
    """Broker, rate as leader, rate as follower."""

    rates: tuple[tuple[int, int, int], ...]
    family: Family


@frozen
class AlterThrottledReplicas(ThrottleRequest):
    """Topic, partition, leaders, followers; None: every broker in the cluster."""

    replicas: tuple[tuple[str, int, Replicas | None, Replicas | None], ...]


@frozen
class ThrottleStepDue(Event):
    """The next step of the request that is under way."""

    is_begun: ClassVar[bool] = True

    step: ThrottleStep
    is_last: bool = False

    def dropped(self) -> Event:
        return ThrottleRequestAborted(self.now_ms)


@frozen
class ThrottleRequestAborted(Event):
    """A step could not be decided: the request ends here."""


@frozen
class ThrottleRemovalDue(Event):
    """Look whether throttles are marked for removal, and nothing runs."""

    takes_turns: ClassVar[bool] = True


@frozen
class ThrottleBackDue(Event):
    """The throttles of one owner go, if nothing runs."""

    kind: MarkKind
    owner: str


@frozen
class ThrottleMarkGoneDue(Event):
    """The throttles of every owner of a kind are gone: so is the mark, if nothing runs. `is_last`: that was all of the
    removal."""

    is_kept: ClassVar[bool] = True

    kind: MarkKind
    is_last: bool
