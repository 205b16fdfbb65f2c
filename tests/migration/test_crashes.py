"""The end of a move at each of its commits, and of the controller that takes over: run again it ends all the same."""

from __future__ import annotations

import json
from random import Random

import pytest

from kedge import Controller, NewTopic
from kedge.controller.codec import keys
from kedge.controller.migration import MigrationRefused, Stage
from kedge.controller.model.values import Settings
from kedge.stores import MemoryStore, Put, StoreError, Unavailable
from kedge.stores.faults import FailBefore, Fault, FaultStore, LoseReply, LoseRequest, at_commit
from kedge.stores.faults.plan import Call
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY
from tests.migration.world import Death, Moved, cluster_of

ENDS = pytest.mark.parametrize("fault", [FailBefore(), LoseReply()], ids=["before it is sent", "applied, reply lost"])


def ended() -> tuple[dict[str, object], int]:
    """What a cluster is after a move without any trouble, and in how many commits it was moved."""
    moved, death = Moved(), Death(10_000, FailBefore())
    moved.migration(death.store(moved.server), death.store(moved.to)).run(0)
    moved.take_over()
    return cluster_of(moved.to), death.commits


def dies(moved: Moved, death: Death) -> None:
    """A process moves the cluster and dies on the way; the controllers go on."""
    with pytest.raises(StoreError):
        moved.migration(death.store(moved.server), death.store(moved.to)).run(0)
    assert death.is_over
    moved.wait(300)


@pytest.mark.slow
@ENDS
def test_a_move_that_dies_at_any_commit_ends_as_if_it_had_not(fault: Fault) -> None:
    """It is run again, by a process that knows nothing; the cluster in the new store is the same in the end."""
    expected, commits = ended()
    assert commits > 8
    for at in range(1, commits + 1):
        moved = Moved()
        dies(moved, Death(at, fault))
        assert not moved.next.is_active or at == commits, f"led over a copy that is not whole, at {at}"
        assert moved.migration().run(0) == ()
        moved.take_over()
        assert cluster_of(moved.to) == expected, f"at {at}"


@pytest.mark.slow
@ENDS
def test_a_move_may_be_aborted_wherever_it_died_before_the_fence(fault: Fault) -> None:
    """The old store is as it was, and led; nothing is left in the new one, which may be moved to again."""
    _, commits = ended()
    aborted = 0
    for at in range(1, commits + 1):
        moved = Moved()
        before = cluster_of(moved.server)
        dies(moved, Death(at, fault))
        held = moved.other.get(LEADER_KEY, timeout_s=1)
        if held is not None and held.owner is None:  # fenced
            with pytest.raises(MigrationRefused, match="it can only be completed"):
                moved.migration().abort()
            continue
        moved.migration().abort()
        moved.wait(1000)
        aborted += 1
        assert moved.values(moved.to) == {}, f"at {at}"
        assert cluster_of(moved.server) == before, f"at {at}"
        assert moved.controllers[0].is_active
        assert not moved.next.is_active
    assert aborted >= 4


@pytest.mark.slow
@ENDS
def test_an_abort_that_dies_at_any_commit_is_run_again_or_the_move_goes_on(fault: Fault) -> None:
    at = 0
    while True:
        at += 1
        moved, death = Moved(brokers=()), Death(at, fault)
        with pytest.raises(Exception, match="not registered"):
            moved.migration().run(0)
        try:
            moved.migration(death.store(moved.server), death.store(moved.to)).abort()
        except StoreError:
            moved.register_all()
            if at % 2:
                moved.migration().abort()
                assert moved.values(moved.to) == {}, f"at {at}"
                assert keys.MIGRATION not in moved.values(moved.server)
            moved.migration().run(0)
            moved.take_over()
        else:
            break
    assert at > 3


@pytest.mark.slow
@pytest.mark.parametrize("fault", [LoseReply(), LoseRequest(), FailBefore()], ids=lambda f: type(f).__name__)
def test_a_commit_whose_reply_is_lost_is_found_out_by_the_same_run(fault: Fault) -> None:
    """What stands is read, and what is not there is done again; nothing needs a human."""
    expected, commits = ended()
    for at in range(1, commits + 1):
        for side in ("from", "to"):
            moved = Moved()
            stores = {"from": FaultStore(MemoryStore(moved.server)), "to": FaultStore(MemoryStore(moved.to))}
            stores[side].play(at_commit(at, fault))
            assert moved.migration(stores["from"], stores["to"]).run(0) == ()
            moved.take_over()
            assert cluster_of(moved.to) == expected, f"at {at} of {side}"


