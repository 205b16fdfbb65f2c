"""The suite for hosts, held against the rig's own brokers, which pass it, and against broken ones, which do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.rig import Broker
from kedge.controller.rig.host_suite import CASES, GROUPS, Ability, Case, HostUnderTest, SimulatedBrokers, check
from tests.rig import broken_hosts as broken
from tests.rig import careless_hosts as careless
from tests.rig.late_host import ObeysLater

DUTIES = Path(__file__).resolve().parents[2] / "docs" / "embedding.md"
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_brokers_of_the_rig_pass(case: Case) -> None:
    """Every case holds; none is left out."""
    host = SimulatedBrokers()
    assert not case.lacks(host)
    case.run(host)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make,left_out",
    [
        (lambda: SimulatedBrokers(is_strict=False), {"strict": 1}),
        (lambda: SimulatedBrokers(leader_and_isr_version=2), {"targets": 9}),
    ],
    ids=["knows its disks", "version 2"],
)
def test_what_a_host_opts_out_of_is_counted(make: Callable[[], HostUnderTest], left_out: dict[str, int]) -> None:
    """The rig's brokers as they are by default, which trust their disks, and those that know no targets."""
    report = check(make)
    assert report.failed == {}
    needed = [need for needs in report.left_out.values() for need in needs]
    assert {name: needed.count(name) for name in needed} == left_out
    assert len(report.passed) + len(report.left_out) == len(CASES)
    assert str(report).endswith(f"{len(report.passed)} passed, 0 failed, {len(report.left_out)} left out")


class _TellsLittle(SimulatedBrokers):
    """Declares nothing that is optional."""

    def __init__(self) -> None:
        super().__init__()
        self.abilities = frozenset({Ability.TARGETS})


def test_a_host_that_declares_nothing_optional_is_driven_through_moves_all_the_same() -> None:
    """The suite asks for isr changes in the place of its leaders."""
    report = check(_TellsLittle)
    assert report.failed == {}
    assert {case.name for case in CASES if case.needs <= {Ability.TARGETS}} == set(report.passed)
    assert "loop.a_move_goes_on_under_another_controller" in report.passed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_host_that_obeys_later_than_it_answers_passes(case: Case) -> None:
    """The suite waits for what is to happen, and looks for what must not happen only when all is quiet."""
    case.run(ObeysLater())


BROKEN: list[tuple[type[Broker | SimulatedBrokers], str]] = [
    (broken.IgnoresControllerEpoch, "fences.an_older_controller_epoch_is_refused_with_11"),
    (broken.IgnoresBrokerEpoch, "fences.an_older_broker_epoch_is_refused_with_77"),
    (broken.IgnoresBrokerEpoch, "fences.a_newer_broker_epoch_is_its_own"),
    (broken.ForgetsControllerEpochOfMetadata, "fences.a_newer_controller_epoch_fences_the_former"),
    (broken.IgnoresLeaderEpoch, "fences.an_older_leader_epoch_changes_nothing"),
    (broken.IgnoresLeaderEpoch, "disorder.any_order_of_leader_epochs_ends_alike"),
    (broken.IgnoresPartitionEpoch, "fences.an_older_partition_epoch_brings_back_no_older_isr"),
    (broken.IgnoresTopicId, "fences.a_deletion_of_another_topic_id_spares_this_one"),
    (broken.DeletesOnFull, "logs.full_stops_what_it_does_not_name_and_deletes_nothing"),
    (broken.ServesOnAfterFull, "logs.full_stops_what_it_does_not_name_and_deletes_nothing"),
    (broken.BeginsEmptyLogs, "logs.without_a_log_is_new_false_is_answered_with_56"),
    (broken.BeginsEmptyLogs, "logs.a_replaced_disk_takes_a_new_replica_and_pretends_no_old_one"),
    (broken.AcknowledgesAtOnce, "logs.a_deletion_is_done_when_it_is_acknowledged"),
    (broken.ObeysLateDeletions, "disorder.a_late_deletion_spares_a_replica_that_came_back"),
    (broken.ForgetsDeletions, "disorder.a_late_leader_and_isr_brings_no_deleted_replica_back"),
    (broken.ForgetsDeletions, "disorder.a_deletion_that_overtook_what_it_deletes_counts"),
    (broken.RefusesToDeleteTwice, "logs.what_is_gone_is_acknowledged_again"),
    (broken.StartsOverWhenSentAgain, "disorder.repeated_requests_keep_the_records"),
    (broken.KeepsLeading, "roles.a_follower_becomes_leader_and_a_leader_follower"),
    (broken.KeepsLeading, "roles.without_a_leader_nobody_leads"),
    (broken.IgnoresTargets, "roles.a_target_follows_though_it_is_no_replica"),
    (broken.IgnoresTargets, "isr.a_target_that_caught_up_is_asked_for"),
    (broken.KeepsTargets, "isr.without_targets_nobody_else_is_asked_for"),
    (broken.KeepsTargets, "isr.a_controller_that_names_no_targets_ends_them"),
    (broken.HidesLostDisks, "logs.a_lost_disk_is_answered_with_56"),
    (broken.AnswersForOthers, "failures.answers_name_only_what_was_asked_for"),
    (broken.AnswersNothing, "failures.requests_without_partitions_are_answered"),
    (broken.KeepsOldMetadata, "roles.metadata_is_known_and_full_metadata_forgets"),
    (careless.WritesReadOnly, "roles.a_read_only_partition_takes_no_records"),
    (careless.ServesOffline, "roles.an_offline_partition_is_not_served"),
    (careless.Acknowledges, "isr.a_record_waits_for_every_replica_that_may_be_in_the_isr"),
    (careless.ForgetsItsCall, "isr.a_record_waits_for_every_replica_that_may_be_in_the_isr"),
    (broken.AsksUnderAnOldEpoch, "isr.a_leader_asks_with_the_epochs_that_it_was_told"),
    (broken.GoesOnAfterFencing, "isr.after_74_it_asks_no_more_until_it_is_told"),
    (broken.IsDeadAfterAnError, "failures.what_raised_goes_well_when_it_comes_again"),
]


