"""A throttled request whose controller dies, and which is not repeated: it ended, or it never was."""

from __future__ import annotations

import pytest

from kedge.controller.model.values import Settings
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import configs, is_marked, set_by_hand
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, leading, orders, running, settle
from tests.simulation.enumeration import CRASHES, SESSION_MS, crash_at
from tests.simulation.throttle_scenarios import LEADER_LIST, LEADER_RATE, OPTIONS

RATES, LISTS = {LEADER_RATE: "7700000"}, {LEADER_LIST: "0:2,90:90"}
COMMITS_MAX = 40


def _rig() -> Rig:
    """Each step of a request is a commit of its own. An operator has throttles already."""
    rig = orders(
        records=5,
        settings=Settings(commit_decisions_max=1),
        session_timeout_s=SESSION_MS / 1000,
        store={"commit_ops_max": 10},
    )
    set_by_hand(rig, "brokers", "1", RATES)
    set_by_hand(rig, "topics", "orders", LISTS)
    rig.run(100)
    return rig


def _outcome(nth: int, crash: str) -> str:
    """The controller dies at its `nth` commit after the request: what became of the move."""
    rig = _rig()
    node, process = leading(rig), leading(rig).process
    crash_at(rig, node, nth, crash)
    running(node).admin.reassign_partitions({ORDERS: AFTER}, OPTIONS)
    rig.run(2_000)
    partition = rig.partition(ORDERS)
    is_begun = partition.move is not None or partition.replicas == AFTER
    has_died = node.process is not process
    rig.mishaps.heal()
    rig.until(lambda: not is_marked(rig), what="no throttle is marked")
    settle(rig)
    assert rig.partition(ORDERS).replicas == (AFTER if is_begun else BEFORE)
    assert rig.partition(ORDERS).move is None
    assert (configs(rig, "brokers", "1"), configs(rig, "topics", "orders")) == (RATES, LISTS)
    assert all(configs(rig, "brokers", str(broker)) == {} for broker in range(2, 7))
    return "not reached" if not has_died else "moved" if is_begun else "undone"


@pytest.mark.full
@pytest.mark.checklist(36, 37, 38, 39)
@pytest.mark.parametrize("crash", CRASHES[:3])
def test_request_that_is_not_repeated_is_undone_before_the_move_and_ends_after(crash: str) -> None:
    """No move starts by itself, no mark stays, and the values of the operator are back."""
    outcomes: list[str] = []
    while not outcomes or outcomes[-1] != "not reached":
        outcomes.append(_outcome(len(outcomes) + 1, crash))
        assert len(outcomes) < COMMITS_MAX
    begins = outcomes.index("moved")
    assert begins > 1
    assert outcomes == ["undone"] * begins + ["moved"] * (len(outcomes) - begins - 1) + ["not reached"]
