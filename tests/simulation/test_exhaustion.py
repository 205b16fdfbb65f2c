"""Every state of a small world holds; and what is broken on purpose is found, with a path to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from kedge.controller.rig.invariants import InvariantBroken
from kedge.controller.runtime.committer import Committer, End, Result
from tests.simulation.mutant import replaced
from tests.simulation.mutants_of_controllers import MUTANTS
from tests.verify.__main__ import main
from tests.verify.exhaustion import FAULTS, REQUESTS, Limits, Outcome, Search, SmallWorld, build, do, replay
from tests.verify.exhaustion.choices import actions
from tests.verify.exhaustion.snapshot import freeze, thaw

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


BROKEN: Final[dict[str, tuple[list[str], list[str], str]]] = {
    "has no fence": (["move"], ["zombie"], "invariant 5"),
    "sends before the commit": (["move"], [], "invariant 9"),
    "completes early": (["move"], [], "invariant [34]"),
    "does not send removed replicas": (["move"], [], "invariant 7"),
    "keeps the leader epoch": ([], ["die"], "invariant 5"),
    "sends nothing after a takeover": (["move"], ["kill"], "when healed: .*not within"),
    "forgets what failed": (["move"], ["callback-lost"], "when healed: .*not within"),
    "believes in lost commits": (["move"], ["commit-lost"], "invariant 7"),
}
BREAKS: Final = {name: mutant.breaks for name, mutant in MUTANTS.items()}
BREAKS["believes in lost commits"] = replaced(Committer, "_look_up", lambda *_: Result(End.APPLIED))


@pytest.mark.full
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_controller_is_found_with_a_path_that_replays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    requests, faults, says = BROKEN[name]
    BREAKS[name](monkeypatch)
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
        *("--depth 0", "--faults earthquake", "--requests move,", "--nonsense"),
        *("--path zap", "--path poll-x", "--path deliver-101-1"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status: object = main(["exhaust", *wrong.split()])
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    assert (status, printed.err.count("\n"), printed.out) == (2, 1, "")


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
    once = _settled(_after("bounce-3"))
    twice = _settled(_renewed(_settled(_after("bounce-3"))))
    assert do(twice, "bounce-3")
    twice = _settled(_settled(twice))
    once = _settled(once)
    assert once.rig.brokers[3].epoch < twice.rig.brokers[3].epoch
    assert once.digest() == twice.digest()


def _another_leader(world: SmallWorld) -> None:
    replica = world.rig.brokers[2].replica(next(iter(world.rig.committed.partitions)))
    assert replica is not None
    replica.leader = 3


def _term(world: SmallWorld) -> Any:
    controller: Any = world.rig.nodes[101].controller
    return controller._loop.term  # noqa: SLF001


def _another_isr_in_memory(world: SmallWorld) -> None:
    state = _term(world).state
    state.put_row(0, state.rows[0], state.rows[0].but(isr=(1,)))


def _does(action: str) -> Callable[[SmallWorld], object]:
    """It happens, and may happen once more."""

    def change(world: SmallWorld) -> None:
        assert do(world, action)
        _renewed(world)

    return change


CHANGES: Final[dict[str, Callable[[SmallWorld], object]]] = {
    "another leader": _another_leader,
    "another ISR in memory": _another_isr_in_memory,
    "an unknown key": lambda world: world.rig.server.table.rows.update({"/somewhere": (b"{}", 99, 0, 99, None)}),
    "a write of another program": _does("foreign"),
    "a request that waits": _does("move-101"),
    "one more record": _does("write"),
    "an older controller epoch at a broker": lambda world: setattr(world.rig.brokers[3], "controller_epoch", 0),
    "a lane that is dirty": lambda world: _term(world).dispatcher._lanes[1].dirty.update({0: None}),  # noqa: SLF001
    "a session that ended unheard": _does("zombie-101"),
    "a field that no rule names": lambda world: setattr(_term(world), "something_new", 1),
    "less to go wrong": lambda world: setattr(world, "faults_left", world.faults_left - 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_states_that_differ_in_something_that_matters_are_two(change: Callable[[SmallWorld], object]) -> None:
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
