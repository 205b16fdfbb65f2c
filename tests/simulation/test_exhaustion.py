"""Every state of a small world holds; and what is broken on purpose is found, with a path to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kedge.controller.rig.invariants import InvariantBroken
from kedge.controller.runtime.committer import Committer, End, Result
from tests.simulation import test_mutants as mutants
from tests.verify.__main__ import main
from tests.verify.exhaustion import FAULTS, REQUESTS, Limits, Outcome, Search, SmallWorld, build, do, replay
from tests.verify.exhaustion.choices import actions
from tests.verify.exhaustion.snapshot import freeze, thaw

Patch = pytest.MonkeyPatch
MOVED = ["move-101", "poll-101", "deliver-101-1", "deliver-101-3", "fetch-3", "work-1", "poll-101"]


def _search(requests: Iterable[str], faults: Iterable[str], waits_max: int = 0, **limits: Any) -> Outcome:
    return Search(build(requests, faults, 1, waits_max), Limits(**limits)).run()


def _after(*actions: str) -> SmallWorld:
    """The world after these actions, with everything allowed once more."""
    world = build(REQUESTS, FAULTS, len(FAULTS), 10)
    for action in actions:
        assert do(world, action), action
    return _renewed(world)


def _renewed(world: SmallWorld) -> SmallWorld:
    world.requests, world.faults = frozenset(REQUESTS), frozenset(FAULTS)
    world.faults_left = world.waits_left = 10
    return world


# --- the controller as it is


@pytest.mark.slow
def test_every_state_of_a_move_without_faults_holds_and_heals() -> None:
    outcome = _search(["move"], [], heal_every=40)
    assert (outcome.broken, outcome.cut_off) == (None, None)
    assert outcome.states > 250
    assert outcome.healed > 5


@pytest.mark.full
@pytest.mark.checklist(101, 103)
def test_every_state_of_a_move_with_one_lost_answer_or_callback_holds() -> None:
    """`python -m tests.verify exhaust --small`."""
    outcome = _search(["move"], ["commit-unanswered", "callback-lost"], heal_every=50)
    assert (outcome.broken, outcome.cut_off) == (None, None)
    assert outcome.states > 2_000


@pytest.mark.full
@pytest.mark.checklist(112, 113)
def test_the_first_steps_of_everything_that_can_be_asked_and_go_wrong_hold() -> None:
    outcome = _search(REQUESTS, FAULTS, waits_max=1, heal_every=25, depth=3)
    assert outcome.broken is None
    assert outcome.cut_off == "depth"
    assert outcome.states > 500


@pytest.mark.parametrize("limits", [{"depth": 1}, {"states_max": 3}, {"seconds": 0}], ids=str)
def test_a_search_that_is_cut_off_says_by_what(limits: dict[str, int]) -> None:
    outcome = _search(["move"], [], **limits)
    assert outcome.cut_off == next(iter(limits)).removesuffix("_max")
    assert outcome.states < 10


# --- broken on purpose


def believes_in_lost_commits(patch: Patch) -> None:
    """A commit without an answer counts as applied."""
    patch.setattr(Committer, "_look_up", lambda *_: Result(End.APPLIED))


Broken = tuple[Callable[[Patch], None], list[str], list[str], str]
BROKEN: tuple[Broken, ...] = (
    (mutants.has_no_fence, ["move"], ["zombie"], "invariant 5"),
    (mutants.sends_before_the_commit, ["move"], [], "invariant 9"),
    (mutants.completes_early, ["move"], [], "invariant [34]"),
    (mutants.forgets_intents, ["move"], [], "invariant 7"),
    (mutants.keeps_the_leader_epoch, [], ["die"], "invariant 5"),
    (mutants.sends_nothing_after_a_takeover, ["move"], ["kill"], "when healed: .*not within"),
    (mutants.forgets_what_failed, ["move"], ["callback-lost"], "when healed: .*not within"),
    (believes_in_lost_commits, ["move"], ["commit-lost"], "invariant 7"),
)


@pytest.mark.full
@pytest.mark.parametrize("broken", BROKEN, ids=[given[0].__name__ for given in BROKEN])
def test_a_broken_controller_is_found_with_a_path_that_replays(
    monkeypatch: Patch, capsys: pytest.CaptureFixture[str], broken: Broken
) -> None:
    mutant, requests, faults, says = broken
    mutant(monkeypatch)
    asked = ["--requests", ",".join(requests) or "none", "--faults", ",".join(faults) or "none"]
    heal_every = "1" if says.startswith("when") else "0"
    assert main(["exhaust", *asked, "--waits-max", "0", "--heal-every", heal_every]) == 1
    told = capsys.readouterr().out
    assert re.search(says, told[told.index("BROKEN") :], re.DOTALL), told
    command, path = told.splitlines()[-1].rsplit(" ", 1)
    assert command == "replay: python -m tests.verify exhaust --path"
    assert main(["exhaust", "--path", path]) == 1
    assert "BROKEN" in capsys.readouterr().out


def test_path_that_holds_is_printed_as_a_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exhaust", "--path", ",".join(MOVED)]) == 0
    told = capsys.readouterr().out
    assert "happens        fetch-3" in told
    assert "R [2, 3] I [2, 3] leader 2" in told
    assert told.endswith("holds\n")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--depth", "0"],
        ["--seconds", "soon"],
        ["--faults", "earthquake"],
        ["--requests", "move,"],
        ["--path", "move-101,zap"],
        ["--path", "deliver-101-1"],
        ["--path", "poll"],
        ["--path", "poll-7"],
        ["--path", "poll-x"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_one_line_and_status_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status: object = main(["exhaust", *wrong])
    except SystemExit as ended:
        status = ended.code
    told = capsys.readouterr()
    assert status == 2
    assert told.err.count("\n") == 1
    assert not told.out


# --- what makes two states one


def test_a_state_does_not_depend_on_the_order_of_what_does_not_touch_each_other() -> None:
    moved = ("move-101", "poll-101")
    one = _after(*moved, "deliver-101-1", "deliver-101-2", "deliver-101-3", "poll-101")
    other = _after(*moved, "deliver-101-3", "deliver-101-2", "deliver-101-1", "poll-101")
    assert one.digest() == other.digest()


def _settled(world: SmallWorld) -> SmallWorld:
    for _ in range(3):
        do(world, "poll-101")
        for controller, broker in world.rig.network.under_way:
            do(world, f"deliver-{controller}-{broker}")
    do(world, "fetch-2")
    do(world, "poll-102")
    return _renewed(world)


def test_which_of_two_controllers_leads_does_not_count() -> None:
    """Once brokers have heard of it: until then they name the former one, which may run again."""
    one = _after("kill-101", "poll-102", "poll-102")
    other = _after("kill-101", "start-101", "poll-101", "poll-101")
    for broker in (1, 2, 3):
        assert do(one, f"deliver-102-{broker}")
        assert do(other, f"deliver-101-{broker}")
    assert one.digest() != other.digest(), "the one may still run, the other does"
    for world in (one, other):
        world.faults = frozenset({"bounce"})
    assert one.digest() == other.digest()


def test_a_stand_by_counts_as_long_as_the_leader_may_fall() -> None:
    both, alone = _after("poll-102"), _after("kill-102")
    assert both.digest() != alone.digest()
    for world in (both, alone):
        world.faults = frozenset({"bounce"})
    settled = both.digest()
    assert settled == alone.digest()
    assert not {"poll-102", "start-102"} & {*actions(both), *actions(alone)}
    assert do(both, "poll-102")
    assert do(alone, "start-102")
    assert settled == both.digest() == alone.digest()


def test_a_leader_that_falls_although_nothing_ended_its_term_is_found() -> None:
    world = build(["move"], ["bounce"])
    world.digest()
    assert do(world, "kill-101")
    with pytest.raises(InvariantBroken, match="101 leads no more"):
        world.digest()


def test_epochs_count_by_their_order_alone() -> None:
    """A broker that bounced once more has a higher epoch, and the store other versions: nothing else differs."""
    read_uncached = _settled(_after("bounce-3"))
    twice = _settled(_renewed(_settled(_after("bounce-3"))))
    assert do(twice, "bounce-3")
    twice = _settled(_settled(twice))
    read_uncached = _settled(read_uncached)
    assert read_uncached.rig.brokers[3].epoch < twice.rig.brokers[3].epoch
    assert read_uncached.digest() == twice.digest()


def _with_another_leader(world: SmallWorld) -> None:
    replica = world.rig.brokers[2].replica(next(iter(world.rig.committed.partitions)))
    assert replica is not None
    replica.leader = 3


def _with_another_isr_in_the_cache(world: SmallWorld) -> None:
    controller: Any = world.rig.nodes[101].controller
    state = controller._loop.term.state  # noqa: SLF001
    state.put_row(0, state.rows[0], state.rows[0].but(isr=(1,)))


def _with_an_unknown_key(world: SmallWorld) -> None:
    world.rig.server.table.rows["/somewhere"] = (b"{}", 99, 0, 99, None)


def _with_a_write_that_was_not_heard_of(world: SmallWorld) -> None:
    assert do(world, "foreign")
    _renewed(world)


def _with_a_request_that_waits(world: SmallWorld) -> None:
    assert do(world, "move-101")
    _renewed(world)


def _with_a_record_more(world: SmallWorld) -> None:
    assert do(world, "write")
    _renewed(world)


def _with_an_older_controller_epoch_at_a_broker(world: SmallWorld) -> None:
    world.rig.brokers[3].controller_epoch = 0


def _with_a_lane_that_is_dirty(world: SmallWorld) -> None:
    controller: Any = world.rig.nodes[101].controller
    controller._loop.term.dispatcher._lanes[1].dirty[0] = None  # noqa: SLF001


def _with_a_session_that_ended_unheard(world: SmallWorld) -> None:
    assert do(world, "zombie-101")
    _renewed(world)


def _with_a_field_that_no_rule_names(world: SmallWorld) -> None:
    controller: Any = world.rig.nodes[101].controller
    controller._loop.term.something_new = 1  # noqa: SLF001


def _with_less_to_go_wrong(world: SmallWorld) -> None:
    world.faults_left -= 1


@pytest.mark.parametrize(
    "change",
    [
        _with_another_leader,
        _with_another_isr_in_the_cache,
        _with_an_unknown_key,
        _with_a_write_that_was_not_heard_of,
        _with_a_request_that_waits,
        _with_a_record_more,
        _with_an_older_controller_epoch_at_a_broker,
        _with_a_lane_that_is_dirty,
        _with_a_session_that_ended_unheard,
        _with_a_field_that_no_rule_names,
        _with_less_to_go_wrong,
    ],
    ids=lambda change: change.__name__.strip("_"),
)
def test_states_that_differ_in_something_that_matters_are_two(change: Callable[[SmallWorld], None]) -> None:
    world = _after()
    before = world.digest()
    change(world)
    assert world.digest() != before


def test_the_same_commit_with_and_without_its_callbacks_under_way_are_two_states() -> None:
    sent = _after("move-101", "poll-101")
    lost = _after("move-101", "poll-101", "deliver-101-3-lost-1")
    arrived = _after("move-101", "poll-101", "deliver-101-3")
    assert len({sent.digest(), lost.digest(), arrived.digest()}) == 3


# --- copies


@pytest.mark.slow
def test_a_copy_goes_on_as_the_world_that_it_was_made_of_and_leaves_it_alone() -> None:
    straight = build()
    copied = build()
    for action in MOVED:
        before = copied.digest()
        copy = thaw(freeze(copied))
        assert do(copy, action)
        assert copied.digest() == before
        assert do(straight, action)
        assert copy.digest() == straight.digest()
        copied = copy
    copied.heal()
    assert [p.replicas for p in copied.rig.committed.partitions.values()] == [(2, 3)]


def test_values_that_are_never_written_are_not_copied() -> None:
    taken = freeze(build())
    one, other = thaw(taken).rig.brokers[1], thaw(taken).rig.brokers[1]
    assert one is not other
    assert one.registration is other.registration


# --- determinism


def _found(depth: int) -> frozenset[bytes]:
    search = Search(build(["move", "cancel"], ["kill", "callback-late"], 1, 1), Limits(depth=depth))
    search.run()
    return search.digests


@pytest.mark.full
def test_the_same_search_meets_the_same_states() -> None:
    assert _found(4) == _found(4)


@pytest.mark.full
def test_a_search_does_not_depend_on_how_strings_are_hashed() -> None:
    command = [sys.executable, "-m", "tests.verify", "exhaust", "--depth", "3", "--faults", "kill,callback-late"]
    told = []
    for hash_seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        told.append(done.stdout.splitlines()[-1].split(";")[0])
    assert len(set(told)) == 1, told


def test_a_replay_says_what_cannot_happen() -> None:
    with pytest.raises(ValueError, match="poll-101-lost-1 cannot happen here; what can: poll-101"):
        replay(build(), ["poll-101-lost-1"])
