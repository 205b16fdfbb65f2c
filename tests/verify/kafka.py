"""A Kafka broker that takes `/controller` whenever it can, beside controllers that expect Kafka brokers.

As Kafka's own election does: create `/controller` as an ephemeral key and raise `/controller_epoch` in one transaction,
at the version that was read. It writes nothing else. An operator deletes `/controller` now and then, which is what lets
it in.
"""

from __future__ import annotations

import random
from typing import Final

from kedge.controller.codec.small import encode_controller
from kedge.controller.rig.rig import Rig
from kedge.controller.rig.server import write
from kedge.stores.base import ABSENT, Conflict, MetadataStore, Put
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY

BROKER: Final = 1
_CALL_S: Final = 1.0
_STEPS_MAX: Final = 60


class KafkaBroker:
    """One broker. `wins`: how often it became controller."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self._rig = rig
        self._chance = random.Random(f"{seed}/kafka")
        self._store: MetadataStore | None = None
        self._left = 0
        self.wins = 0

    def step(self) -> None:
        """It does what it can, by chance."""
        if self._store is not None:
            self._left -= 1
            if self._left <= 0:
                self.end()
        elif self._chance.random() < 0.02:
            write(self._rig.server, LEADER_KEY, None)
            self._rig.timeline.say("operator", "deletes /controller")
        if self._store is None and self._chance.random() < 0.3:
            self._stand()

    def _stand(self) -> None:
        store = self._rig.server.client()
        epoch = store.get(EPOCH_KEY, timeout_s=_CALL_S)
        if epoch is None or store.get(LEADER_KEY, timeout_s=_CALL_S) is not None:
            store.close()
            return
        value = encode_controller(BROKER, self._rig.clock.now_ms())
        raised = Put(EPOCH_KEY, b"%d" % (int(epoch.value) + 1), epoch.version)
        try:
            store.commit([Put(LEADER_KEY, value, ABSENT, ephemeral=True), raised], timeout_s=_CALL_S)
        except Conflict:
            store.close()
            return
        self._store, self._left = store, self._chance.randint(1, _STEPS_MAX)
        self.wins += 1
        self._rig.timeline.say("kafka", f"broker {BROKER} is controller")

    def end(self) -> None:
        """Its session ends, and `/controller` with it."""
        if self._store is not None:
            self._store.close()
            self._store = None
            self._rig.timeline.say("kafka", f"broker {BROKER} is controller no more")
