"""Registrations and configs that cannot be read: who is registered is alive, and nothing is allowed."""

from __future__ import annotations

import pytest

from kedge import BrokerRegistration, Settings
from kedge.controller.codec import broker as broker_codec
from kedge.controller.codec import keys
from tests.runtime.guarded import GuardedCluster, broken

KEY = keys.broker(3)


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


UNCLEAN = "unclean.leader.election.enable"
CONFIG = keys.topic_config("t")


def said(allowed: str) -> bytes:
    return b'{"version":1,"config":{"%s":"%s"}}' % (UNCLEAN.encode(), allowed.encode())


def begun(defaults: str | None, own: str | None, settings: Settings | None = None) -> GuardedCluster:
    """t-0 on 1 and 2, with 1 alone in its isr."""
    cluster = GuardedCluster(1, 2, settings=settings)
    if defaults is not None:
        cluster.rewrite(keys.BROKER_DEFAULTS, said(defaults))
        cluster.run()
    cluster.create("t", (1, 2), **({} if own is None else {UNCLEAN: own}))
    cluster.leave(2)
    assert cluster.state()["isr"] == [1]
    return cluster


def last_one_dies(cluster: GuardedCluster) -> tuple[int, list[int]]:
    """Who leads, and who is in sync, once just 2 is alive, which may lack records."""
    cluster.leave(1)
    cluster.join(2)
    return cluster.state()["leader"], cluster.state()["isr"]


@pytest.mark.parametrize("is_taken_over", [True, False], ids=["at takeover", "meanwhile"])
@pytest.mark.parametrize(
    "key, defaults, own, settings",
    [
        (CONFIG, "true", "false", None),
        (CONFIG, None, "true", None),
        (keys.BROKER_DEFAULTS, "false", None, Settings(unclean_leader_election_enable=True)),
        (keys.BROKER_DEFAULTS, "true", None, None),
    ],
    ids=["own, forbidden", "own, allowed", "defaults, forbidden", "defaults, allowed"],
)
def test_configs_that_cannot_be_read_allow_no_unclean_election(
    key: str, defaults: str | None, own: str | None, settings: Settings | None, is_taken_over: bool
) -> None:
    """Whatever was known of them, and whatever else allows it; once they can be read again, they are in force."""
    cluster = begun(defaults, own, settings)
    broken(cluster, key)
    if is_taken_over:
        cluster.succeed()
        assert "unclean election" in cluster.findings()[key]
    cluster.run()
    assert last_one_dies(cluster) == (-1, [1])
    cluster.rewrite(key, said("true"))
    cluster.wait(6_000, 500)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (2, [2])
    assert cluster.findings() == {}


def test_a_topic_that_allows_it_itself_needs_no_defaults() -> None:
    """Its own word comes first, also where theirs cannot be read."""
    cluster = begun("false", "true")
    broken(cluster, keys.BROKER_DEFAULTS)
    cluster.succeed()
    assert last_one_dies(cluster) == (2, [2])
