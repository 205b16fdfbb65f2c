"""Settings and their notifications beside others who write them, and when replies are lost."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import ConfigResource, OpType
from kedge.controller.codec import keys
from kedge.controller.codec.notifications import CHANGES_MAX
from kedge.controller.keys.changes import PILE_MAX, PILED_AFTER_MS, PURGE_AFTER_MS
from kedge.controller.model.events import BrokerConfigRead, ConfigKeyRead
from kedge.controller.model.records import KeyAt
from kedge.controller.runtime.jobs import Job
from kedge.stores.faults import DeliverLater, DropEvent, FailBefore, LoseReply, LoseRequest, Rule
from tests.runtime.configured import BROKER, BROKER_KEY, KEY, RATE, TOPIC, alter, change, changes, described
from tests.runtime.test_notices import Told, told
from tests.runtime.world import Cluster, cluster_of_three


@pytest.mark.parametrize("resource, key, name", [(TOPIC, KEY, "retention.ms"), (BROKER, BROKER_KEY, RATE)])
def test_value_set_by_another_client_meanwhile_is_not_lost(resource: ConfigResource, key: str, name: str) -> None:
    """The commit is a conflict: the key is read, and the change is made to what stands there."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.put(key, {"version": 1, "config": {"other": "1"}})
    cluster.done(alter(cluster, resource, change(name, "5")))
    assert cluster.get(key)["config"] == {"other": "1", name: "5"}
    assert len(changes(cluster)) == 1
    cluster.done(alter(cluster, resource, change(name, "6")))
    assert cluster.get(key)["config"] == {"other": "1", name: "6"}


@pytest.mark.parametrize("resource, key, name", [(TOPIC, KEY, "retention.ms"), (BROKER, BROKER_KEY, RATE)])
def test_a_change_to_what_is_known_is_made_to_what_another_client_wrote_meanwhile(
    resource: ConfigResource, key: str, name: str
) -> None:
    """It would change nothing, so that no commit conflicts: the key is read before the answer."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.put(key, {"version": 1, "config": {"other": "1", name: "5"}})
    deletion = alter(cluster, resource, change(name, op=OpType.DELETE))
    cluster.wait(200)
    cluster.done(deletion)
    assert cluster.get(key)["config"] == {"other": "1"}


def test_a_change_to_what_is_known_waits_for_a_store_that_does_not_answer() -> None:
    """It is neither answered from memory nor lost; others that need no read of configs are decided."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    before = cluster.keys()
    cluster.store.play([Rule(FailBefore(), key=KEY, name="get_columns")])
    same = alter(cluster, TOPIC, change("retention.ms", "5"))
    other = alter(cluster, BROKER, change(RATE, "7"))
    cluster.run()
    assert other.done()
    assert not same.done()
    cluster.store.play([])
    cluster.wait(1_000)
    cluster.done(same)
    assert cluster.keys()[KEY] == before[KEY]


def test_number_that_is_taken_is_passed_over() -> None:
    """The change is published under the next one."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.put(f"{keys.CONFIG_CHANGES}/config_change_0000000000", {"version": 2, "entity_path": "users/me"})
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert changes(cluster) == {0: "users/me", 1: "topics/t"}


@pytest.mark.parametrize("fault", [LoseReply(), LoseRequest(), DeliverLater(), DeliverLater(1), FailBefore()])
def test_a_commit_of_settings_whose_outcome_is_unknown_is_made_once(fault: Any) -> None:
    """Settings and notification are there, once, and the next change goes on."""
    cluster = cluster_of_three()
    cluster.store.play([Rule(fault, "commit", nth=1)])
    futures = [alter(cluster, TOPIC, change("retention.ms", "5")), alter(cluster, BROKER, change(RATE, "7"))]
    cluster.run()
    cluster.wait(300)
    for future in futures:
        cluster.done(future)
    cluster.store.deliver_late()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "6")))
    assert (cluster.get(KEY)["config"], cluster.get(BROKER_KEY)["config"]) == ({"retention.ms": "6"}, {RATE: "7"})
    assert changes(cluster) == {0: "topics/t", 1: "brokers/1", 2: "topics/t"}


def test_settings_written_before_a_lost_reply_was_resolved_are_taken_in() -> None:
    """They came after ours, and hold."""
    cluster = cluster_of_three()

    def meddle(key: str) -> None:
        cluster.put(key, {"version": 1, "config": {"retention.ms": "9"}})

    right = cluster.controller._loop.term.reconcile.kinds.context.current  # type: ignore[union-attr]  # noqa: SLF001

    def read_after(paths: Any) -> Any:
        meddle(KEY)
        return right(paths)

    cluster.controller._loop.term.reconcile.kinds.context.current = read_after  # type: ignore[union-attr,method-assign]  # noqa: SLF001
    cluster.store.play([Rule(LoseReply(), "commit", nth=1), Rule(DropEvent(), "event")])
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert described(cluster)["retention.ms"].value == "9"


@pytest.mark.parametrize(
    "resource, entity, name", [(TOPIC, ("topics", "t"), "retention.ms"), (BROKER, ("brokers", "1"), RATE)]
)
def test_reading_that_waits_while_our_commit_writes_the_key_is_no_news(
    resource: ConfigResource, entity: tuple[str, str], name: str
) -> None:
    """The host never hears the value of before."""
    cluster = Cluster(start=False)
    cluster.host = Told()
    cluster.another(1, cluster.store)
    cluster.join(1, 2)
    cluster.create("t", (1, 2))
    cluster.done(alter(cluster, resource, change(name, "5")))
    told(cluster)
    cluster.store.play([Rule(FailBefore(), "commit")])
    altered = alter(cluster, resource, change(name, "6"))
    cluster.run()
    term = cluster.controller._loop.term  # noqa: SLF001 - a batch that is full leaves a reading there
    assert term is not None
    kind = {"topics": ConfigKeyRead, "brokers": BrokerConfigRead}[entity[0]]
    path = keys.config(*entity)
    at = KeyAt(path, term.state.versions.of(path))
    term.work.read([Job(kind(cluster.clock.now_ms(), entity[1], {name: "5"}, at))])
    cluster.store.play([])
    cluster.wait(200)
    assert altered.exception(0) is None
    assert told(cluster) == [(*entity, {name: "6"})]
    assert described(cluster, resource)[name].value == "6"


def test_the_next_controller_goes_on_with_the_numbers() -> None:
    """Above every one that stands there."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    cluster.controllers.pop().close()
    cluster.put(f"{keys.CONFIG_CHANGES}/config_change_0000000041", {"version": 2, "entity_path": "topics/t"})
    cluster.another(2)
    cluster.run()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "6")))
    assert sorted(changes(cluster)) == [0, 41, 42]


