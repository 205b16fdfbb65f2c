"""The ISR updater of a host under test: the one call of `controller.Controller` that leaders need. It records each
call. A case of the suite answers calls itself, and a rig passes them on to its controllers (`isr_link`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

import attrs

from ...model.errors import ApiError
from ...model.requests import AcceptedIsr
from ...model.values import Replicas, TopicPartition


class IsrUpdater(Protocol):
    """Sends the ISR changes of leaders. Any thread may call it; the future is completed by another one."""

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
        isr_epochs: Mapping[int, int] | None = None,
        timeout_s: float = 30.0,
    ) -> Future[AcceptedIsr]:
        """As `kedge.Controller.alter_isr`."""


@attrs.frozen(eq=False)
class IsrCall:
    tp: TopicPartition
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Replicas
    broker_epoch: int
    isr_epochs: Mapping[int, int] | None = None
    future: Future[AcceptedIsr] = attrs.field(factory=Future)

    @property
    def epochs(self) -> tuple[int, int, int]:
        """Leader, partition and broker epoch."""
        return (self.leader_epoch, self.partition_epoch, self.broker_epoch)

    def accept(self, partition_epoch: int) -> None:
        """Accept it: it is committed as requested."""
        self.future.set_result(AcceptedIsr(self.isr, partition_epoch))

    def refuse(self, error: ApiError) -> None:
        self.future.set_exception(error)


class IsrCalls:
    """An `IsrUpdater` that records the calls, oldest first. Each waits until `accept` or `refuse` answers it."""

    def __init__(self) -> None:
        self.calls: list[IsrCall] = []

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
        isr_epochs: Mapping[int, int] | None = None,
        timeout_s: float = 30.0,  # noqa: ARG002 - as Controller
    ) -> Future[AcceptedIsr]:
        call = IsrCall(tp, leader, leader_epoch, partition_epoch, tuple(new_isr), broker_epoch, isr_epochs)
        self.calls.append(call)
        return call.future

    @property
    def unanswered(self) -> list[IsrCall]:
        """The calls without an answer, oldest first."""
        return [call for call in self.calls if not call.future.done()]
