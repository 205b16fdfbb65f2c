"""The API for asyncio over real controllers: awaited answers, coroutines as callbacks, a loop that never waits."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from typing import Any, TypeVar

import attrs
import pytest

from kedge import (
    Admin,
    BrokerRegistration,
    ConfigResource,
    ConfigResourceType,
    Controller,
    HostResponse,
    InvalidReplicaAssignment,
    LeaderAndIsrRequest,
    MemoryServer,
    MemoryStore,
    NewTopic,
    NotController,
    StopReplicaRequest,
    TopicAlreadyExists,
    TopicPartition,
    UpdateMetadataRequest,
    WouldDeadlock,
)
from kedge.controller.aio import AsyncAdmin, AsyncController, HostOnLoop
from tests.embedding.gate import WAIT_S, Gate

T = TypeVar("T")
T0 = TopicPartition("t", 0)
_PAUSE = threading.Event()


def run(what: Coroutine[Any, Any, T]) -> T:
    """In a loop of its own, with a deadline."""
    return asyncio.run(asyncio.wait_for(what, 3 * WAIT_S))


async def until(true: Callable[[], object], what: str) -> None:
    """Look, while the loop goes on, with a deadline."""
    deadline_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline_s, f"never: {what}"
        await asyncio.to_thread(_PAUSE.wait, 0.002)


@attrs.define(eq=False)
class Brokers:
    """Coroutines that note who called them, and await what a test puts in between."""

    meanwhile: Callable[[Any], Awaitable[object]] | None = None
    told: list[tuple[int, str]] = attrs.field(factory=list)
    threads: set[int] = attrs.field(factory=set)
    inside: dict[int, int] = attrs.field(factory=dict)
    inside_max: int = 0

    async def _take(self, request: Any) -> HostResponse:
        broker = request.broker_id
        self.threads.add(threading.get_ident())
        self.inside[broker] = self.inside.get(broker, 0) + 1
        self.inside_max = max(self.inside_max, self.inside[broker])
        try:
            await asyncio.sleep(0)
            if self.meanwhile is not None:
                await self.meanwhile(request)
        finally:
            self.inside[broker] -= 1
        self.told.append((broker, type(request).__name__))
        return HostResponse()

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return await self._take(request)

    async def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return await self._take(request)

    async def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return await self._take(request)


@asynccontextmanager
async def cluster(
    host: Brokers | None = None, store: MemoryStore | None = None
) -> AsyncIterator[tuple[AsyncController, Brokers]]:
    """Four brokers and a topic of one partition, on 1 and 2."""
    host = host or Brokers()
    controller = AsyncController(Controller(store or MemoryStore(), node_id=1, host=HostOnLoop(host)))
    async with controller.running():
        await until(lambda: controller.sync.is_active, "active")
        for broker in range(1, 5):
            await controller.register_broker(BrokerRegistration(broker))
        await until(lambda: len(controller.sync.describe().live_brokers) == 4, "brokers")
        await controller.admin.create_topics({"t": NewTopic(replica_assignments=[[1, 2]])})
        yield controller, host


async def meet(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_S)


def test_answers_are_awaited_all_at_once_or_each_by_itself() -> None:
    async def ask() -> None:
        async with cluster() as (controller, _):
            admin = controller.admin
            assert list(await admin.list_topics()) == ["t"]
            created = admin.create_topics({"t": NewTopic(), "u": NewTopic()})
            assert (list(created), len(created), "u" in created, "v" in created) == (["t", "u"], 2, True, False)
            assert (await created["u"]).name == "u"
            with pytest.raises(TopicAlreadyExists):
                await created["t"]
            with pytest.raises(TopicAlreadyExists):
                await created
            assert (await admin.alter_partition_reassignments({T0: [3, 4]}))[T0].target_replicas == (3, 4)
            assert list(await admin.list_partition_reassignments()) == [T0]
            assert await admin.create_topics({}) == {}
            assert await controller.query(lambda view: len(view.brokers)) == 4
            answers = admin.alter_partition_reassignments({T0: [99], TopicPartition("u", 0): [1]})
            bad, good = await asyncio.gather(*answers.values(), return_exceptions=True)
            assert isinstance(bad, InvalidReplicaAssignment)
            assert not isinstance(good, BaseException)
        with pytest.raises(NotController):
            await admin.list_topics()

    run(ask())


def _answers_later(method: object) -> bool:
    said = str(inspect.signature(method).return_annotation)  # type: ignore[arg-type]
    return said.startswith(("Future[", "Results["))


@pytest.mark.parametrize("sync,awaited", [(Admin, AsyncAdmin), (Controller, AsyncController)])
def test_every_method_that_gives_a_future_can_be_awaited(sync: type[Any], awaited: type[Any]) -> None:
    names = [name for name, method in inspect.getmembers(sync, inspect.isfunction) if name[0] != "_"]
    later = [name for name in names if _answers_later(getattr(sync, name))]
    assert later
    assert [name for name in later if getattr(awaited, name).__wrapped__ is not getattr(sync, name)] == []


def test_callbacks_are_coroutines_on_the_loop_of_the_host() -> None:
    """One at a time per broker, in the order of the host protocol; what a broker waits for holds up no other."""

    async def ask() -> None:
        held, before = asyncio.Event(), []

        async def hold(request: Any) -> None:
            if request.broker_id == 1 and isinstance(request, LeaderAndIsrRequest):
                before.append(kinds_told(1))
                await meet(held)

        def kinds_told(broker: int) -> list[str]:
            return [kind for one, kind in host.told if one == broker]

        async with cluster() as (controller, host):
            await until(lambda: "LeaderAndIsrRequest" in kinds_told(2), "told of the topic")
            host.told.clear()
            host.meanwhile = hold
            await controller.admin.alter_partition_reassignments({T0: [3, 4]})
            await until(lambda: before, "a callback of broker 1")
            await until(lambda: "LeaderAndIsrRequest" in kinds_told(3), "told of the move")
            assert kinds_told(1) == before[0]
            held.set()
            await until(lambda: "UpdateMetadataRequest" in kinds_told(1)[len(before[0]) :], "told of the move")
            assert kinds_told(1)[len(before[0])] == "LeaderAndIsrRequest"
            assert (host.threads, host.inside_max) == ({threading.get_ident()}, 1)

    run(ask())


@pytest.mark.slow
def test_a_coroutine_that_raises_is_not_delivered_and_called_again() -> None:
    async def ask() -> None:
        failed = asyncio.Event()

        async def fail(request: Any) -> None:
            if request.broker_id == 3 and not failed.is_set():
                failed.set()
                raise OSError("no way there")

        async with cluster() as (controller, host):
            host.meanwhile = fail
            await controller.admin.alter_partition_reassignments({T0: [3, 4]})
            await meet(failed)
            await until(lambda: (3, "LeaderAndIsrRequest") in host.told, "called again")

    run(ask())


def test_notices_may_be_coroutines_or_functions() -> None:
    class Noticing(Brokers):
        def __init__(self) -> None:
            super().__init__()
            self.heard: list[object] = []

        async def config_changed(self, kind: str, name: str, configs: object) -> None:
            await asyncio.sleep(0)
            self.heard.append((kind, name, configs))

        def controller_changed(self, controller_id: int, epoch: int) -> None:
            self.heard.append((controller_id, epoch))

    async def ask() -> None:
        async with cluster(host := Noticing()) as (controller, _):
            assert not hasattr(HostOnLoop(host), "partition_purged")
            await controller.admin.alter_configs({ConfigResource(ConfigResourceType.TOPIC, "t"): {"retention.ms": "5"}})
            await until(lambda: ("topics", "t", {"retention.ms": "5"}) in host.heard, "told of the settings")
            assert (1, 1) in host.heard

    run(ask())


def test_a_request_whose_await_is_cancelled_is_not_decided() -> None:
    """While its turn has not come: the loop is inside the store."""

    async def ask() -> None:
        store = Gate(MemoryServer())
        async with cluster(store=store) as (controller, _):
            store.open.clear()
            first = controller.admin.create_topics({"u": NewTopic()})
            await until(store.inside.is_set, "inside the store")
            moved = controller.admin.alter_partition_reassignments({T0: [3, 4]})
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(moved[T0], 0.01)
            store.open.set()
            await first
            assert await controller.admin.list_partition_reassignments() == {}

    run(ask())


def test_the_event_loop_goes_on_while_the_store_is_waited_for() -> None:
    """A registration is a write, and this store does not answer before the loop lets it."""

    async def ask() -> None:
        store = Gate(MemoryServer())
        async with cluster(store=store) as (controller, _):
            store.open.clear()
            registering = asyncio.create_task(controller.register_broker(BrokerRegistration(9)))
            await until(store.inside.is_set, "inside the store")
            assert not registering.done()
            store.open.set()
            assert await registering == controller.sync.broker_epoch(9)

    run(ask())


def test_answer_after_the_loop_was_closed_is_harmless(caplog: pytest.LogCaptureFixture) -> None:
    """The controller outlives the loop: it answers no caller, calls no host, and is closed without waiting."""
    store, left = Gate(MemoryServer()), []

    async def leave() -> None:
        controller = AsyncController(Controller(store, node_id=1, host=HostOnLoop(Brokers())))
        controller.sync.start()
        await until(lambda: controller.sync.is_active, "active")
        await controller.register_broker(BrokerRegistration(1))
        await until(lambda: controller.sync.describe().live_brokers, "a broker")
        store.open.clear()
        left.append((controller.sync, controller.admin.create_topics({"t": NewTopic()})["t"]))
        await until(store.inside.is_set, "inside the store")

    with caplog.at_level(logging.ERROR):
        run(leave())
        controller, asked = left[0]
        store.open.set()
        began_s = time.monotonic()
        while controller.query(lambda view: list(view.topic_names())).result(WAIT_S) != ["t"]:
            assert time.monotonic() < began_s + WAIT_S
        while "callbacks of broker 1" not in controller.describe().findings:
            assert time.monotonic() < began_s + WAIT_S
        controller.close(timeout_s=3 * WAIT_S)
    assert time.monotonic() < began_s + 2 * WAIT_S
    assert not asked.done()
    assert [record.message for record in caplog.records if record.name.startswith("concurrent")] == []


@pytest.mark.slow
def test_a_callback_that_its_loop_leaves_unfinished_ends() -> None:
    """The thread that waits for it sees that the loop was closed."""
    loop, entered = asyncio.new_event_loop(), threading.Event()

    async def never(_: Any) -> None:
        entered.set()
        await asyncio.Event().wait()

    host, raised = HostOnLoop(Brokers(never), loop), []

    def call() -> None:
        with pytest.raises(RuntimeError, match="was closed") as error:
            host.stop_replica(StopReplicaRequest(1, 1, 1, 1, ()))
        raised.append(error.value)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()

    async def enter() -> None:
        await until(entered.is_set, "in the callback")

    loop.run_until_complete(enter())
    (task,) = asyncio.all_tasks(loop)
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it is what the test leaves behind
    loop.close()
    thread.join(WAIT_S)
    assert len(raised) == 1


def test_polling_on_the_loop_that_the_callbacks_need_is_refused() -> None:
    refused = []

    async def ask() -> None:
        host = HostOnLoop(Brokers())
        with pytest.raises(WouldDeadlock, match="poll_once") as error:
            host.stop_replica(StopReplicaRequest(1, 1, 1, 1, ()))
        refused.append(error.value)

    thread = threading.Thread(target=lambda: run(ask()), daemon=True)
    thread.start()
    thread.join(WAIT_S)
    assert len(refused) == 1


def test_what_is_no_host_or_no_controller_is_refused() -> None:
    """TypeError; and RuntimeError where a loop has to run."""

    async def ask() -> None:
        bad: Any
        for bad in (5, Brokers, object()):
            with pytest.raises(TypeError, match="host must be an object"):
                HostOnLoop(bad)
        with pytest.raises(TypeError, match="a Controller"):
            AsyncController(bad)
        with pytest.raises(TypeError, match="HostOnLoop"):
            Controller(MemoryStore(), 1, Brokers())  # type: ignore[arg-type]

    run(ask())
    with pytest.raises(RuntimeError, match="no running event loop"):
        HostOnLoop(Brokers())


def test_without_a_running_loop_nothing_is_requested() -> None:
    with closing(asyncio.new_event_loop()) as loop:
        controller = Controller(MemoryStore(), 1, HostOnLoop(Brokers(), loop))
        controller.poll_once()
        with pytest.raises(RuntimeError, match="no running event loop"):
            AsyncController(controller).admin.list_topics()
        assert controller.describe().waiting_requests == 0
        controller.close()
