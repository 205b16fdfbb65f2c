"""Brokers whose registration, or admission, cannot be read: presence says alive (rows "registration" and "admission" of
`controller.keys.unreadable`)."""

from __future__ import annotations

import pytest

from controller.codec import broker as broker_codec
from controller.codec import keys
from controller.model.values import BrokerRegistration
from kedge import InvalidRequest
from tests.runtime.guarded import GuardedCluster, Hide, broken, forbidden

KEY = keys.broker(3)
ADMISSION = keys.admitted(3)
UNCLEAN = {"unclean.leader.election.enable": "true"}
either = pytest.mark.parametrize("hide", [broken, forbidden])


def led_by_3(**configs: str) -> GuardedCluster:
    """t-0 on 3, 1 and 2, all in sync."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.create("t", (3, 1, 2), **configs)
    return cluster


def taken_over(hide: Hide, **configs: str) -> GuardedCluster:
    """The same; a controller took over that cannot read the registration of 3."""
    cluster = led_by_3(**configs)
    hide(cluster, KEY)
    cluster.succeed()
    return cluster


def stands(cluster: GuardedCluster) -> tuple[int, list[int]]:
    return cluster.state()["leader"], cluster.state()["isr"]


@either
def test_a_broker_whose_registration_a_takeover_cannot_read_keeps_what_it_has(hide: Hide) -> None:
    """Its lead, and its place in the isr; a finding says why it is not live."""
    cluster = taken_over(hide)
    cluster.wait(2_000)
    assert stands(cluster) == (3, [3, 1, 2])
    assert "not dead" in cluster.findings()[KEY]
    assert cluster.controller.describe().live_brokers == (1, 2)


@either
def test_a_live_broker_whose_registration_becomes_unreadable_stays_live(hide: Hide) -> None:
    """Under the epoch that is known; another broker's birth has all registrations read."""
    cluster = led_by_3()
    hide(cluster, KEY)
    cluster.join(4)
    assert stands(cluster) == (3, [3, 1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2, 3, 4)
    assert "not dead" in cluster.findings()[KEY]
    cluster.done(cluster.isr((3, 1)))
    assert stands(cluster) == (3, [3, 1])


@either
def test_a_broker_that_cannot_be_called_is_not_elected_and_stays_in_the_isr(hide: Hide) -> None:
    """When its leader dies, and when another follower does."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.create("t", (1, 3, 2), (2, 3, 1))
    hide(cluster, KEY)
    cluster.succeed()
    cluster.leave(1)
    assert stands(cluster) == (2, [3, 2])
    assert (cluster.state("t", 1)["leader"], cluster.state("t", 1)["isr"]) == (2, [2, 3])


@either
def test_nobody_outside_the_isr_is_elected_while_such_a_broker_is_in_it(hide: Hide) -> None:
    """Though unclean election is allowed: it has all records, and is there."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.create("t", (1, 3, 2), **UNCLEAN)
    cluster.done(cluster.isr((1, 3)))
    hide(cluster, KEY)
    cluster.succeed()
    cluster.leave(1)
    assert stands(cluster) == (-1, [1, 3])
    if hide is broken:
        cluster.rewrite(KEY, broker_codec.encode(BrokerRegistration(3), 5, 1))
    cluster.allow(KEY)
    assert stands(cluster) == (3, [3])


@either
def test_its_death_is_worked_off_once_its_name_is_gone(hide: Hide) -> None:
    """Absence can be read."""
    cluster = taken_over(hide)
    cluster.leave(3)
    assert stands(cluster) == (1, [1, 2])
    assert KEY not in cluster.findings()


@either
def test_it_is_live_again_once_its_registration_can_be_read(hide: Hide) -> None:
    """Under the epoch that was admitted it never died: its leader epoch is the same, and it is told all."""
    cluster = taken_over(hide)
    before = cluster.state()
    cluster.host.told.clear()
    if hide is broken:
        cluster.rewrite(KEY, broker_codec.encode(BrokerRegistration(3), 5, 1))
    cluster.allow(KEY)
    assert cluster.state() == before
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    assert any(request.broker_id == 3 for request in cluster.host.told)
    assert cluster.findings() == {}


def test_a_bounce_that_nobody_could_see_is_a_death_before_it_is_a_birth() -> None:
    """Its registration stands under another epoch than the one that was admitted, and could not be read before."""
    cluster = led_by_3()
    cluster.controllers.pop().close()
    cluster.leave(3)
    cluster.join(3)
    cluster.forbid(KEY)
    cluster.succeed()
    assert stands(cluster) == (3, [3, 1, 2])
    cluster.allow(KEY)
    assert stands(cluster) == (1, [1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    assert cluster.get(ADMISSION) == {"broker_epoch": cluster.epoch(3)}


def test_a_broken_registration_under_another_epoch_is_a_death() -> None:
    """The bounce shows, as of any broker; the one that came cannot be called."""
    cluster = led_by_3()
    cluster.leave(3, run=False)
    cluster.join_broken(3)
    assert stands(cluster) == (1, [1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2)
    assert "not dead" in cluster.findings()[KEY]


def test_a_bounce_of_a_live_broker_into_a_forbidden_registration_shows_once_it_can_be_read() -> None:
    """Until then what was known stays in force: it is called under the former epoch, which it refuses."""
    cluster = led_by_3()
    cluster.forbid(KEY)
    cluster.leave(3, run=False)
    cluster.join(3)
    assert stands(cluster) == (3, [3, 1, 2])
    cluster.allow(KEY)
    assert stands(cluster) == (1, [1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2, 3)


@either
def test_a_broker_that_is_registered_unreadably_is_not_forgotten(hide: Hide) -> None:
    """It is there."""
    cluster = GuardedCluster(1, 2, 3)
    hide(cluster, KEY)
    cluster.succeed()
    assert isinstance(cluster.error(cluster.controller.admin.forget_broker(3)), InvalidRequest)


@either
def test_who_shuts_down_leaves_such_a_broker_in_the_isr(hide: Hide) -> None:
    """And its lead goes to one that can be called."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.create("t", (1, 3, 2))
    hide(cluster, KEY)
    cluster.succeed()
    cluster.done(cluster.controller.controlled_shutdown(1, cluster.epoch(1)))
    assert stands(cluster) == (2, [3, 2])


# --- admissions


def test_a_broker_whose_admission_may_not_be_read_is_live() -> None:
    """It was admitted as it is registered: nobody is elected away from it, and its key is left alone."""
    cluster = led_by_3()
    cluster.forbid(ADMISSION)
    cluster.succeed()
    before = cluster.value(ADMISSION)
    cluster.wait(5_000, 500)
    assert stands(cluster) == (3, [3, 1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    assert ADMISSION in cluster.findings()
    assert cluster.value(ADMISSION) == before


def test_such_a_broker_can_die_and_come_again_and_its_admission_is_written_once_it_can_be() -> None:
    """Nothing waits for the key meanwhile."""
    cluster = led_by_3()
    cluster.forbid(ADMISSION)
    cluster.succeed()
    cluster.leave(3)
    assert stands(cluster) == (1, [1, 2])
    cluster.join(3)
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    assert cluster.get(ADMISSION) != {"broker_epoch": cluster.epoch(3)}
    cluster.allow(ADMISSION)
    assert cluster.get(ADMISSION) == {"broker_epoch": cluster.epoch(3)}
    assert cluster.findings() == {}


def test_an_admission_that_becomes_unreadable_is_no_obstacle_to_a_birth() -> None:
    """Somebody wrote it and forbade it: the version that is known is not the one at which it stands."""
    cluster = led_by_3()
    cluster.rewrite(ADMISSION, b'{"broker_epoch":1}')
    cluster.forbid(ADMISSION)
    cluster.leave(3)
    cluster.join(3)
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    cluster.leave(3)
    cluster.allow(ADMISSION)
    cluster.join(3)
    assert cluster.get(ADMISSION) == {"broker_epoch": cluster.epoch(3)}


def test_a_look_after_a_conflict_keeps_what_is_wrong_with_registrations() -> None:
    """It reads all registrations, as the look at a hint does, and says the same of them."""
    cluster = GuardedCluster(1, 2)
    cluster.join_broken(7, run=False)
    term = cluster.controller._loop.term  # noqa: SLF001 - before any hint of it is taken in
    assert term is not None
    term.reconcile.registrations.reread([7], 0)
    assert keys.broker(7) in term.reconcile.findings.as_dict()
