"""Changes of an ISR that arrive a second time, late: copies that a connection still held when it broke.

The copy is of a request that was answered, or that another one followed: so the controller may only refuse it, or
answer that nothing changes.
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
Proposed = Callable[[TopicPartition, IsrAsked], None]


class LateRequests:
    """Remembers what the leaders of `rig` requested. `chance`: which of it arrives again."""

    def __init__(self, rig: Rig, chance: random.Random) -> None:
        self._rig, self._chance = rig, chance
        self._sent: deque[tuple[TopicPartition, int, int, IsrAsked]] = deque(maxlen=KEPT)
        for agent in rig.duties.values():
            agent.proposed = partial(self._remember, agent, agent.proposed)

    def _remember(self, agent: BrokerAgent, proposed: Proposed, tp: TopicPartition, asked: IsrAsked) -> None:
        proposed(tp, asked)
        self._sent.append((tp, agent.broker.broker_id, agent.broker.epoch, asked))

    def happens(self, likelihood: float) -> bool:
        return self._chance.random() < likelihood

    def arrive(self) -> str:
        """One of them arrives at the active controller."""
        node = self._rig.active
        if node is None or node.controller is None or not self._sent:
            return "no late request arrives"
        tp, leader, broker_epoch, asked = self._chance.choice(self._sent)
        with node.speaking():
            node.controller.alter_isr(tp, leader, asked.leader_epoch, asked.partition_epoch, asked.isr, broker_epoch)
        return f"alter_isr {tp} {list(asked.isr)} of broker {leader} arrives again"
