"""Plans handed over by the legacy key: no throttles, no cancelling, one plan at a time; and to a controller in a thread
of its own, on a store that began with a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.outside import is_key_there, submit_by_key
from kedge.pipeline.audit import audit
from kedge.pipeline.errors import BadInput, Refused, Stopped
from kedge.pipeline.journal.files import journal_files
from kedge.pipeline.submit import Options, Time, cancel, roll_back, submit
from kedge.stores import FaultStore, MemoryServer
from kedge.stores.faults import Call, FailBefore, Fault, LoseReply, LoseRequest, Rule
from tests.pipeline_submit.clusters import Beside, Made, RigTime, Running

Making = Callable[..., Made]


@pytest.fixture
def made(making: Making) -> Made:
    """Without throttles."""
    found = making(throttle_bps=None, networks=False)
    found.allow()
    return found


def by_key(made: Made, **given: Any) -> Options:
    return made.options(admin=None, **given)


def wanted(made: Made) -> dict[TopicPartition, tuple[int, ...]]:
    rows = made.tables["plan_move"].to_pylist()
    return {TopicPartition(row["topic"], row["partition"]): tuple(row["target_replicas"]) for row in rows}


@pytest.mark.slow
def test_each_wave_is_a_plan_in_the_key_and_the_next_waits_for_its_end(made: Made) -> None:
    done = submit(made.folder, made.store, by_key(made))
    assert (done.end, done.waves, done.sent) == ("done", (1, 2, 3, 4), len(wanted(made)))
    assert wanted(made).items() <= made.replicas().items()
    assert not is_key_there(made.rig)
    made.close()
    assert audit(journal_files([made.journal])).violations == ()


@pytest.mark.slow
def test_a_plan_with_throttles_is_refused_unless_it_is_to_go_without(making: Making) -> None:
    made = making()
    made.allow()
    with pytest.raises(BadInput, match="the waves have throttles, which the legacy key cannot set; --no-throttle"):
        submit(made.folder, made.store, by_key(made))
    assert submit(made.folder, made.store, by_key(made, throttles=False)).end == "done"


@pytest.mark.slow
def test_nothing_can_be_cancelled_and_a_rollback_waits_for_what_runs(made: Made) -> None:
    def stop() -> None:
        if is_key_there(made.rig):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        submit(made.folder, made.store, by_key(made, time=RigTime(made.rig, stop)))
    with pytest.raises(Refused, match="the legacy key cannot cancel reassignments"):
        cancel(made.folder, made.store, by_key(made))
    assert roll_back(made.folder, made.store, by_key(made)).waves == (1,)
    assert made.replicas() == made.before


@pytest.mark.slow
def test_foreign_plan_in_the_key_is_waited_for(made: Made) -> None:
    other = TopicPartition("orders", 3)
    made.rig.mishaps.pause_broker(2)
    submit_by_key(made.rig, {other: [4, 5, 2]})
    waited: list[str] = []

    def resume() -> None:
        if not waited:
            waited.extend(event.text for event in made.events if event.kind == "waiting")
            made.rig.mishaps.resume_broker(2)

    submit(made.folder, made.store, by_key(made, time=RigTime(made.rig, resume)))
    assert waited == ["the legacy key holds another plan"]
    assert made.replicas()[other] == (4, 5, 2)
    assert wanted(made).items() <= made.replicas().items()


def test_moves_by_the_api_that_run_beside_are_refused(made: Made) -> None:
    made.rig.mishaps.pause_broker(2)
    made.rig.reassign({TopicPartition("orders", 3): [4, 5, 2]})
    with pytest.raises(Refused, match="other reassignments are running: orders-3"):
        submit(made.folder, made.store, by_key(made))


@pytest.mark.slow
def test_without_a_controller_nothing_is_lost_and_the_cause_is_named(made: Made) -> None:
    for node in list(made.rig.nodes):
        made.rig.mishaps.kill_controller(node)
    made.rig.run(3_000)
    with pytest.raises(Stopped, match=r"wave 1: not complete within 5 s: .*\(no controller, "):
        submit(made.folder, made.store, by_key(made, timeout_s=5))
    made.rig.mishaps.restart_controller(101)
    assert submit(made.folder, made.store, by_key(made)).end == "done"
    assert wanted(made).items() <= made.replicas().items()


def test_what_the_controller_drops_again_and_again_is_named(made: Made) -> None:
    """A target died after the checks: its entry is dropped with a reason in the log, and others go on."""
    checked: list[int] = []

    def kill(event: object) -> None:
        if not checked and getattr(event, "kind", "") == "following":
            checked.append(4)
            made.rig.mishaps.kill_broker(4)
            made.rig.run(200)

    with pytest.raises(Stopped, match="wave 1: submitted 3 times without effect: orders-"):
        submit(made.folder, made.store, by_key(made, tell=kill))


def submitted(made: Made) -> int:
    """How often the controller found a plan in the key."""
    made.close()
    rows = [json.loads(line) for file in journal_files([made.journal]) for line in file.read_bytes().splitlines()]
    return sum(row["event"] == "LegacySubmitted" for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [LoseReply(), LoseRequest(), FailBefore()], ids=repr)
def test_a_request_of_which_nothing_is_known_is_looked_for_and_not_begun_twice(fault: Fault, made: Made) -> None:
    """Each second commit; whether it was applied is seen in the cluster."""
    plan = [Rule(fault, "commit", nth=nth) for nth in (1, 3, 5)]
    store = FaultStore(made.store, plan)
    assert submit(made.folder, store, by_key(made)).end == "done"
    assert wanted(made).items() <= made.replicas().items()
    assert submitted(made) == 4


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

    assert submit(made.folder, between_two_reads(made, end), by_key(made)).end == "done"
    assert ended
    assert wanted(made).items() <= made.replicas().items()


@pytest.mark.slow
def test_a_move_that_was_cancelled_and_begun_again_before_the_second_look_is_followed(made: Made) -> None:
    """What was seen is looked at once more before the plan is given up."""
    looks, cancelled, begun_again = 0, list[TopicPartition](), list[TopicPartition]()

    def plan(call: Call, _: object) -> tuple[Fault, ...]:
        nonlocal looks
        if call.name != "get" or not (moving(made) or cancelled):  # each look begins with a get, of the legacy key
            return ()
        looks += 1
        if looks == 2:
            cancelled.append(moving(made)[0])
            made.rig.result(made.rig.admin.alter_partition_reassignments({cancelled[0]: None}).all())
        elif looks == 3:
            begun_again.append(cancelled[0])
            made.rig.reassign({tp: wanted(made)[tp] for tp in begun_again})
        return ()

    assert submit(made.folder, FaultStore(made.store, plan), by_key(made)).end == "done"
    assert begun_again
    assert wanted(made).items() <= made.replicas().items()


@pytest.mark.slow
def test_a_store_that_does_not_answer_for_a_while_is_asked_again(made: Made) -> None:
    down = [Rule(FailBefore(), name, nth=nth) for name in ("get", "get_many") for nth in range(9, 15)]
    assert submit(made.folder, FaultStore(made.store, down), by_key(made)).end == "done"
    away = [Rule(FailBefore(), name) for name in ("get", "get_many", "snapshot")]
    with pytest.raises(Stopped, match="the store did not answer for 60 s: "):
        roll_back(made.folder, FaultStore(made.store, away), by_key(made))


@pytest.mark.slow
def test_a_plan_of_more_than_a_key_takes_goes_in_parts(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kedge.pipeline.submit.ways.KEY_BYTES_MAX", 400)
    done = submit(made.folder, made.store, by_key(made))
    assert done.sent == len(wanted(made))
    assert wanted(made).items() <= made.replicas().items()
    assert submitted(made) > len(done.waves)


@pytest.mark.slow
def test_a_controller_in_another_thread_on_a_store_that_was_a_file_obeys(making: Making, tmp_path: Path) -> None:
    """In real time, with a client of its own: the store is closed into its file, loaded again, and the cluster goes on
    there."""
    first = making(throttle_bps=None, networks=False)
    file = tmp_path / "store.json"
    first.rig.server.save(file)
    made = making(throttle_bps=None, networks=False, tree=MemoryServer.load(file), topics=())
    made.allow()
    thread = Running(made)
    thread.start()
    try:
        options = Options(time=Time(), poll_s=0.05, timeout_s=60)
        assert submit(made.folder, Beside(thread), options).end == "done"
    finally:
        thread.end()
    assert wanted(made).items() <= made.replicas().items()