def test_a_move_that_dies_between_deposing_and_holding_is_no_more_than_a_failover() -> None:
    """The old store is led again, under a higher epoch, until it is run again."""
    moved = Moved()
    before, epoch = cluster_of(moved.server), moved.controllers[0].controller_epoch
    died: list[bool] = []

    def plan(call: Call, _: Random) -> list[Fault]:
        if any(isinstance(op, Put) and op.key == LEADER_KEY for op in call.ops):
            died.append(True)
        return [FailBefore()] if died else []

    with pytest.raises(Unavailable):
        moved.migration(FaultStore(MemoryStore(moved.server), plan)).run(0)
    moved.wait(1000)
    assert moved.controllers[0].is_active
    assert moved.controllers[0].controller_epoch is not None
    assert epoch is not None
    assert moved.controllers[0].controller_epoch > epoch + 1
    after = cluster_of(moved.server)
    assert json.loads(moved.values(moved.server)[keys.MIGRATION])["phase"] == "copying"
    assert {key: value for key, value in after.items() if key != keys.MIGRATION} == before
    moved.migration().run(0)
    moved.take_over()


def test_a_deposed_controller_commits_nothing_after_the_fence() -> None:
    """Also one that has not heard of it: what it had on its way does not arrive."""
    moved = Moved()
    moved.migration().run(0)
    fenced = moved.values(moved.server)
    moved.move((1, 2, 3), "u", 0)
    moved.take_over()
    assert moved.values(moved.server) == fenced


# --- the controller that takes over


@pytest.mark.slow
@ENDS
def test_a_controller_that_dies_while_it_raises_the_epochs_leaves_the_rest_to_the_next(fault: Fault) -> None:
    """At each of its commits: the next raises all, no request was sent before that, and the marker goes last."""
    at = 0
    while True:
        at += 1
        moved = Moved()
        epochs = moved.leader_epochs(moved.server)
        moved.migration().run(0)
        moved.next.close()
        moved.controllers.remove(moved.next)
        moved.host.told.clear()
        death = Death(at, fault)
        each = Settings(commit_decisions_max=1)
        first = Controller(death.store(moved.to), 7, moved.host, clock=moved.clock, seed=7, settings=each)
        for _ in range(60):
            if death.is_over:
                break
            first.poll_once()
        marker_stands = keys.MIGRATION in moved.values(moved.to)
        told = list(moved.host.told)
        moved.next = moved.another(8, MemoryStore(moved.to))
        expire(moved)
        moved.register_all()
        moved.take_over()
        now = moved.leader_epochs(moved.to)
        assert all(now[key] > epochs[key] for key in epochs), f"at {at}"
        assert keys.MIGRATION not in moved.values(moved.to)
        if not marker_stands:
            break
        assert told == [], f"told before all epochs were raised, at {at}"
    assert at >= 4


def expire(moved: Moved) -> None:
    """Its process is gone, and its session."""
    entry = moved.there.get(LEADER_KEY, timeout_s=1)
    if entry is not None and entry.owner is not None and json.loads(entry.value)["brokerid"] == 7:
        moved.to.expire(entry.owner)


def test_requests_wait_until_the_epochs_are_raised_and_are_answered_then() -> None:
    """Requests of a leader have epochs of the old store until it has heard of the new ones."""
    moved = Moved(settings=Settings(commit_decisions_max=1))
    moved.migration().run(0)
    while not moved.next.is_active:
        moved.next.poll_once()
    query = moved.next.query(lambda view: view.migration_version)
    request = moved.next.admin.create_topics({"new": NewTopic(1, 1)})["new"]
    passes = 0
    while keys.MIGRATION in moved.values(moved.to):
        assert not query.done()
        assert not request.done()
        assert moved.host.told == []
        moved.next.poll_once()
        passes += 1
    assert passes >= 2, "raised in one pass: the test shows nothing"
    assert moved.done(query) == 0
    assert moved.done(request).name == "new"


def test_marker_of_the_new_store_written_again_meanwhile_is_removed() -> None:
    moved = Moved()
    moved.migration().run(0)
    moved.next.poll_once()
    entry = moved.there.get(keys.MIGRATION, timeout_s=1)
    if entry is not None:
        moved.there.commit([Put(keys.MIGRATION, entry.value, entry.version)], timeout_s=1)
    moved.take_over()
    assert keys.MIGRATION not in moved.values(moved.to)
    assert moved.migration().verify().stage is Stage.DONE
    assert moved.get(EPOCH_KEY) is not None
