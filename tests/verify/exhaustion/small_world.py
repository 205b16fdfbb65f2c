"""The small world: three brokers, `orders-0` on 1 and 2, perhaps `orders-1` on 2 and 3, two controllers, and what may
still be asked and go wrong in it.

Each action happens at once and lets no time pass, but for `wait`, which is longer than any time that anything waits
for. What needs no time may thus happen in any order, what does may happen before or after anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.invariants import InvariantBroken
from kedge.controller.rig.rig import Rig
from kedge.controller.simulated.network import Fate
from tests.verify.exhaustion.identity import Telling
from tests.verify.exhaustion.roles import leader_for_good

ORDERS: Final = TopicPartition("orders", 0)
BEFORE: Final = ((1, 2), (2, 3))  # the replicas of each partition
MOVED: Final = ((2, 3), (3, 1))  # where `move` takes them
WAIT_MS: Final = 20_000  # longer than a session, the longest back-off, a lag, the delay of a topic's key
SESSION_MS: Final = 6_000
LAG_MS: Final = 5_000
JUMP_MS: Final = 3_600_000
MOVE_TIMEOUT_MS: Final = 1_800_000  # of `move`: reached by a clock that jumps, never by waiting
FOR_EVER_MS: Final = 2**31 - 1
HEALED_S_MAX: Final = 120.0
TICK_MS: Final = 100  # of the steps in which it heals


REQUESTS: Final = ("move", "override", "cancel", "prefer", "write")
"""What is asked of the cluster: move all to `MOVED` (with a deadline); and of `orders-0`: move to 3, 1; cancel;
preferred leader; write a record."""

COMMITS: Final = ("unsent", "unanswered", "lost", "later")
CALLBACKS: Final[tuple[Fate, ...]] = ("lost", "late", "unheard", "doubled")
FAULTS: Final = (
    "kill",  # a controller dies, its session with it; `start` may follow at any time
    "crash",  # the same, and its session runs out by the clock
    "zombie",  # its session ends and it does not hear of it, until `hear`
    "cut",  # no way to the store, until `mend`
    "jump",  # its wall clock is an hour ahead
    "resync",  # it has to read everything again
    "stale",  # a pass of its loop in which it hears nothing from the store
    *(f"commit-{how}" for how in COMMITS),  # the first or the second commit of a pass
    *(f"callback-{how}" for how in CALLBACKS),  # one of the callbacks of a round
    "die",  # a broker, its registration with it; `return` is free afterwards
    "vanish",  # a broker whose registration lives on, until its session runs out
    "bounce",  # a broker is another process before anybody looked
    "relogin",  # the session of a broker that lives ends: it registers again
    "disk",  # its logs are gone
    "foreign",  # another client writes the partition's state key, with what stood there
)


@attrs.define(eq=False)
class SmallWorld:
    """A rig, and what may still be asked and go wrong in it: `requests` and `faults` by name, each at most once, and of
    the faults `faults_left` in all. `partitions`: of its topic. `leads_on`: who leads to the end."""

    rig: Rig
    requests: frozenset[str]
    faults: frozenset[str]
    faults_left: int
    waits_left: int
    partitions: int
    leads_on: int | None = None

    def digest(self) -> bytes:
        """What this state is, without regard to how it was reached. Raises InvariantBroken if a leader whose term
        nothing could end leads no more."""
        faults = sorted(self.faults) if self.faults_left else []
        leader = leader_for_good(self.rig, faults)
        leads_on = None if leader is None else leader.node_id
        if self.leads_on not in (None, leads_on):
            raise InvariantBroken(0, f"controller {self.leads_on} leads no more, and nothing can have ended its term")
        self.leads_on = leads_on
        budget = sorted(self.requests), faults, self.faults_left, self.waits_left
        return Telling(self.rig, WAIT_MS, leader).all(budget)

    def spend(self, fault: str) -> None:
        """It has happened, and will not again."""
        self.faults -= {fault}
        self.faults_left -= 1

    def forget(self) -> None:
        """What is kept for people only, and would be copied with every copy."""
        self.rig.network.requests.clear()
        for node in self.rig.nodes.values():
            if node.process is not None:
                node.process.store.forget_calls()

    def heal(self) -> None:
        """All is mended and nothing more is asked: moves end, everyone agrees, all calls are answered. Raises
        InvariantBroken, NotInTime."""
        rig = self.rig
        for node in rig.nodes.values():
            node.hear()
        rig.mishaps.heal()
        rig.until(lambda: all(p.move is None for p in rig.committed.partitions.values()), what="no move is left")
        rig.wait.until_converged(timeout_s=HEALED_S_MAX)
        rig.check_end()
        rig.until(lambda: not _unanswered(rig), what="whoever asked is answered")


def build(
    requests: Iterable[str] = REQUESTS,
    faults: Iterable[str] = FAULTS,
    faults_max: int = 1,
    waits_max: int = 1,
    partitions: int = 1,
) -> SmallWorld:
    """The world as it begins: 101 leads, all are in sync, nothing is under way. `partitions`: 1 or 2."""
    rig = Rig(
        brokers=dict.fromkeys((1, 2, 3)),
        session_timeout_s=SESSION_MS / 1000,
        lag_max_ms=LAG_MS,
        tick_ms=TICK_MS,
        record_bytes=100,
    )
    rig.create_topic(ORDERS.topic, replicas=list(map(list, BEFORE[:partitions])), records=1)
    rig.wait.until_converged()
    rig.wait.until_quiet()
    return SmallWorld(rig, frozenset(requests), frozenset(faults), faults_max, waits_max, partitions)


def _unanswered(rig: Rig) -> int:
    controllers = [node.controller for node in rig.nodes.values()]
    return sum(controller.describe().waiting_requests for controller in controllers if controller is not None)
