"""What is said of trees that are as they should be: Kafka's own, and those that controllers leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.controller.check import inspect
from kedge.controller.codec import keys
from kedge.controller.rig.rig import Rig
from tests.check.trees import held, recorded
from tests.kit.data import DATA
from tests.verify.explore import break_things, build, heal

CHECKOUT = Path(__file__).resolve().parents[2]
MOVES = [("kafka-move", "/brokers/topics/orders")] * 4
NEVER_LED = [("never-led", "/kedge/commit")]


def notes(path: Path) -> list[tuple[str, str]]:
    findings = inspect(recorded(path)).findings
    assert {found.severity for found in findings} == {"note"}
    return [(found.kind, found.key) for found in findings]


def test_of_an_idle_tree_of_kafka_only_that_kedge_never_led_there_is_said() -> None:
    assert notes(DATA / "kafka_3_9_tree_idle.json") == NEVER_LED


def test_of_a_moving_tree_of_kafka_its_moves_are_said() -> None:
    assert notes(DATA / "kafka_3_9_tree_moving.json") == MOVES + NEVER_LED


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 5, 9, 13, 18, 23])
def test_a_cluster_that_was_broken_and_healed_leaves_nothing_to_find(seed: int) -> None:
    world = build(seed)
    break_things(world, 200)
    heal(world)
    assert inspect(held(world.rig.server)).findings == ()


OF_OTHERS = (
    keys.REASSIGN_PARTITIONS,
    keys.PREFERRED_ELECTION,
    keys.ISR_CHANGES,
    keys.LOG_DIR_EVENTS,
    keys.BROKER_DEFAULTS,
    keys.DELETE_PARTITIONS,
)
"""Tools and old brokers write these, in a broken cluster also unreadable ones."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [13, 23])
def test_no_step_of_a_broken_cluster_is_an_error(seed: int) -> None:
    """What controllers leave between two commits may be overdue, and never breaks what must always hold."""
    world, errors, looked = build(seed), list[object](), 0
    world.strays = None  # which the check reports
    step = world.rig.step

    def looking() -> bool:
        nonlocal looked
        moved = step()
        looked += 1
        found = inspect(held(world.rig.server)).at_least("error")
        errors.extend(finding for finding in found if not finding.key.startswith(OF_OTHERS))
        return moved

    world.rig.step = looking  # type: ignore[method-assign]
    break_things(world, 150)
    assert (errors, looked >= 150) == ([], True)


def test_a_rig_refuses_to_end_with_something_left_behind() -> None:
    """`check_end` holds the tree as a whole against the check."""
    rig = Rig(controllers=1)
    rig.create_topic("orders", replicas=[[1, 2]])
    rig.wait.until_converged()
    rig.check_end()
    with pytest.raises(AssertionError, match=r"invariant 11: .*throttle-removal-due"):
        _end_with_an_orphan(rig)


def _end_with_an_orphan(rig: Rig) -> None:
    from kedge.stores import ABSENT, MemoryStore, Put  # noqa: PLC0415

    mark = Put("/admin/throttled_rates_removal", b'{"version":1,"brokers":[1],"previous":{}}', ABSENT)
    MemoryStore(rig.server).commit([mark], timeout_s=1)
    rig.wait.until_converged()
    rig.check_end()
