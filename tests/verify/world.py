"""What an exploration acts on: a rig, its source of chance, an agenda of what is to be undone, and who is asked."""

from __future__ import annotations

import random

from kedge.controller.model.values import Partition
from kedge.controller.rig.chances import Chances
from kedge.controller.rig.rig import Rig
from tests.verify.late_requests import Late


class World(Chances):
    """`trouble`, `work`: how likely a mishap and a request are, per step. `allows_unclean`: a client may allow unclean
    election for all topics. `throttles`: what of throttles is left to chance, where a seed has any.
    `factor_max`: the largest replication factor of new topics. `strays`: what of brokers in an ISR that are no replicas
    is left to chance, where a seed has any. `late`: requests of leaders that arrive again, where a seed has any."""

    factor_max = 3
    strays: random.Random | None = None
    late: Late | None = None

    rig: Rig

    def __init__(
        self,
        rig: Rig,
        trouble: float = 0.06,
        work: float = 0.15,
        *,
        allows_unclean: bool = False,
        throttles: random.Random | None = None,
    ) -> None:
        super().__init__(rig)
        self.trouble, self.work = trouble, work
        self.allows_unclean = allows_unclean
        self.throttles = throttles
        self.topics_made = 0
        self.keys_put = 0

    # --- what there is

    def partitions(self, *, moving: bool | None = None) -> list[Partition]:
        """The partitions, those that move, or those that do not."""
        found = self.rig.committed.partitions.values()
        return [p for p in found if moving is None or (p.move is not None) is moving]

    def topics(self) -> list[str]:
        """The topics by name."""
        return sorted({tp.topic for tp in self.rig.committed.partitions})
