"""Brokers whose registration cannot be read: presence says alive (row "registration" of
`docs/unreadable-keys.md`)."""

from __future__ import annotations

from kedge.controller.codec import broker as broker_codec
from kedge.controller.codec import keys
from kedge.controller.model.values import BrokerRegistration
from tests.runtime.guarded import GuardedCluster, broken

KEY = keys.broker(3)
UNCLEAN = {"unclean.leader.election.enable": "true"}


def led_by_3(**configs: str) -> GuardedCluster:
    """t-0 on 3, 1 and 2, all in sync."""
    cluster = GuardedCluster(1, 2, 3)
    cluster.create("t", (3, 1, 2), **configs)
    return cluster


def taken_over(**configs: str) -> GuardedCluster:
    """The same; a controller took over that cannot read the registration of 3."""
    cluster = led_by_3(**configs)
    broken(cluster, KEY)
    cluster.succeed()
    return cluster


def stands(cluster: GuardedCluster) -> tuple[int, list[int]]:
    return cluster.state()["leader"], cluster.state()["isr"]


def test_a_broker_whose_registration_a_takeover_cannot_read_keeps_what_it_has() -> None:
    """Its lead, and its place in the isr; a finding says why it is not live."""
    cluster = taken_over()
    cluster.wait(2_000)
    assert stands(cluster) == (3, [3, 1, 2])
    assert "its broker is not dead" in cluster.findings()[KEY]
    assert cluster.controller.describe().live_brokers == (1, 2)


def test_a_live_broker_whose_registration_becomes_unreadable_stays_live() -> None:
    """Under the epoch that is known; another broker's birth has all registrations read."""
    cluster = led_by_3()
    broken(cluster, KEY)
    cluster.join(4)
    assert stands(cluster) == (3, [3, 1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2, 3, 4)
    assert "its broker is not dead" in cluster.findings()[KEY]
    cluster.done(cluster.isr((3, 1)))
    assert stands(cluster) == (3, [3, 1])


def test_its_death_is_worked_off_once_its_name_is_gone() -> None:
    """Absence can be read."""
    cluster = taken_over()
    cluster.leave(3)
    assert stands(cluster) == (1, [1, 2])
    assert KEY not in cluster.findings()


def test_it_is_live_again_once_its_registration_can_be_read() -> None:
    """Under the epoch that was admitted it never died: its leader epoch is the same, and it gets all."""
    cluster = taken_over()
    before = cluster.state()
    cluster.host.told.clear()
    cluster.rewrite(KEY, broker_codec.encode(BrokerRegistration(3), 5, 1))
    cluster.wait(6_000, 500)
    assert cluster.state() == before
    assert cluster.controller.describe().live_brokers == (1, 2, 3)
    assert any(request.broker_id == 3 for request in cluster.host.told)
    assert cluster.findings() == {}


def test_a_broken_registration_under_another_epoch_is_a_death() -> None:
    """The bounce shows, as of any broker; the one that came cannot be called."""
    cluster = led_by_3()
    cluster.leave(3, run=False)
    cluster.join_broken(3)
    assert stands(cluster) == (1, [1, 2])
    assert cluster.controller.describe().live_brokers == (1, 2)
    assert "its broker is not dead" in cluster.findings()[KEY]
