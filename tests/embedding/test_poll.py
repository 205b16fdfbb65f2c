"""`poll_once`: the same loop on the caller's thread, callbacks included."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from kedge import (
    AlterReassignmentsOptions,
    BrokerRegistration,
    ErrorCode,
    Hooks,
    HostResponse,
    NewTopic,
    NotController,
    TopicPartition,
    WouldDeadlock,
    WrongMode,
)
from tests.runtime.world import Cluster, cluster_of_three

T0 = TopicPartition("t", 0)


def test_callbacks_run_on_the_callers_thread_and_no_other_is_made() -> None:
    """A host that has no thread to give."""
    before = set(threading.enumerate())
    seen: set[str] = set()

    def answer(_: Any) -> HostResponse:
        seen.add(threading.current_thread().name)
        return HostResponse()

    cluster = Cluster()
    cluster.host.answer = answer
    cluster.join(1, 2, 3)
    cluster.create()
    assert seen == {threading.current_thread().name}
    assert set(threading.enumerate()) <= before


def test_a_callback_that_waits_for_a_future_gets_an_error() -> None:
    """Of one request or of all of a call: it would wait for itself."""
    cluster = cluster_of_three()
    errors: list[BaseException] = []

    def answer(_: Any) -> HostResponse:
        admin = cluster.controller.admin
        for future in (
            admin.list_partition_reassignments(),
            admin.alter_partition_reassignments({T0: [4, 5, 6]}).all(),
            admin.cancel_partition_reassignments(),
        ):
            with pytest.raises(WouldDeadlock) as raised:
                future.result(10)
            errors.append(raised.value)
        return HostResponse()

    cluster.host.answer = answer
    cluster.controller.admin.alter_partition_reassignments({T0: [4, 5, 6]})
    cluster.controller.poll_once()
    assert errors
    cluster.host.answer = lambda _: HostResponse()
    cluster.run()


def test_a_callback_may_not_poll_and_may_close() -> None:
    cluster = cluster_of_three()

    def answer(_: Any) -> HostResponse:
        with pytest.raises(WrongMode):
            cluster.controller.poll_once()
        cluster.controller.close()
        return HostResponse()

    cluster.host.answer = answer
    cluster.move([4, 5, 6])
    cluster.controller.poll_once()
    assert not cluster.controller.is_active
    with pytest.raises(WrongMode):
        cluster.controller.poll_once()


def test_poll_once_waits_where_there_is_nothing_to_do_and_is_woken_by_a_request() -> None:
    cluster = cluster_of_three()
    timer = threading.Timer(0.01, lambda: cluster.move([4, 5, 6]))
    timer.start()
    assert cluster.controller.poll_once(10.0)
    timer.join()
    cluster.run()
    assert cluster.state()["targetReplicas"] == [4, 5, 6]


@pytest.mark.checklist(84)
def test_all_is_done_when_all_are_with_every_value_or_the_first_error() -> None:
    """In the order of the request; of none at once; a cancelled one counts as an error."""
    cluster = cluster_of_three()
    admin = cluster.controller.admin
    other = TopicPartition("no", 0)
    mixed = admin.alter_partition_reassignments({T0: [4, 5, 6], other: [1]})
    error = cluster.error(mixed.all())
    assert getattr(error, "code", None) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.done(mixed[T0]).target_replicas == (4, 5, 6)
    assert cluster.done(admin.alter_partition_reassignments({}).all()) == {}
    result = admin.alter_partition_reassignments({T0: None})
    whole = result.all()
    result[T0].cancel()
    assert isinstance(cluster.error(whole), CancelledError)


def test_a_policy_says_no_with_its_message() -> None:
    cluster = cluster_of_three(
        hooks=Hooks(
            alter_policy=lambda _, target: "not there" if 6 in target else None,
            create_policy=lambda name, _: None if name.startswith("ok") or name == "t" else f"no {name}",
        )
    )
    error = cluster.error(cluster.move([4, 5, 6]))
    assert (getattr(error, "code", None), str(error)) == (ErrorCode.POLICY_VIOLATION, "not there")
    cluster.done(cluster.move([4, 5]))
    cluster.done(cluster.move(None))
    error = cluster.error(cluster.controller.admin.create_topics({"x": NewTopic(1, 1)})["x"])
    assert (getattr(error, "code", None), str(error)) == (ErrorCode.POLICY_VIOLATION, "no x")


@pytest.mark.checklist(95)
def test_a_request_that_was_not_committed_in_time_is_answered_with_7() -> None:
    """The default is a minute; the clock is the one that never goes back."""
    cluster = cluster_of_three()
    options = AlterReassignmentsOptions(timeout_s=0.5)
    future = cluster.controller.admin.alter_partition_reassignments({T0: [4, 5, 6]}, options)[T0]
    listing = cluster.controller.admin.list_partition_reassignments(timeout_s=0.5)
    cluster.clock.advance(501)
    assert getattr(cluster.error(future), "code", None) == ErrorCode.REQUEST_TIMED_OUT
    assert getattr(cluster.error(listing), "code", None) == ErrorCode.REQUEST_TIMED_OUT
    assert "targetReplicas" not in cluster.state()
    assert AlterReassignmentsOptions().timeout_s == 60


def test_a_controller_can_be_used_in_a_with_statement() -> None:
    cluster = Cluster(start=False)
    with cluster.another(1) as controller:
        controller.poll_once()
        assert controller.is_active
    assert isinstance(controller.query(lambda view: view).exception(0), NotController)


def test_error_of_a_query_is_raised_to_its_caller() -> None:
    cluster = cluster_of_three()
    assert isinstance(cluster.error(cluster.controller.query(lambda view: view.controller_id // 0)), ZeroDivisionError)
    assert cluster.done(cluster.controller.query(lambda view: view.controller_id)) == 1


def test_polling_caller_learns_that_waiting_would_never_end() -> None:
    """No other thread drives it; asking without waiting is allowed, and another thread may wait."""
    cluster = cluster_of_three()
    future = cluster.controller.admin.create_topics({"w": NewTopic(1, 1)})["w"]
    with pytest.raises(WouldDeadlock, match="poll_once"):
        future.result(5)
    with pytest.raises(TimeoutError):
        future.result(0)
    cluster.run()
    assert future.result(5).name == "w"


def test_a_controller_that_only_stands_by_never_leads() -> None:
    """Its brokers are admitted by the active one, and there is no controller once that is gone."""
    cluster = Cluster(stand_by_only=True)
    broker = cluster.controller
    broker.register_broker(BrokerRegistration(7))
    cluster.wait(30_000)
    assert (broker.is_active, broker.active_id, broker.describe().live_brokers) == (False, None, ())
    leads = cluster.another(2, stand_by_only=False)
    cluster.wait(5_000)
    assert (leads.is_active, broker.active_id, leads.describe().live_brokers) == (True, 2, (7,))
    leads.close()
    cluster.controllers.remove(leads)
    cluster.wait(30_000)
    assert (broker.is_active, broker.active_id) == (False, None)
