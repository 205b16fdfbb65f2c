"""Coordinators that fail once in a while, before or after a piece of work: whatever a defect of Kedge's own may do."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from kedge.controller.coordinators import Output
from kedge.controller.server.coordinators import Coordinators
from kedge.controller.server.groups import LiveGroups
from kedge.controller.server.led import Led
from kedge.controller.server.transactions import LiveTransactions


class Planted(Exception):
    """A defect of Kedge's own."""


class Defects:
    """When one of the next pieces of work fails. In half of the seeds none does."""

    def __init__(self, name: str) -> None:
        chance = random.Random(f"{name}/defects")
        self._chance = chance if chance.random() < 0.5 else None
        self._left = -1  # pieces of work up to the one that fails; -1: none fails

    def plan(self) -> None:
        """Perhaps one of the next pieces of work fails."""
        if self._chance is not None and self._chance.random() < 0.3:
            self._left = self._chance.randrange(1, 20)

    def planted(self, work: Callable[..., Output]) -> Callable[..., Output]:
        """The work, or one that fails."""
        self._left = max(-1, self._left - 1)
        if self._left != 0:
            return work
        assert self._chance is not None
        is_done = self._chance.random() < 0.5

        def fails(*args: Any, **named: Any) -> Output:
            if is_done:
                work(*args, **named)
            raise Planted

        return fails


class Failing(Coordinators[Any, Any]):
    """What fails is not answered, as if the answer were lost."""

    defects: Defects

    def _turn(
        self, led: Led[Any], work: Callable[..., Output], *args: Any, future: Future[Any] | None = None, **named: Any
    ) -> None:
        planted = self.defects.planted(work)
        super()._turn(led, planted, *args, future=future if planted is work else None, **named)


class FailingGroups(Failing, LiveGroups):
    """Groups whose coordinators fail."""


class FailingTransactions(Failing, LiveTransactions):
    """Transactions whose coordinators fail."""
