"""The API for asyncio: awaitable answers, and a host whose callbacks are coroutines.

Rules
* Every method here calls the method of the same name of `Controller` or `Admin`, and awaits its future. Arguments,
  results and errors are those of `docs/admin-api.md`.
* The event loop never blocks: methods that need the store (`register_broker`, `close`) run in a thread, all others put
  a request into the controller's inbox.
* The controller runs on threads of its own (`running()`). A callback is a coroutine on the host's event loop, and the
  thread of its broker waits for it, so callbacks have the same order as with a synchronous host.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from functools import partial, wraps
from inspect import isawaitable
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, Self, TypeVar, runtime_checkable

from .admin import Admin, Results
from .host import Controller
from .model.host import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from .runtime.replies import WouldDeadlock

__all__ = ["AsyncAdmin", "AsyncController", "AsyncHost", "AsyncResults", "HostOnLoop"]

S_co = TypeVar("S_co", covariant=True)
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")

_NOTICES: Final = frozenset({"config_changed", "controller_changed", "partition_purged"})
_LOOK_S: Final = 0.5  # how often a waiting callback checks whether the event loop was closed


class AsyncResults(Mapping[K, "asyncio.Future[V]"]):
    """The results of a request about several things: each key -> its awaitable, in the order of the request. Awaiting
    the whole object returns a dict of all values, or raises the first error in that order."""

    def __init__(self, results: Results[K, V]) -> None:
        self._results = results

    def __getitem__(self, key: K) -> asyncio.Future[V]:
        return asyncio.wrap_future(self._results[key], loop=asyncio.get_running_loop())

    def __contains__(self, key: object) -> bool:
        return key in self._results

    def __iter__(self) -> Iterator[K]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __await__(self) -> Generator[Any, None, dict[K, V]]:
        return asyncio.wrap_future(self._results.all(), loop=asyncio.get_running_loop()).__await__()


class _Around(Generic[S_co]):
    """The base of wrappers around the synchronous object `sync`."""

    def __init__(self, sync: S_co) -> None:
        self.sync: Final = sync


def _one(
    method: Callable[Concatenate[S_co, P], Future[T]],
) -> Callable[Concatenate[_Around[S_co], P], asyncio.Future[T]]:
    """Wrap a method that returns one future. Cancelling withdraws the request if it is not decided yet."""

    @wraps(method)
    def call(self: _Around[S_co], /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()  # before the call: without a running loop nothing is requested
        return asyncio.wrap_future(getattr(self.sync, method.__name__)(*args, **kwargs), loop=loop)

    return call


def _many(
    method: Callable[Concatenate[S_co, P], Results[K, V]],
) -> Callable[Concatenate[_Around[S_co], P], AsyncResults[K, V]]:
    """Wrap a method that returns one future per key."""

    @wraps(method)
    def call(self: _Around[S_co], /, *args: P.args, **kwargs: P.kwargs) -> AsyncResults[K, V]:
        return AsyncResults(getattr(self.sync, method.__name__)(*args, **kwargs))

    return call


def _blocking(
    method: Callable[Concatenate[S_co, P], T],
) -> Callable[Concatenate[_Around[S_co], P], Coroutine[Any, Any, T]]:
    """Wrap a method that waits for the store. It runs in a thread, and goes on there if the caller is cancelled."""

    @wraps(method)
    async def call(self: _Around[S_co], /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await asyncio.to_thread(getattr(self.sync, method.__name__), *args, **kwargs)
        return found

    return call


class AsyncAdmin(_Around[Admin]):
    """The admin API of `sync` for asyncio. The authorizer and the policies run on the thread of the event loop."""

    alter_partition_reassignments = _many(Admin.alter_partition_reassignments)
    rollback_partition_reassignments = _many(Admin.rollback_partition_reassignments)
    cancel_partition_reassignments = _one(Admin.cancel_partition_reassignments)
    list_partition_reassignments = _one(Admin.list_partition_reassignments)
    reassign_partitions = _many(Admin.reassign_partitions)
    alter_interbroker_throttled_rates = _many(Admin.alter_interbroker_throttled_rates)
    alter_interbroker_throttled_replicas = _many(Admin.alter_interbroker_throttled_replicas)
    list_topics = _one(Admin.list_topics)
    describe_topics = _many(Admin.describe_topics)
    describe_replica_log_dirs = _many(Admin.describe_replica_log_dirs)
    create_topics = _many(Admin.create_topics)
    create_partitions = _many(Admin.create_partitions)
    delete_topics = _many(Admin.delete_topics)
    delete_partitions = _many(Admin.delete_partitions)
    describe_configs = _many(Admin.describe_configs)
    describe_new_topics = _one(Admin.describe_new_topics)
    alter_configs = _many(Admin.alter_configs)
    incremental_alter_configs = _many(Admin.incremental_alter_configs)
    elect_leaders = _one(Admin.elect_leaders)
    forget_broker = _one(Admin.forget_broker)


class AsyncController(_Around[Controller]):
    """A controller for asyncio. For what answers at once (`describe`, `metrics`, `is_active`, `broker_epochs`,
    `report_log`) use `sync`, the `Controller` itself."""

    def __init__(self, controller: Controller) -> None:
        """TypeError if `controller` is not a Controller."""
        if not isinstance(controller, Controller):
            raise TypeError(f"controller must be a Controller, not {controller!r:.200}")
        super().__init__(controller)
        self.admin: Final = AsyncAdmin(controller.admin)

    query = _one(Controller.query)
    alter_isr = _one(Controller.alter_isr)
    controlled_shutdown = _one(Controller.controlled_shutdown)
    register_broker = _blocking(Controller.register_broker)
    unregister_broker = _blocking(Controller.unregister_broker)
    generate_broker_id = _blocking(Controller.generate_broker_id)
    close = _blocking(Controller.close)

    def admin_for(self, principal: str | None) -> AsyncAdmin:
        """The admin API for `principal` (None: the host itself, which may do everything)."""
        return AsyncAdmin(self.sync.admin_for(principal))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """`async with controller.running():` starts the threads, and closes the controller at the end of the block."""
        try:
            self.sync.start()
            yield self
        finally:
            await self.close()


@runtime_checkable
class AsyncHost(Protocol):
    """A `Host` whose callbacks are coroutines. Its notices, if it has any, may be coroutines or functions."""

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host.leader_and_isr`."""

    async def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host.update_metadata`."""

    async def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """As `kedge.controller.model.host.Host.stop_replica`. A deletion that is skipped in silence is acknowledged."""


class HostOnLoop:
    """The `Host` for a `Controller` around a host of coroutines, which run on `loop` (default: the running loop).

    If a coroutine raises or is cancelled, or the loop is closed, the callback counts as not delivered. TypeError if
    `host` lacks a callback, RuntimeError if no loop is given and none is running."""

    def __init__(self, host: AsyncHost, loop: asyncio.AbstractEventLoop | None = None) -> None:
        if isinstance(host, type) or not isinstance(host, AsyncHost):
            raise TypeError(f"host must be an object with leader_and_isr, update_metadata and stop_replica: {host!r}")
        self._host = host
        self._loop = loop or asyncio.get_running_loop()

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        """Await the host's coroutine."""
        return self._call(self._host.leader_and_isr, request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        """Await the host's coroutine."""
        return self._call(self._host.update_metadata, request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        """Await the host's coroutine."""
        return self._call(self._host.stop_replica, request)

    def __getattr__(self, name: str) -> Any:
        """A notice, if the host has it."""
        found = getattr(self._host, name) if name in _NOTICES else object.__getattribute__(self, name)
        return partial(self._call, found) if callable(found) else found

    def _call(self, callback: Callable[..., Awaitable[T]], *told: object) -> T:
        if _running_loop() is self._loop:
            raise WouldDeadlock("poll_once() would block the event loop of the host: use running() instead")
        coroutine = _awaited(callback, told)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            while not wait([future], _LOOK_S).done:
                if self._loop.is_closed():
                    raise RuntimeError("the event loop of the host was closed")
            return future.result()
        finally:
            coroutine.close()


async def _awaited(callback: Callable[..., Awaitable[T]], told: tuple[object, ...]) -> T:
    answer: Any = callback(*told)
    found: T = await answer if isawaitable(answer) else answer
    return found


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
