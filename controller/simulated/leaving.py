"""A broker that is shut down in order: it requests a controlled shutdown repeatedly, until it leads nothing or its
patience is over; then its process ends."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Final

import attrs

from ..model.errors import NotController
from ..model.values import TopicPartition
from .node import ControllerNode

RETRY_MS: Final = 100

Answer = Future[tuple[TopicPartition, ...]]


@attrs.define(eq=False)
class Leaving:
    """`until_ms`: when it stops in any case. `leads`: the partitions that it still leads, by the last answer."""

    until_ms: int
    node: ControllerNode | None = None
    process: object = None
    future: Answer | None = None
    retry_at_ms: int = 0
    leads: tuple[TopicPartition, ...] | None = None

    def ask(self, node: ControllerNode | None, broker_id: int, broker_epoch: int, now_ms: int) -> None:
        self.retry_at_ms = now_ms + RETRY_MS
        self.node, self.future = node, None
        if node is not None and node.controller is not None:
            self.process = node.process
            with node.speaking():
                self.future = node.controller.controlled_shutdown(broker_id, broker_epoch)

    @property
    def is_unheard(self) -> bool:
        """Whether there is no request, or no answer to it can come any more."""
        return self.future is None or self.node is None or self.node.process is not self.process

    def take(self) -> NotController | None:
        """Take an answer, if there is one; returns the error that names another controller."""
        if self.future is None or not self.future.done():
            return None
        error, answered = self.future.exception(), self.future
        self.future = None
        if error is None:
            self.leads = answered.result()
        return error if isinstance(error, NotController) else None
