"""What a submission reads of a store while other clients change the cluster, or while the store does not answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.pipeline.errors import Stopped
from kedge.pipeline.submit import roll_back, submit
from kedge.stores import FaultStore
from kedge.stores.faults import Call, FailBefore, Fault, Rule
from tests.pipeline_submit.clusters import Made


def wanted(made: Made) -> dict[TopicPartition, tuple[int, ...]]:
    rows = made.tables["plan_move"].to_pylist()
    return {TopicPartition(row["topic"], row["partition"]): tuple(row["target_replicas"]) for row in rows}


def test_what_the_controller_drops_again_and_again_is_named(made: Made) -> None:
    """A target died after the checks: its move is refused."""
    checked: list[int] = []

    def kill(event: object) -> None:
        if not checked and getattr(event, "kind", "") == "following":
            checked.append(4)
            made.rig.mishaps.kill_broker(4)
            made.rig.run(200)

    with pytest.raises(Stopped, match="wave 1: submitted 3 times without effect: orders-"):
        submit(made.folder, made.store, made.options(tell=kill))


def between_two_reads(made: Made, happens: Callable[[], object]) -> FaultStore:
    """A store where `happens` once, in the second look that finds moves running: after the first of the two reads that
    show where partitions are, and before the other."""
    reads, running, done = 0, 0, False

    def plan(call: Call, _: object) -> tuple[Fault, ...]:
        nonlocal reads, running, done
        reads = reads + 1 if call.name == "get_many" else 0
        if reads == 2 and moving(made):
            running += 1
            if running == 2 and not done:
                done = True
                happens()
        return ()

    return FaultStore(made.store, plan)


def moving(made: Made) -> list[TopicPartition]:
    return [tp for tp, found in made.rig.committed.partitions.items() if found.move is not None]


@pytest.mark.slow
def test_a_move_that_ends_between_two_reads_of_a_look_is_not_taken_for_a_cancelled_one(made: Made) -> None:
    ended: list[TopicPartition] = []

    def end() -> None:
        ended.extend(moving(made))
        made.rig.until(lambda: not moving(made), timeout_s=60)

    assert submit(made.folder, between_two_reads(made, end), made.options()).end == "done"
    assert ended
    assert wanted(made).items() <= made.replicas().items()


@pytest.mark.slow
def test_a_move_that_was_cancelled_and_begun_again_before_the_second_look_is_followed(made: Made) -> None:
    """What was seen is looked at once more before the plan is given up."""
    looks, cancelled, begun_again = 0, list[TopicPartition](), list[TopicPartition]()

    def plan(call: Call, _: object) -> tuple[Fault, ...]:
        nonlocal looks
        if call.name != "get" or not (moving(made) or cancelled):  # each look begins with a get, which synchronises
            return ()
        looks += 1
        if looks == 2:
            cancelled.append(moving(made)[0])
            made.rig.result(made.rig.admin.alter_partition_reassignments({cancelled[0]: None}).all())
        elif looks == 3:
            begun_again.append(cancelled[0])
            made.rig.reassign({tp: wanted(made)[tp] for tp in begun_again})
        return ()

    assert submit(made.folder, FaultStore(made.store, plan), made.options()).end == "done"
    assert begun_again
    assert wanted(made).items() <= made.replicas().items()


@pytest.mark.slow
def test_a_store_that_does_not_answer_for_a_while_is_asked_again(made: Made) -> None:
    down = [Rule(FailBefore(), name, nth=nth) for name in ("get", "get_many") for nth in range(9, 15)]
    assert submit(made.folder, FaultStore(made.store, down), made.options()).end == "done"
    away = [Rule(FailBefore(), name) for name in ("get", "get_many", "snapshot")]
    with pytest.raises(Stopped, match="the store did not answer for 60 s: "):
        roll_back(made.folder, FaultStore(made.store, away), made.options())
