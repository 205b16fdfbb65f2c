"""A callback that raises counts as not delivered: it comes again, and the broker must be able to obey it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from ...model.values import TopicPartition
from ...simulated.replica import Role
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect
from .stage import SECOND, TP, Stage, deletion, metadata, said


@case("failures", Ability.FAILURE)
def what_raised_goes_well_when_it_comes_again(host: HostUnderTest) -> None:
    """After an exception in one callback the same one, and the next one, are obeyed."""
    stage = Stage(host)
    for tp in (TP, SECOND):
        _fails(host, partial(stage.leader_and_isr, 1, said(tp)))
        expect("errors in the answer", stage.tell(1, said(tp)), {})
        stage.becomes(1, "leads", lambda held: held.role is Role.LEADER, tp)
    _fails(host, lambda: stage.update_metadata(1, metadata()))
    stage.inform(1, metadata())
    _fails(host, lambda: stage.stop_replica(1, deletion()))
    stage.delete(1, deletion())
    stage.quiet()
    expect("the log on broker 1", stage.held(1), None)
    expect("the role of broker 1", stage.holds(1, SECOND).role, Role.LEADER)


@case("failures", Ability.FAILURE)
def what_raises_on_one_broker_goes_well_on_another(host: HostUnderTest) -> None:
    """A callback that fails on one broker does not affect the callbacks of the others."""
    stage = Stage(host)
    host.fail_next(1)
    expect("errors in the answer", stage.tell(2, said(leader=2)), {})
    stage.becomes(2, "leads", lambda held: held.role is Role.LEADER)
    with contextlib.suppress(Exception):
        stage.leader_and_isr(1, said(leader=2))
    expect("errors in the answer", stage.tell(1, said(leader=2)), {})
    stage.becomes(1, "follows", lambda held: held.role is Role.FOLLOWER)


@case("failures")
def requests_without_partitions_are_answered(host: HostUnderTest) -> None:
    """A request without partitions is legal, `full` or not, and is answered."""
    stage = Stage(host)
    for full in (False, True):
        expect("errors in the answer", stage.tell(1, full=full), {})
        stage.inform(1, full=full)
    expect("errors in the answer", stage.stop(1), {})


@case("failures")
def answers_name_only_what_was_asked_for(host: HostUnderTest) -> None:
    """Answers about many partitions, obeyed and ignored, new and known, have only names that the request had."""
    stage = Stage(host)
    many = [TopicPartition("orders", number) for number in range(10)]
    expect("errors in the answer", stage.tell(1, *(said(tp) for tp in many)), {})
    stage.tell(1, *(said(tp, leader_epoch=0) for tp in many[:5]), *(said(tp, leader=2) for tp in many[5:]))
    stage.stop(1, *(deletion(partition=tp.partition) for tp in many[3:]), deletion(partition=99))
    stage.inform(1, *(metadata(partition=tp.partition) for tp in many), full=True)


def _fails(host: HostUnderTest, call: Callable[[], object]) -> None:
    """Check that the call raises, as `fail_next` requested."""
    host.fail_next(1)
    try:
        call()
    except Exception:  # noqa: BLE001 - whatever the host raises
        return
    raise AssertionError(f"{host.name}: expected the next callback to raise, got an answer")
