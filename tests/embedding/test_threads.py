"""A started controller: threads of its own, callbacks that cannot break it, futures that are always answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from kedge import (
    AlterReassignmentsOptions,
    BrokerRegistration,
    Controller,
    ElectionType,
    ErrorCode,
    HostResponse,
    LeaderAndIsrRequest,
    NewTopic,
    NotController,
    RequestTimedOut,
    TopicPartition,
    WouldDeadlock,
    WrongMode,
)
from kedge.controller.model.view import ClusterView
from kedge.stores import MemoryStore
from kedge.stores.memory import MemoryServer
from tests.embedding.gate import WAIT_S, Gate
from tests.kit.waiting import until
from tests.runtime.world import Brokers

T0 = TopicPartition("t", 0)


def len_of(view: Any) -> int:
    return len(view.brokers)


def kedge_threads(before: Sequence[threading.Thread]) -> list[str]:
    """Names of those that were not there `before`: fixtures of other tests may have a controller that runs."""
    return [t.name for t in threading.enumerate() if t.name.startswith("kedge-") and t not in before]


def _has_state(view: ClusterView) -> bool:
    partition = view.partition("t", 0)
    return partition is not None and partition.has_state


class Started:
    """A server, a host and started controllers."""

    def __init__(self) -> None:
        self.server = MemoryServer()
        self.host = Brokers()
        self.controllers: list[Controller] = []

    def controller(self, node_id: int = 1, store: MemoryStore | None = None, **more: Any) -> Controller:
        controller = Controller(store or MemoryStore(self.server), node_id, more.pop("host", self.host), **more)
        self.controllers.append(controller)
        controller.start()
        return controller

    def with_topic(self, *replicas: int, **more: Any) -> Controller:
        controller = self.controller(**more)
        until(lambda: controller.is_active, "active")
        for broker in range(1, 5):
            controller.register_broker(BrokerRegistration(broker, host=f"h{broker}"))
        until(lambda: len(controller.describe().live_brokers) == 4, "brokers")
        created = controller.admin.create_topics({"t": NewTopic(replica_assignments=[replicas or (1, 2)])})
        created.all().result(WAIT_S)
        until(lambda: controller.query(_has_state).result(WAIT_S), "state")
        return controller


@pytest.fixture
def started() -> Iterator[Started]:
    before = threading.enumerate()
    started = Started()
    yield started
    for controller in started.controllers:
        controller.close()
    until(lambda: not kedge_threads(before), "no thread left")


def test_it_runs_by_itself_and_leaves_no_thread_behind(started: Started) -> None:
    """It leads, calls the host, moves, closes; close may be repeated."""
    before = threading.enumerate()
    controller = started.with_topic()
    answer = controller.admin.alter_partition_reassignments({T0: [3, 4]}).all().result(WAIT_S)
    assert answer[T0].target_replicas == (3, 4)
    until(lambda: any(told.partitions for told in started.host.to(3, LeaderAndIsrRequest)), "told")
    assert "kedge-1-loop" in kedge_threads(before)
    controller.close()
    controller.close()
    assert kedge_threads(before) == []


def test_it_runs_inside_a_block_and_is_closed_at_its_end_whatever_happens() -> None:
    before = set(threading.enumerate())
    controller = Controller(MemoryStore(), 1, Brokers())

    def lead_and_fail() -> None:
        with controller.running() as running:
            assert running is controller
            until(lambda: running.is_active)
            raise KeyError

    with pytest.raises(KeyError):
        lead_and_fail()
    until(lambda: set(threading.enumerate()) <= before)
    with pytest.raises(WrongMode):
        controller.running().__enter__()


def test_callbacks_run_outside_the_loops_thread(started: Started) -> None:
    seen: dict[int, set[str]] = {}

    def answer(request: Any) -> HostResponse:
        seen.setdefault(request.broker_id, set()).add(threading.current_thread().name)
        return HostResponse()

    started.host.answer = answer
    started.with_topic()
    until(lambda: len(seen) == 4, "told")
    assert set().union(*seen.values()) == {"kedge-1-callbacks"}


def test_a_slow_host_holds_up_neither_the_controller_nor_another_broker(started: Started) -> None:
    """The stuck broker gets the latest state when it is back."""
    go, stuck = threading.Event(), threading.Event()

    def answer(request: Any) -> HostResponse:
        if request.broker_id == 1 and stuck.is_set():
            go.wait(WAIT_S)
        return HostResponse()

    started.host.answer = answer
    controller = started.with_topic()
    stuck.set()
    for target in ([3, 4], [4, 3], [3]):
        controller.admin.alter_partition_reassignments({T0: target}).all().result(WAIT_S)
        until(lambda t=target: _told(started.host, 3) == tuple(t), "told")  # type: ignore[misc]
    go.set()
    until(lambda: _told(started.host, 1) == (3,), "the latest state")


def _told(host: Brokers, broker: int) -> tuple[int, ...] | None:
    partitions = [p for r in host.to(broker, LeaderAndIsrRequest) for p in r.partitions]
    return partitions[-1].target_replicas if partitions else None


@pytest.mark.slow
def test_raising_host_is_tried_again_and_affects_no_other(started: Started) -> None:
    failing = threading.Event()

    def answer(request: Any) -> HostResponse:
        if request.broker_id == 3 and failing.is_set():
            raise SystemExit(1)
        return HostResponse()

    started.host.answer = answer
    controller = started.with_topic()
    failing.set()
    controller.admin.alter_partition_reassignments({T0: [3, 4]}).all().result(WAIT_S)
    until(lambda: _told(started.host, 4) == (3, 4), "the others are told")
    until(lambda: "callbacks of broker 3" in controller.describe().findings, "reported")
    failing.clear()
    until(lambda: not controller.describe().findings, "tried again")


def test_waiting_in_a_done_callback_on_the_loop_is_an_error(started: Started) -> None:
    """The thread that would wait is the one that answers."""
    controller = started.with_topic()
    errors: list[BaseException] = []

    def wait(_: Future[Any]) -> None:
        try:
            controller.query(len_of).result(WAIT_S)
        except WouldDeadlock as error:
            errors.append(error)

    controller.query(len_of).add_done_callback(wait)
    until(lambda: errors, "an error")


def test_pending_futures_fail_at_once_when_the_session_is_lost_inside_a_commit(started: Started) -> None:
    """From a thread of the runtime: the loop hangs in the store, and callers that wait are answered all the same."""
    store = Gate(started.server)
    controller = started.with_topic(store=store)
    store.open.clear()
    future = controller.admin.alter_partition_reassignments({T0: [3, 4]})[T0]
    assert store.inside.wait(WAIT_S)
    heard: list[str] = []
    future.add_done_callback(lambda _: heard.append(threading.current_thread().name))
    store.expire()
    error = future.exception(WAIT_S)
    assert isinstance(error, NotController)
    assert heard == ["kedge-1-listen"]
    assert not controller.is_active
    assert isinstance(controller.admin.list_partition_reassignments().exception(0), NotController)
    controller.describe()
    store.open.set()
    until(lambda: controller.is_active and (controller.controller_epoch or 0) > 1, "a new term")
    assert controller.admin.list_partition_reassignments().result(WAIT_S) is not None


@pytest.mark.slow
def test_deadline_ends_a_call_while_the_loop_is_inside_the_store(started: Started) -> None:
    """A caller does not wait for the store with any request; what is not decided by then is not decided any more, and
    the controller leads on."""
    store = Gate(started.server)
    controller = started.with_topic(store=store)
    store.open.clear()
    options = AlterReassignmentsOptions(timeout_s=0.1)
    inside = controller.admin.alter_partition_reassignments({T0: [3, 4]}, options)[T0]
    assert store.inside.wait(WAIT_S)
    late: list[Future[Any]] = [
        controller.admin.create_topics({"never": NewTopic(1, 1)}, timeout_s=0.1)["never"],
        controller.admin.list_topics(timeout_s=0.1),
        controller.admin.elect_leaders(ElectionType.PREFERRED, [T0], timeout_s=0.1),
    ]
    patient = controller.admin.create_topics({"soon": NewTopic(1, 1)})["soon"]
    for future in (inside, *late):
        assert isinstance(future.exception(WAIT_S / 2), RequestTimedOut)
    store.open.set()
    assert patient.result(WAIT_S).assignments
    assert controller.query(lambda view: sorted(view.topic_names())).result(WAIT_S) == ["soon", "t"]
    assert controller.is_active


def test_moves_are_listed_as_committed_while_the_loop_is_inside_the_store(started: Started) -> None:
    """Who asks waits for no commit, and sees none that is not known to be done."""
    store = Gate(started.server)
    controller = started.with_topic(store=store)
    admin = controller.admin
    admin.create_topics({"u": NewTopic(replica_assignments=[(1, 2)])}).all().result(WAIT_S)
    first, second = T0, TopicPartition("u", 0)
    until(lambda: controller.query(lambda view: view.partition("u", 0).isr).result(WAIT_S), "state")  # type: ignore[union-attr]
    admin.alter_partition_reassignments({first: [3, 4]}).all().result(WAIT_S)
    assert admin.list_partition_reassignments().result(0)[first].target_replicas == (3, 4)
    store.open.clear()
    override = admin.alter_partition_reassignments({first: [1, 3], second: [3, 4]}).all()
    assert store.inside.wait(WAIT_S)
    listed = admin.list_partition_reassignments().result(0)
    assert {tp: move.target_replicas for tp, move in listed.items()} == {first: (3, 4)}
    assert listed[first].waiting_on
    assert list(admin.list_partition_reassignments([second, first]).result(0)) == [first]
    assert not admin.list_partition_reassignments(topics=["u"]).result(0)
    store.open.set()
    override.result(WAIT_S)
    listed = admin.list_partition_reassignments().result(0)
    assert {tp: move.target_replicas for tp, move in listed.items()} == {first: (1, 3), second: (3, 4)}
    admin.cancel_partition_reassignments().result(WAIT_S)
    assert not admin.list_partition_reassignments().result(0)


def test_while_a_disk_is_gone_moves_are_listed_by_the_loop(started: Started) -> None:
    """Which replicas are down with a disk that no other may see."""
    controller = started.with_topic()
    failed = HostResponse(errors={T0: ErrorCode.KAFKA_STORAGE_ERROR})
    started.host.answer = lambda told: failed if told.broker_id == 3 else HostResponse()
    controller.admin.alter_partition_reassignments({T0: [3, 4]}).all().result(WAIT_S)

    def waiting() -> dict[int, bool]:
        (move,) = controller.admin.list_partition_reassignments().result(WAIT_S).values()
        return {waiting.broker: waiting.down for waiting in move.waiting_on}

    until(lambda: waiting() == {3: True, 4: False}, "the disk of 3 is gone")


def test_close_hands_over_and_fails_what_waits(started: Started) -> None:
    """The next controller leads without waiting for a session to end; use after close says so."""
    first = started.with_topic()
    second = started.controller(2)
    until(lambda: second.active_id == 1, "a stand-by that knows")
    first.close()
    until(lambda: second.is_active, "the next leads")
    assert not first.is_active
    assert isinstance(first.query(lambda view: view).exception(0), NotController)
    assert isinstance(first.admin.cancel_partition_reassignments().exception(0), NotController)
    assert first.describe().is_active is False
    for call in (first.start, first.poll_once, lambda: first.register_broker(BrokerRegistration(9))):
        with pytest.raises(WrongMode):
            call()
    until(lambda: second.describe().live_brokers == (), "its brokers went with it")


def test_a_controller_is_driven_in_one_way_only(started: Started) -> None:
    controller = started.controller()
    with pytest.raises(WrongMode):
        controller.poll_once()
    with pytest.raises(WrongMode):
        controller.start()
    polled = Controller(MemoryStore(started.server), 2, started.host)
    polled.poll_once()
    with pytest.raises(WrongMode):
        polled.start()
    polled.close()


def test_a_callback_may_close_its_controller(started: Started) -> None:
    closed = threading.Event()
    controller = started.with_topic()

    def answer(_: Any) -> HostResponse:
        controller.close(1.0)
        closed.set()
        return HostResponse()

    started.host.answer = answer
    controller.admin.alter_partition_reassignments({T0: [3, 4]})
    assert closed.wait(WAIT_S)


@pytest.mark.slow
def test_everything_may_be_called_from_many_threads_while_the_lead_changes(started: Started) -> None:
    """Every future is answered: with a result, or with NOT_CONTROLLER or the like."""
    store = Gate(started.server)
    controller = started.with_topic(store=store)
    futures: list[Future[Any]] = []

    def call() -> None:
        for _ in range(100):
            futures.extend(controller.admin.alter_partition_reassignments({T0: [3, 4]}).values())
            futures.append(controller.admin.alter_partition_reassignments({T0: None}).all())
            futures.append(controller.admin.list_partition_reassignments())
            futures.append(controller.admin.cancel_partition_reassignments())
            controller.describe()

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        store.expire()
        until(lambda: controller.is_active, "leads again")
    for thread in threads:
        thread.join(WAIT_S)
    until(lambda: all(future.done() for future in futures), "answered")
    until(lambda: controller.describe().waiting_requests == 0, "nothing kept")
