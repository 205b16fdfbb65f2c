"""Throttles of waves on a server that does not record who set them: what operators do meanwhile is kept, brokers that
are down are reported, and what a broker shows late is not taken for a change of another client."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.errors import Refused
from kedge.controller.cli.kafka.values import Change, Op, Resource, ResourceType, Source, TopicState
from kedge.pipeline.brokers import rates
from kedge.pipeline.brokers.submitting import by_brokers
from kedge.pipeline.errors import Stopped
from kedge.pipeline.submit import Event, Options, Outcome, cancel, set_throttle, submit
from tests.kit.waiting import until
from tests.pipeline_submit.served import LAYOUT, RACKS, exported, replicas, throttles, wanted
from tests.wire.living import Living

pytestmark = pytest.mark.slow

NAME: Final = "orders"
LEADERS, FOLLOWERS = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LED, FOLLOWED = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
TOPIC: Final = Resource(ResourceType.TOPIC, NAME)


@pytest.fixture
def plan(living: Living, tmp_path: Path) -> Path:
    return exported(tmp_path, living.bootstrap, "--throttle", "50MB")


def broker(broker_id: int) -> Resource:
    return Resource(ResourceType.BROKER, str(broker_id))


def put(cluster: Cluster, at: Resource, **settings: str) -> None:
    """An operator sets them."""
    changes = [Change(name.replace("_", "."), Op.SET, value) for name, value in settings.items()]
    assert not cluster.alter_configs({at: changes})


def set_settings(cluster: Cluster, at: Resource) -> set[str]:
    said = cluster.describe_configs([at])[at]
    assert not isinstance(said, Refused)
    return {name for name, setting in said.items() if setting.source is Source.DYNAMIC_BROKER_CONFIG}


def handed(cluster: Cluster, plan: Path, at: Callable[[Event], None] | None = None) -> Outcome:
    options = Options(poll_s=0.1, timeout_s=50)
    return submit(plan, by_brokers(cluster), options if at is None else attrs.evolve(options, tell=at))


class Once:
    """Does it at the first event of a kind."""

    def __init__(self, kind: str, do: Callable[[], object]) -> None:
        self.kind, self.do = kind, do

    def __call__(self, event: Event) -> None:
        if event.kind == self.kind:
            self.kind = ""
            self.do()


def test_what_an_operator_changes_during_a_wave_is_kept(cluster: Cluster, plan: Path) -> None:
    """A rate as the operator left it; of a list, what the operator added; one that names all replicas as it is."""
    put(cluster, broker(2), **{LEADERS: "1000000", FOLLOWERS: "2000000"})
    put(cluster, TOPIC, **{FOLLOWED: "*"})

    def change() -> None:
        assert {LEADERS, FOLLOWERS} <= {name for of in throttles(cluster, RACKS, NAME).values() for name in of}
        put(cluster, broker(2), **{LEADERS: "3000000"})
        assert not cluster.alter_configs({TOPIC: [Change(LED, Op.APPEND, "3:4")]})

    assert handed(cluster, plan, Once("sent", change)).told == ()
    assert throttles(cluster, RACKS, NAME) == {
        broker(2): {LEADERS: "3000000", FOLLOWERS: "2000000"},
        TOPIC: {LED: "3:4", FOLLOWED: "*"},
    }
    assert replicas(cluster, NAME) == wanted(LAYOUT, plan, NAME)


def test_broker_down_at_the_end_is_reported_and_cleared_by_the_next_call(
    living: Living, cluster: Cluster, plan: Path
) -> None:
    """As one that dies while it is drained."""

    def kill() -> None:
        living.cluster.kill_broker(1)
        until(lambda: 1 not in cluster.brokers())

    done = handed(cluster, plan, Once("sent", kill))
    assert done.end == "done"
    assert done.told[0] == "wave 1: brokers that are down keep their throttles until this command runs again: 1"
    with pytest.raises(Stopped, match="brokers that are down keep their throttles until this command runs again: 1"):
        handed(cluster, plan)
    living.cluster.restart_broker(1)
    until(lambda: 1 in cluster.brokers())
    assert set(throttles(cluster, RACKS, NAME)) == {broker(1)}
    assert handed(cluster, plan).told == ()
    assert throttles(cluster, RACKS, NAME) == {}


@pytest.mark.full
def test_a_topic_that_is_deleted_in_a_wave_stops_it_and_a_cancel_removes_its_rates(
    cluster: Cluster, plan: Path
) -> None:
    with pytest.raises(Stopped, match="the partition does not exist"):
        handed(cluster, plan, Once("sent", lambda: cluster.delete_topics([NAME])))
    resources = [broker(each) for each in RACKS]
    keys = {LEADERS, FOLLOWERS}
    assert any(keys & set_settings(cluster, at) for at in resources)
    assert cancel(plan, by_brokers(cluster), Options()).told == ()
    assert not any(keys & set_settings(cluster, at) for at in resources)


class Late(Cluster):
    """Brokers that show topics and settings as they were `looks` looks ago."""

    def __init__(self, cluster: Cluster, looks: int) -> None:
        super().__init__(cluster.client)
        self._looks = looks
        self._seen: list[dict[str, TopicState]] = []
        self._settings: dict[Any, list[Any]] = {}

    def topics(self, names: Collection[str] | None = None) -> dict[str, TopicState]:
        """As they were."""
        self._seen = [*self._seen, super().topics(names)][-self._looks :]
        return self._seen[0]

    def describe_configs(self, resources: Any, **options: Any) -> Any:
        """As they were at the last look."""
        found = super().describe_configs(resources, **options)
        late = {}
        for resource, said in found.items():
            seen = self._settings.setdefault(resource, [])
            seen.append(said)
            late[resource] = seen[max(0, len(seen) - self._looks)]
        return late


def test_brokers_that_hear_late_are_no_change_by_another_client(cluster: Cluster, plan: Path) -> None:
    """Neither where replicas are, nor what was set for the wave before."""
    done = submit(plan, by_brokers(Late(cluster, 2)), Options(poll_s=0.1, timeout_s=50))
    assert (done.end, done.told) == ("done", ())
    assert replicas(cluster, NAME) == wanted(LAYOUT, plan, NAME)
    assert throttles(cluster, RACKS, NAME) == {}


class Small(Cluster):
    """Brokers that refuse to change more than two of these at a time."""

    def alter_configs(self, changes: Any, *, validate_only: bool = False) -> Any:
        """As KRaft does beyond its limit."""
        if len(changes) > 2:
            return {at: Refused(44, "too many") for at in changes}
        return super().alter_configs(changes, validate_only=validate_only)


def test_many_throttles_are_set_and_removed_in_parts(
    cluster: Cluster, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "_AT_ONCE", 2)
    assert handed(Small(cluster.client), plan).told == ()
    assert throttles(cluster, RACKS, NAME) == {}


def test_a_broker_that_came_after_the_connection_is_asked(living: Living) -> None:
    """As one that was restarted while a wave ran."""
    living.cluster.kill_broker(3)
    with connected(Endpoint(living.bootstrap)) as cluster:
        living.cluster.restart_broker(3)
        until(lambda: 3 in cluster.brokers())
        put(cluster, broker(3), **{LEADERS: "1000000"})
        assert LEADERS in set_settings(cluster, broker(3))


def test_rate_that_is_raised_in_a_wave_is_removed_with_it(living: Living, cluster: Cluster, tmp_path: Path) -> None:
    """And the operator's own rate of a broker is set again."""
    put(cluster, broker(2), **{LEADERS: "1000000"})
    plan = exported(tmp_path, living.bootstrap, "--throttle", "30000")
    raised: list[str] = []

    def tell(event: Event) -> None:
        if event.kind == "sent" and event.wave == 1:
            set_throttle(plan, 60_000_000)
        elif event.kind == "note":
            raised.append(event.text)
            until(lambda: {rate for of in throttles(cluster, RACKS).values() for rate in of.values()} == {"60000000"})

    assert handed(cluster, plan, tell).told == ()
    assert len(raised) == 1
    assert throttles(cluster, RACKS, NAME) == {broker(2): {LEADERS: "1000000"}}
