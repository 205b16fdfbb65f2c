"""Controllers that are killed, and stopped, in the middle of 1,000 moves, on real stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.cluster import Cluster
from tests.real.moves import asked_for, finished, slept_through
from tests.real.served import Served

pytestmark = pytest.mark.server

MOVES = 1000
KILLS = 5
SESSION_S = 3.0
ZOMBIE_MOVES = 200


@pytest.mark.slow
def test_five_controllers_are_killed_in_the_middle_of_1000_moves(served: Served, tmp_path: Path) -> None:
    """Each time a stand-by goes on where the dead one was; afterwards every move is complete, no key is left behind,
    and no epoch ever fell."""
    with Cluster(served, tmp_path, controllers=2, session_s=SESSION_S) as cluster:
        targets = asked_for(cluster, MOVES)
        tps = list(targets)
        killed = []
        for kill in range(KILLS):
            killed.append(cluster.leader_node.pid)
            dead = cluster.leader_node
            dead.kill()
            dead.start()
            if kill == 0:
                cluster.reassign(targets)
            cluster.until(lambda: cluster.active is not None, "a stand-by has taken over")
            done, wave = cluster.deleted(), tps[kill * MOVES // KILLS : (kill + 1) * MOVES // KILLS]
            cluster.let_go(wave)
            cluster.until(lambda: cluster.deleted() > done + len(wave) // 3, "some of them are complete")  # noqa: B023
        finished(cluster, targets)
        assert len(set(killed)) == KILLS

        assert cluster.committed.controller_epoch > KILLS


@pytest.mark.full
def test_a_controller_that_was_stopped_beyond_its_session_writes_nothing_when_it_wakes(
    served: Served, tmp_path: Path
) -> None:
    """The stand-by goes on without it; what it was asked before it fell asleep it refuses, and once it is awake it is a
    stand-by that takes over like any other."""
    with Cluster(served, tmp_path, controllers=2, session_s=SESSION_S) as cluster:
        targets = asked_for(cluster, ZOMBIE_MOVES)
        zombie = slept_through(cluster, targets)
        leader = cluster.leader_node
        assert leader is not zombie
        leader.kill()
        cluster.let_go(targets)
        cluster.until(lambda: zombie.is_active, "the one that slept has taken over")
        leader.start()
        finished(cluster, targets)