# --- notifications go


def test_notifications_go_after_a_quarter_of_an_hour_but_for_the_newest() -> None:
    """With the next notification of any writer; those that another client removed are no trouble."""
    cluster = cluster_of_three()
    for value in "1234":
        cluster.done(alter(cluster, TOPIC, change("retention.ms", value)))
    cluster.wait(PURGE_AFTER_MS - 60_000, 60_000)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert sorted(changes(cluster)) == [0, 1, 2, 3, 4]
    cluster.wait(60_000, 60_000)
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.delete(f"{keys.CONFIG_CHANGES}/config_change_0000000001")
    cluster.run()
    cluster.store.play([])
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "6")))
    cluster.run()
    assert sorted(changes(cluster)) == [4, 5]
    assert cluster.findings() == {}
    cluster.wait(2 * PURGE_AFTER_MS, 60_000)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "7")))
    cluster.run()
    assert sorted(changes(cluster)) == [6]


def test_newest_notification_stays_however_old_it_is() -> None:
    """The number of the next one is known by it. Nothing was looked at before its time was over."""
    cluster = cluster_of_three()
    for value in "123":
        cluster.done(alter(cluster, TOPIC, change("retention.ms", value)))
    cluster.wait(2 * PURGE_AFTER_MS, 60_000)
    assert sorted(changes(cluster)) == [0, 1, 2]
    cluster.store.force_resync()
    cluster.run()
    assert sorted(changes(cluster)) == [2]


def test_notifications_of_a_former_controller_go_in_their_time() -> None:
    """The next one does not know how old they are, and gives each a quarter of an hour."""
    cluster = cluster_of_three()
    for value in "123":
        cluster.done(alter(cluster, TOPIC, change("retention.ms", value)))
    cluster.wait(PURGE_AFTER_MS - 60_000, 60_000)
    cluster.succeed()
    cluster.wait(120_000, 60_000)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "4")))
    cluster.run()
    assert sorted(changes(cluster)) == [0, 1, 2, 3]
    cluster.wait(PURGE_AFTER_MS, 60_000)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    cluster.run()
    assert sorted(changes(cluster)) == [4]


def test_notifications_that_pile_up_go_after_a_minute_though_no_controller_leads_for_long() -> None:
    """The newest 500 stay until their time is over."""
    cluster = cluster_of_three()
    for number in range(PILE_MAX + 150):
        cluster.put(f"{keys.CONFIG_CHANGES}/config_change_{number:010}", {"version": 2, "entity_path": "topics/t"})
    cluster.succeed()
    cluster.wait(PILED_AFTER_MS - 1_000, 1_000)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert len(changes(cluster)) == PILE_MAX + 151
    cluster.wait(1_000, 1_000)
    for value in "67":
        cluster.done(alter(cluster, TOPIC, change("retention.ms", value)))
        cluster.run()
    assert sorted(changes(cluster)) == list(range(153, PILE_MAX + 153))
    assert cluster.findings() == {}


def test_notifications_that_come_upon_a_pile_stay_below_what_the_check_allows() -> None:
    """As after hours of failovers: the next controller does not know how old they are, and adds its own."""
    cluster = cluster_of_three()
    for number in range(CHANGES_MAX):
        cluster.put(f"{keys.CONFIG_CHANGES}/config_change_{number:010}", {"version": 2, "entity_path": "topics/t"})
    for first in (0, 100):
        cluster.succeed()
        for value in range(first, first + 30):
            cluster.wait(PILED_AFTER_MS // 20 if first == 0 else 0, 1_000)
            cluster.done(alter(cluster, TOPIC, change("retention.ms", str(value + 1))))
            cluster.run()
    assert len(changes(cluster)) <= CHANGES_MAX
