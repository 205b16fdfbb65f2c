"""The target of leaders' isr changes during a test: the one call of `controller.Controller` that they need, recorded in
order, and answered by the case."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

import attrs

from ...model.errors import ApiError
from ...model.requests import AcceptedIsr
from ...model.values import Replicas, TopicPartition


class IsrDesk(Protocol):
    """As `controller.Controller.alter_isr`. Any thread may call it; the future is completed by another one."""

    def alter_isr(  # noqa: PLR0917 - as Controller
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: Sequence[int],
        broker_epoch: int,
        leader_recovery_state: int = 0,
        *,
        timeout_s: float = 30.0,
    ) -> Future[AcceptedIsr]: ...


@attrs.frozen(eq=False)
class Asked:
    """A call of `alter_isr`."""

    tp: TopicPartition
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    broker_epoch: int
    future: Future[AcceptedIsr] = attrs.field(factory=Future)

    @property
    def epochs(self) -> tuple[int, int, int]:
        """Leader, partition and broker epoch."""
        return (self.leader_epoch, self.partition_epoch, self.broker_epoch)

    def accept(self, partition_epoch: int) -> None:
        """Accept it: it is committed as requested."""
        self.future.set_result(AcceptedIsr(self.isr, partition_epoch))

    def refuse(self, error: ApiError) -> None:
        """Refuse it."""
        self.future.set_exception(error)


class Calls(abc.ABC):
    """An `IsrDesk` that makes a value of each call."""

    def alter_isr(  # noqa: PLR0917 - as Controller
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: Sequence[int],
        broker_epoch: int,
        leader_recovery_state: int = 0,  # noqa: ARG002 - as Controller
        *,
        timeout_s: float = 30.0,  # noqa: ARG002 - as Controller
    ) -> Future[AcceptedIsr]:
        """As Controller."""
        return self.take(Asked(tp, leader, leader_epoch, partition_epoch, tuple(new_isr), broker_epoch))

    @abc.abstractmethod
    def take(self, asked: Asked) -> Future[AcceptedIsr]:
        """Take a call, on any thread. Returns its answer."""


class Desk(Calls):
    """It records the calls. `pass_on`: forwards them meanwhile, and its answer counts."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.pass_on: Callable[[Asked], Future[AcceptedIsr]] | None = None

    def take(self, asked: Asked) -> Future[AcceptedIsr]:
        """As `Calls`."""
        self.asked.append(asked)
        return asked.future if self.pass_on is None else self.pass_on(asked)

    @property
    def unanswered(self) -> list[Asked]:
        """The calls without an answer, oldest first."""
        return [asked for asked in self.asked if not asked.future.done()]