def host_of(kind: type[Broker | SimulatedBrokers]) -> SimulatedBrokers:
    return SimulatedBrokers(kind) if issubclass(kind, Broker) else kind()


@pytest.mark.parametrize("kind,name", BROKEN, ids=[f"{kind.__name__}-{name}" for kind, name in BROKEN])
def test_a_broken_host_is_caught_by_the_case_that_is_for_it(kind: type[Broker | SimulatedBrokers], name: str) -> None:
    """Not by chance: the report has the sentence of the case, and below it an exception of the host, or what was
    expected and what the host did."""
    case = BY_NAME[name]
    report = check(lambda: host_of(kind), [case])
    sentence, _, values = report.failed[name].partition("\n  ")
    assert sentence == case.sentence
    assert re.search("expected .+, got .+|ConnectionError: ", values, re.DOTALL), values
    assert f"FAILED {name}: {report.failed[name]}" in str(report)


def test_a_failure_names_the_rule_and_both_values() -> None:
    """Word for word, as the author of a host reads it."""
    name = "fences.an_older_controller_epoch_is_refused_with_11"
    report = check(lambda: SimulatedBrokers(broken.IgnoresControllerEpoch), [BY_NAME[name]])
    assert report.failed[name] == (
        "A request of a deposed controller is answered with STALE_CONTROLLER_EPOCH and changes nothing.\n"
        "  the error of LeaderAndIsr with {'controller_epoch': 6, 'controller_id': 102}: "
        "expected <ErrorCode.STALE_CONTROLLER_EPOCH: 11>, got <ErrorCode.NONE: 0>"
    )


def test_what_a_host_raises_is_reported_under_the_rule() -> None:
    """With its own type, which a traceback keeps as well."""
    case = BY_NAME["logs.is_new_begins_a_log"]
    report = check(lambda: SimulatedBrokers(broken.Raises), [case])
    assert report.failed == {case.name: f"{case.sentence}\n  KeyError: 'orders'"}
    with pytest.raises(KeyError) as caught:
        case.run(SimulatedBrokers(broken.Raises))
    assert caught.value.__notes__ == [case.sentence]


@pytest.mark.slow
def test_a_broken_broker_fails_no_case_that_has_nothing_to_do_with_it() -> None:
    """What a report says points at what is wrong."""
    failed = set(check(lambda: SimulatedBrokers(broken.IgnoresControllerEpoch)).failed)
    assert failed == {
        "fences.an_older_controller_epoch_is_refused_with_11",
        "fences.a_newer_controller_epoch_fences_the_former",
        "loop.what_a_former_controller_sent_changes_nothing",
    }


def test_every_case_says_what_it_holds() -> None:
    """The docstring of every case is one sentence, and names are unique, so that a report of them reads as a list."""
    assert {case.group for case in CASES} == set(GROUPS)
    assert len(BY_NAME) == len(CASES)
    for case in CASES:
        sentence = case.check.__doc__
        assert sentence is not None, case.name
        assert sentence.rstrip().endswith("."), case.name
        assert ". " not in sentence, case.name


def test_the_page_of_duties_names_cases_that_there_are() -> None:
    """And every group of them."""
    named = re.findall(rf"`((?:{'|'.join(GROUPS)})\.[a-z0-9_]*\*?)`", DUTIES.read_text())
    assert {name.split(".")[0] for name in named} == set(GROUPS)
    for pattern in named:
        assert any(fnmatch(name, pattern) for name in BY_NAME), pattern


@pytest.mark.parametrize(
    "make, error",
    [
        (5, TypeError),
        (lambda: "host", TypeError),
        (lambda: _with(abilities=frozenset({"targets"})), TypeError),
        (lambda: _with(quiet_ms=-1), ValueError),
        (lambda: _with(wait_ms=0), ValueError),
    ],
)
def test_a_host_that_cannot_be_understood_is_refused_before_the_first_case(make: Any, error: type) -> None:
    """A misspelt ability would leave cases out in silence."""
    with pytest.raises(error):
        check(make)


def _with(**wrong: Any) -> HostUnderTest:
    host = SimulatedBrokers()
    for name, value in wrong.items():
        setattr(host, name, value)
    return host
