"""Requests that arrive a second time, late: copies that a connection still held when it broke.

The copy of a leader's change of an ISR is of a request that was answered, or that another one followed. If it was
refused, it may be accepted now, unless a broker that would join restarted since (KIP-903).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.rig import Rig
from kedge.controller.simulated.agent import BrokerAgent
from kedge.controller.simulated.replica import IsrAsked

KEPT: Final = 50
BEHIND: Final = 0.2
Proposed = Callable[[TopicPartition, IsrAsked], None]


class Late:
    """Keeps the newest requests. `chance`: when one of them arrives again, and which."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._sent: deque[Callable[[], object]] = deque(maxlen=KEPT)
        self._behind: list[Callable[[], object]] = []

    def sent(self, ask: Callable[[], object]) -> None:
        """`ask` sends the same request again, for no client."""
        self._sent.append(ask)

    def _happens(self, likelihood: float) -> bool:
        return self._chance.random() < likelihood

    def arrive(self, likelihood: float) -> list[object]:
        """Those that come behind the newest ones, and with this likelihood one of all. What they say of themselves."""
        arriving, self._behind = self._behind, []
        if self._sent and self._happens(likelihood):
            arriving.append(self._chance.choice(self._sent))
        return [ask() for ask in arriving]


class LateChanges(Late):
    """The changes of an ISR that the leaders of `rig` requested. Some arrive right behind the next one, which is not
    committed yet."""

    def __init__(self, rig: Rig, chance: random.Random) -> None:
        super().__init__(chance)
        self._rig = rig
        self._newest: dict[TopicPartition, Callable[[], object]] = {}
        for agent in rig.duties.values():
            agent.proposed = partial(self._remember, agent, agent.proposed)

    def _remember(self, agent: BrokerAgent, proposed: Proposed, tp: TopicPartition, asked: IsrAsked) -> None:
        proposed(tp, asked)
        before = self._newest.get(tp)
        ask = self._newest[tp] = partial(self._ask, tp, agent.broker.broker_id, agent.broker.epoch, asked)
        self.sent(ask)
        if before is not None and self._happens(BEHIND):
            self._behind.append(before)

    def _ask(self, tp: TopicPartition, leader: int, broker_epoch: int, asked: IsrAsked) -> str:
        """The active controller is asked, whichever it is by now."""
        node = self._rig.active
        if node is None or node.controller is None:
            return "no controller hears a late request"
        with node.speaking():
            node.controller.alter_isr(
                *(tp, leader, asked.leader_epoch, asked.partition_epoch, asked.isr, broker_epoch),
                isr_epochs=asked.epochs,
            )
        return f"alter_isr {tp} {list(asked.isr)} of broker {leader} arrives again"
