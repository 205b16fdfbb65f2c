"""Plans handed over to the rig's controllers by the admin API: what is sent, what is refused, what is left running."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kedge.controller.model.errors import NotController
from kedge.controller.model.throttle_configs import RATES, UNLIMITED
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig.outside import configs, is_marked
from kedge.pipeline.audit import audit
from kedge.pipeline.errors import BadInput, Refused, Stopped
from kedge.pipeline.journal.files import journal_files
from kedge.pipeline.submit import Event, cancel, roll_back, submit
from kedge.pipeline.submit.kept import locked, progress_file
from kedge.stores import FaultStore
from kedge.stores.faults import Call, FailBefore, Fault, Rule
from tests.pipeline_submit.clusters import DRAINED, Made, RigTime

Making = Callable[..., Made]
ORDERS_0 = TopicPartition("orders", 0)


def waves_of(made: Made) -> list[list[TopicPartition]]:
    found: dict[int, list[TopicPartition]] = {}
    for row in made.tables["wave_move"].to_pylist():
        found.setdefault(row["wave"], []).append(TopicPartition(row["topic"], row["partition"]))
    return list(found.values())


@pytest.mark.slow
def test_wave_after_wave_is_handed_over_and_each_ends_before_the_next_begins(made: Made) -> None:
    outcome = made.submit()
    assert (outcome.end, outcome.waves, outcome.told) == ("done", (1, 2, 3, 4), ())
    assert made.replicas() == made.wanted
    told = [(event.kind, event.wave, event.waves, event.moves) for event in made.events if event.kind != "following"]
    assert told == [
        (kind, wave, 4, len(moves)) for wave, moves in enumerate(waves_of(made), 1) for kind in ("sent", "wave")
    ]
    assert sorted(made.sent()) == sorted(f"{tp}" for tps in waves_of(made) for tp in tps)
    assert audit(journal_files([made.journal])).violations == ()


@pytest.mark.slow
def test_rates_stand_while_a_wave_runs_and_are_gone_at_its_end(made: Made) -> None:
    """On each broker that a running move names."""
    seen: set[str] = set()

    def watch() -> None:
        moving = [found for found in made.rig.committed.partitions.values() if found.move]
        named = {broker for found in moving for broker in (*found.replicas, *(found.target_replicas or ()))}
        for broker in named:
            assert configs(made.rig, "brokers", str(broker)) == dict.fromkeys(RATES["replication"], "200000")
        seen.update(f"{found.topic}-{found.partition}" for found in moving)

    made.submit(time=RigTime(made.rig, watch))
    assert seen == {f"{tp}" for tps in waves_of(made) for tp in tps}
    assert not is_marked(made.rig)
    assert all(configs(made.rig, "brokers", str(broker)) == {} for broker in made.rig.brokers)


@pytest.mark.slow
def test_each_broker_has_its_own_rates(making: Making) -> None:
    """The wave begins under the lowest of all; a broker without one may come to lead, and has the highest."""
    made = making(throttle_bps=None, per_broker=9)
    (file,) = (made.folder / "throttles").iterdir()
    asked = {int(broker): rates for broker, rates in json.loads(file.read_bytes())["brokers"].items()}
    given = sorted({int(rate) for rates in asked.values() for rate in rates.values()})
    assert len(given) > 2
    lowest, highest = (dict.fromkeys(RATES["replication"], str(rate)) for rate in (given[0], given[-1]))
    others = {b for row in made.tables["wave_move"].to_pylist() for b in (*row["replicas"], *row["target_replicas"])}
    own = {b: {**dict.fromkeys(RATES["replication"], str(UNLIMITED)), **rates} for b, rates in asked.items()}
    own |= dict.fromkeys(others - asked.keys(), highest)
    begun: list[dict[int, dict[str, str]]] = []
    seen: list[dict[int, dict[str, str]]] = []

    def rates_now() -> dict[int, dict[str, str]]:
        return {broker: configs(made.rig, "brokers", str(broker)) for broker in own}

    def begins(event: Event) -> None:
        if event.kind == "sent":
            begun.append(rates_now())

    made.submit(tell=begins, time=RigTime(made.rig, lambda: seen.append(rates_now())))
    assert begun == [dict.fromkeys(own, lowest)]
    assert own in seen
    assert not is_marked(made.rig)


@pytest.mark.slow
def test_throttles_that_came_after_the_last_move_ended_are_given_back(making: Making) -> None:
    """The wave was complete when its rates were set: they would not be removed before the next move."""
    made = making(throttle_bps=None, per_broker=9, copy_rate_bytes_s=None)
    late = LateRates(made)
    made.submit(admin=lambda: late)
    assert late.came_late
    assert not is_marked(made.rig)


class LateRates:
    """The admin API over a way that is slow for rates: all moves are complete when they arrive."""

    def __init__(self, made: Made) -> None:
        self.made, self.came_late = made, False

    def __getattr__(self, name: str) -> object:
        return getattr(self.made.rig.admin, name)

    def alter_interbroker_throttled_rates(self, rates: object) -> object:
        if rates:
            self.made.rig.until(lambda: not self.made.rig.brokers or not is_marked(self.made.rig), timeout_s=60)
            self.came_late = True
        return self.made.rig.admin.alter_interbroker_throttled_rates(rates)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_plan_that_is_done_is_done(made: Made) -> None:
    """Also where the submission is not recorded: what is at its target is not asked for again."""
    made.submit()
    assert made.submit().sent == 0
    progress_file(made.folder).unlink()
    assert made.submit().sent == 0
    assert len(made.sent()) == len(made.wanted) - 2


@pytest.mark.slow
def test_a_controller_that_fails_over_during_a_wave_changes_nothing_about_its_end(made: Made) -> None:
    assert made.submit(time=RigTime(made.rig, made.kill_once_moving())).end == "done"
    assert made.replicas() == made.wanted
    made.close()
    found = audit(journal_files([made.journal]))
    assert (found.violations, found.counts.terms) == ((), 2)


@pytest.mark.slow
def test_a_partition_that_stands_in_several_waves_goes_on_where_it_is(making: Making) -> None:
    """One new replica at a time. Without its progress, what later waves made of it is done for earlier ones."""
    made = making(drained=(1, 2), one_at_a_time=True)
    names = [tp for tps in waves_of(made) for tp in tps]
    assert len(set(names)) < len(names)
    submit(made.folder, made.store, made.options(), last=3)
    progress_file(made.folder).unlink()
    assert made.submit().end == "done"
    assert made.replicas() == made.wanted
    progress_file(made.folder).unlink()
    assert made.submit().sent == 0
    assert len(made.sent()) == len(names)


@pytest.mark.slow
def test_a_partition_in_several_waves_is_rolled_back_step_by_step(making: Making) -> None:
    made = making(drained=(1, 2), one_at_a_time=True)
    with pytest.raises(KeyboardInterrupt):
        made.submit(tell=Crash("sent", 3))
    roll_back(made.folder, made.store, made.options())
    assert made.replicas() == made.before


# --- what is refused, and where it stops


def test_a_cluster_that_was_changed_since_is_refused_with_the_partition(made: Made) -> None:
    made.rig.reassign({ORDERS_0: [6, 2, 3]})
    made.rig.wait.until_replicas({ORDERS_0: [6, 2, 3]})
    with pytest.raises(
        Refused, match=r"wave [0-9]+: orders-0 has the replicas \[6, 2, 3\]: the plan moves it from \[1, 2, 3\]"
    ):
        made.submit()
    assert made.sent() == [f"{ORDERS_0}"]  # the change alone


def test_other_reassignments_are_not_stood_beside(made: Made) -> None:
    other = TopicPartition("orders", 3)
    made.rig.mishaps.pause_broker(2)
    made.rig.reassign({other: [4, 5, 2]})
    with pytest.raises(
        Refused, match="wave 1: other reassignments are running: orders-3; wait for them, or cancel them"
    ):
        made.submit()
    assert not progress_file(made.folder).exists()
    assert made.sent() == [f"{other}"]


def test_a_target_that_is_down_is_refused_before_anything_moves(made: Made) -> None:
    made.rig.mishaps.kill_broker(4)
    made.rig.run(500)
    with pytest.raises(Refused, match=r"wave 1: targets are down: \[4\]: .* to \["):
        made.submit()
    assert made.sent() == []


def test_what_is_no_export_or_differs_from_its_manifest_is_refused(made: Made, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected an export with"):
        submit(tmp_path / "nowhere", made.store, made.options())
    file = made.folder / "waves/wave-0002.json"
    file.write_bytes(file.read_bytes().replace(b"4", b"5"))
    with pytest.raises(BadInput, match=r"wave-0002\.json: the file differs from the manifest; export the plan again"):
        made.submit()


@pytest.mark.slow
def test_a_plan_that_was_changed_after_it_was_begun_is_refused(made: Made) -> None:
    submit(made.folder, made.store, made.options(), last=1)
    manifest = made.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes())))
    what = r"was changed after it was begun.* restore the old plan, or remove that file to begin with the new one"
    with pytest.raises(Refused, match=what):
        made.submit()
    assert sorted(made.sent()) == sorted(f"{tp}" for tp in waves_of(made)[0])


@pytest.mark.slow
def test_two_at_once_are_refused(made: Made) -> None:
    with locked(made.folder), pytest.raises(Refused, match=r"is already being submitted, by process [0-9]+ on"):
        made.submit()
    assert (made.replicas(), made.events) == (made.before, [])
    assert made.submit().end == "done"


@pytest.mark.parametrize("text", ["{", "[" * 100_000], ids=["torn", "deep"])
def test_unreadable_progress_is_reported_and_not_guessed(made: Made, text: str) -> None:
    progress_file(made.folder).write_text(text)
    with pytest.raises(BadInput, match="no progress of a plan"):
        made.submit()


@pytest.mark.slow
def test_a_wave_that_takes_too_long_names_its_moves_and_the_causes_and_runs_on(made: Made) -> None:
    def kill() -> None:
        moving = any(found.move for found in made.rig.committed.partitions.values())
        if moving and made.rig.brokers[4].is_up:
            made.rig.mishaps.kill_broker(4)

    with pytest.raises(Stopped, match=r"wave [0-9]: not complete within 20 s: .*\(target down: 4\)"):
        made.submit(time=RigTime(made.rig, kill), timeout_s=20)
    made.rig.mishaps.restart_broker(4)
    assert made.submit().end == "done"
    assert made.replicas() == made.wanted


@pytest.mark.slow
def test_move_that_another_client_cancels_is_not_started_again(made: Made) -> None:
    def give_up() -> None:
        moving = {tp: None for tp, found in made.rig.committed.partitions.items() if found.move}
        if moving:
            made.rig.reassign(moving)

    with pytest.raises(Stopped, match=r"wave 1: cancelled by another tool, or dropped .*: orders-0 has the replicas"):
        made.submit(time=RigTime(made.rig, give_up))
    assert made.submit().end == "done"
    assert made.replicas() == made.wanted


# --- back


@pytest.mark.slow
def test_a_rollback_undoes_the_waves_that_were_begun_the_last_one_first(made: Made) -> None:
    submit(made.folder, made.store, made.options(), last=2)
    done = roll_back(made.folder, made.store, made.options())
    assert done.waves == (2, 1)
    made.rig.until(lambda: made.replicas() == made.before, what="all is as before")
    assert not is_marked(made.rig)
    nothing = roll_back(made.folder, made.store, made.options())
    assert (nothing.end, nothing.told) == ("done", ("no wave of the plan was submitted from this folder",))
    assert made.submit().waves == (1, 2, 3, 4)
    made.close()
    assert audit(journal_files([made.journal])).violations == ()


@pytest.mark.slow
def test_a_rollback_that_was_begun_is_gone_on_with_and_nothing_else(made: Made) -> None:
    submit(made.folder, made.store, made.options(), last=3)
    with pytest.raises(KeyboardInterrupt):
        roll_back(made.folder, made.store, made.options(tell=Crash("sent", 2)))
    with pytest.raises(Refused, match="a rollback is not complete"):
        made.submit()
    given_up = cancel(made.folder, made.store, made.options())
    assert (given_up.waves, given_up.sent, made.moving) == ((2,), 2, [])
    roll_back(made.folder, made.store, made.options())
    assert made.replicas() == made.before


@pytest.mark.slow
def test_what_runs_is_cancelled_and_what_is_complete_stays(made: Made) -> None:
    with pytest.raises(KeyboardInterrupt):
        made.submit(tell=Crash("sent", 2))
    done = cancel(made.folder, made.store, made.options())
    assert (done.end, done.waves, done.sent, done.told) == ("cancelled", (2,), 2, ())
    text = progress_file(made.folder).read_text()
    assert text.startswith('{\n "version": 1,\n "plan": "drain",\n')  # people read it
    kept = json.loads(text)
    assert (kept["plan"], kept["waves"]) == ("drain", {"1": "done", "2": "cancelled"})
    assert not made.moving
    first, second, *_ = waves_of(made)
    assert all(DRAINED not in made.rig.committed.partitions[tp].replicas for tp in first)
    assert all(DRAINED in made.rig.committed.partitions[tp].replicas for tp in second)
    roll_back(made.folder, made.store, made.options())
    assert made.replicas() == made.before


def test_a_wave_that_runs_is_cancelled_by_its_rollback(made: Made) -> None:
    with pytest.raises(KeyboardInterrupt):
        made.submit(tell=Crash("sent", 1))
    roll_back(made.folder, made.store, made.options())
    assert made.replicas() == made.before


@pytest.mark.parametrize(
    "first,last,asked", [(9, None, "9 to the last"), (None, 0, "the first to 0"), (3, 2, "3 to 2")]
)
def test_waves_that_are_not_there_are_refused(made: Made, first: int | None, last: int | None, asked: str) -> None:
    with pytest.raises(BadInput, match=f"expected waves within 1 to 4, got {asked}"):
        submit(made.folder, made.store, made.options(), first=first, last=last)
    assert made.replicas() == made.before


@pytest.mark.slow
def test_some_waves_can_be_handed_over_alone(made: Made) -> None:
    done = submit(made.folder, made.store, made.options(), last=1)
    assert done.waves == (1,)
    assert submit(made.folder, made.store, made.options(), first=2, last=3).waves == (2, 3)
    assert made.submit().waves == (4,)
    assert made.replicas() == made.wanted


def test_a_dry_run_checks_tells_and_writes_nothing(made: Made) -> None:
    done = submit(made.folder, made.store, made.options(), dry_run=True)
    assert (done.end, done.waves, done.sent) == ("dry run", (1, 2, 3, 4), len(made.wanted) - 2)
    told = [(event.kind, event.wave, event.waves, event.moves) for event in made.events]
    assert told == [("sent", number, 4, len(moves)) for number, moves in enumerate(waves_of(made), 1)]
    assert made.replicas() == made.before
    assert not progress_file(made.folder).exists()
    made.rig.mishaps.kill_broker(4)
    made.rig.run(500)
    with pytest.raises(Refused, match="targets are down"):
        submit(made.folder, made.store, made.options(), dry_run=True)


# --- what is read while other clients change the cluster, or while the store does not answer


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
        if reads == 2 and made.moving:
            running += 1
            if running == 2 and not done:
                done = True
                happens()
        return ()

    return FaultStore(made.store, plan)


@pytest.mark.slow
def test_a_move_that_ends_between_two_reads_of_a_look_is_not_taken_for_a_cancelled_one(made: Made) -> None:
    ended: list[TopicPartition] = []

    def end() -> None:
        ended.extend(made.moving)
        made.rig.until(lambda: not made.moving, timeout_s=60)

    assert submit(made.folder, between_two_reads(made, end), made.options()).end == "done"
    assert ended
    assert made.targets.items() <= made.replicas().items()


@pytest.mark.slow
def test_a_move_that_was_cancelled_and_begun_again_before_the_second_look_is_followed(made: Made) -> None:
    """What was seen is looked at once more before the plan is given up."""
    looks, cancelled, begun_again = 0, list[TopicPartition](), list[TopicPartition]()

    def plan(call: Call, _: object) -> tuple[Fault, ...]:
        nonlocal looks
        if call.name != "get" or not (made.moving or cancelled):  # each look begins with a get, which synchronises
            return ()
        looks += 1
        if looks == 2:
            cancelled.append(made.moving[0])
            made.rig.result(made.rig.admin.alter_partition_reassignments({cancelled[0]: None}).all())
        elif looks == 3:
            begun_again.append(cancelled[0])
            made.rig.reassign({tp: made.targets[tp] for tp in begun_again})
        return ()

    assert submit(made.folder, FaultStore(made.store, plan), made.options()).end == "done"
    assert begun_again
    assert made.targets.items() <= made.replicas().items()


@pytest.mark.slow
def test_a_store_that_does_not_answer_for_a_while_is_asked_again(made: Made) -> None:
    down = [Rule(FailBefore(), name, nth=nth) for name in ("get", "get_many") for nth in range(9, 15)]
    assert submit(made.folder, FaultStore(made.store, down), made.options()).end == "done"
    away = [Rule(FailBefore(), name) for name in ("get", "get_many", "snapshot")]
    with pytest.raises(Stopped, match="the store did not answer for 60 s: "):
        roll_back(made.folder, FaultStore(made.store, away), made.options())


def test_what_a_controller_answers_for_a_minute_is_in_the_error(made: Made) -> None:
    def stands_by() -> object:
        raise NotController("another one leads")

    with pytest.raises(Stopped, match=r"within 70 s: NOT_CONTROLLER \(41\): another one leads"):
        made.submit(admin=stands_by, timeout_s=70)
    assert {event.text for event in made.events if event.kind == "waiting"} == {
        "NOT_CONTROLLER (41): another one leads"
    }


class Crash:
    """The callback ends its thread at an event of a wave."""

    def __init__(self, kind: str, wave: int) -> None:
        self.at = (kind, wave)

    def __call__(self, event: object) -> None:
        if (getattr(event, "kind", ""), getattr(event, "wave", 0)) == self.at:
            raise KeyboardInterrupt
