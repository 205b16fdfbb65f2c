"""The harness that a backend provides for the suite, and the helpers of its cases.

Rules
* A case is a function of a `Backend` with a fresh and empty root. It opens the clients that it needs; the backend
  closes them all afterwards.
* A case that needs a hook which the backend does not declare is skipped, and counted as skipped; nothing else skips.
* Cases never sleep: they wait for a condition, with a deadline, and fail when it passes.
"""

from __future__ import annotations

import abc
import contextlib
import enum
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final, Generic, TypeVar

import attrs
import tenacity

from ..base import (
    ABSENT,
    Changed,
    Delete,
    Depth,
    Entry,
    Expect,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    Resync,
    SessionChanged,
    SessionState,
    StoreError,
    StoreEvent,
    Subscription,
    Unavailable,
    Version,
)
from ..checks import op_bytes

CALL_S: Final = 10.0  # the deadline of an ordinary call
QUIET_S: Final = 0.05  # how long a stream without events counts as silent


class Hook(enum.Enum):
    """What a harness can do to its backend. Cases that need a missing hook are skipped and counted."""

    EXPIRE = "expire"  # end the session of a client on the server
    DISCONNECT = "disconnect"  # disconnect and reconnect a client
    BLACKOUT = "blackout"  # lose the replies of commits
    RESTART = "restart"  # stop the server and start it again with its data
    PAUSE = "pause"  # suspend the server with its connections open, and resume it
    COMPACT = "compact"  # make the server discard its history


class Backend(abc.ABC):
    """A harness: a server, and clients of it below one root. Each object runs one case."""

    name: str = "unnamed"
    hooks: frozenset[Hook] = frozenset()
    wait_s: float = 20.0  # the deadline of all waiting; must exceed the session timeout of the clients

    @abc.abstractmethod
    def open(self) -> MetadataStore:
        """One more client. The first call finds an empty root."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close all clients and everything else."""

    def expire(self, store: MetadataStore) -> None:
        """Hook.EXPIRE: the server ends the session of `store`, at once or soon."""
        raise NotImplementedError

    def disconnect(self, store: MetadataStore) -> None:
        """Hook.DISCONNECT: disconnect `store`, which notices at once or soon."""
        raise NotImplementedError

    def reconnect(self, store: MetadataStore) -> None:
        """Hook.DISCONNECT: undo it within the session time; the client may take a while to reconnect."""
        raise NotImplementedError

    def outlive(self, store: MetadataStore) -> None:
        """Hook.DISCONNECT: return once the server has ended the session of the disconnected `store`."""
        raise NotImplementedError

    def blackout(self, store: MetadataStore) -> AbstractContextManager[None]:
        """Hook.BLACKOUT: in the block, commits of `store` raise OutcomeUnknown, applied or not."""
        raise NotImplementedError

    def restart(self) -> None:
        """Hook.RESTART: kill the server, as kill -9 does, and start it again; clients reconnect by themselves."""
        raise NotImplementedError

    def pause(self) -> None:
        """Hook.PAUSE: the server sends no answers, and no connection ends, until `resume`."""
        raise NotImplementedError

    def resume(self) -> None:
        """Hook.PAUSE: the server continues."""
        raise NotImplementedError

    def compact(self) -> None:
        """Hook.COMPACT: the server discards its history up to now."""
        raise NotImplementedError


@attrs.frozen
class Case:
    """One function of the suite."""

    group: str
    run: Callable[[Backend], None]
    needs: frozenset[Hook]

    @property
    def name(self) -> str:
        """As `group.function`."""
        return f"{self.group}.{self.run.__name__}"

    def lacks(self, backend: Backend) -> frozenset[Hook]:
        """The missing hooks for which this case is skipped; empty if it runs."""
        return self.needs - backend.hooks


CASES: Final[list[Case]] = []
_Run = TypeVar("_Run", bound=Callable[[Backend], None])


def case(group: str, *needs: Hook) -> Callable[[_Run], _Run]:
    """Add a function to the suite."""

    def enter(run: _Run) -> _Run:
        CASES.append(Case(group, run, frozenset(needs)))
        return run

    return enter


# Helpers of the cases

_Error = TypeVar("_Error", bound=StoreError)


@attrs.define
class Caught(Generic[_Error]):
    """The error that a block raised."""

    _error: _Error | None = None

    @property
    def error(self) -> _Error:
        assert self._error is not None
        return self._error


@contextlib.contextmanager
def raises(kind: type[_Error]) -> Iterator[Caught[_Error]]:
    """Fail unless the block raises `kind`."""
    caught = Caught[_Error]()
    try:
        yield caught
    except kind as error:
        caught._error = error  # noqa: SLF001 - same module
    else:
        raise AssertionError(f"{kind.__name__} should have been raised")


def put(
    store: MetadataStore, key: str, value: bytes = b"", expect: Expect = ABSENT, *, ephemeral: bool = False
) -> Version:
    version = store.commit([Put(key, value, expect, ephemeral)], timeout_s=CALL_S).versions[0]
    assert version is not None
    return version


def delete(store: MetadataStore, key: str, expect: Expect) -> None:
    store.commit([Delete(key, expect)], timeout_s=CALL_S)


def get(store: MetadataStore, key: str) -> Entry | None:
    """The entry, linearizable."""
    return store.get(key, sync=True, timeout_s=CALL_S)


def found(store: MetadataStore, key: str) -> Entry:
    """The entry of a key that must exist, linearizable."""
    entry = get(store, key)
    assert entry is not None, f"{key} should exist"
    return entry


def fill(store: MetadataStore, keys: Iterable[str], value: bytes = b"x") -> None:
    """Create all `keys`, in commits as large as the store takes."""
    limits = store.capabilities
    batch: list[Op] = []
    size = 0
    for key in keys:
        op = Put(key, value, ABSENT)
        if len(batch) >= min(limits.commit_ops_max, 1000) or size + op_bytes(op) > limits.commit_bytes_max:
            store.commit(batch, timeout_s=CALL_S)
            batch, size = [], 0
        batch.append(op)
        size += op_bytes(op)
    store.commit(batch, timeout_s=CALL_S)


def eventually(backend: Backend, what: str, holds: Callable[[], bool]) -> None:
    """Wait until `holds()`; at the deadline, fail with a message that names `what`."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda held: not held),
        stop=tenacity.stop_after_delay(backend.wait_s),
        wait=tenacity.wait_fixed(0.01),
    )
    try:
        retrying(holds)
    except tenacity.RetryError as error:
        raise AssertionError(f"{backend.name}: not within {backend.wait_s} s: {what}") from error


def await_contact(backend: Backend, store: MetadataStore) -> None:
    """Wait until the client can reach its server, after a hook has undone its fault."""

    def answered() -> bool:
        try:
            get(store, "/suite/contact")
        except (Unavailable, OutcomeUnknown):
            return False
        return store.session.connected

    eventually(backend, "the client is in contact again", answered)


def events_until(
    backend: Backend, stream: Subscription, what: str, stop: Callable[[StoreEvent], bool]
) -> list[StoreEvent]:
    """All events up to the first for which `stop` holds; fail at the deadline."""
    deadline_s = time.monotonic() + backend.wait_s
    events: list[StoreEvent] = []
    while (left_s := deadline_s - time.monotonic()) > 0:
        event = stream.poll(left_s)
        if event is not None:
            events.append(event)
            if stop(event):
                return events
    raise AssertionError(f"{backend.name}: not within {backend.wait_s} s: {what}; came: {events[-20:]}")


def hints(event: StoreEvent, key: str) -> bool:
    """Whether the event makes its reader read `key` again."""
    return event == Changed(key) or (isinstance(event, Resync) and event.prefix in (key, *_above(key)))


def strike(missing: set[str], event: StoreEvent) -> bool:
    """Remove from `missing` what `event` hints at; return whether nothing is missing any more."""
    if isinstance(event, Changed):
        missing.discard(event.key)
    elif isinstance(event, Resync):
        missing.clear()
    return not missing


def await_hint(backend: Backend, stream: Subscription, key: str) -> list[StoreEvent]:
    """Wait for an event that makes the reader read `key`."""
    return events_until(backend, stream, f"a hint at {key}", lambda event: hints(event, key))


def await_state(backend: Backend, stream: Subscription, state: SessionState) -> SessionChanged:
    """Wait for the event that the session is in `state`."""
    events = events_until(
        backend, stream, f"the session {state.value}", lambda e: isinstance(e, SessionChanged) and e.state is state
    )
    last = events[-1]
    assert isinstance(last, SessionChanged)
    return last


def quiet(stream: Subscription) -> list[StoreEvent]:
    """Take events until none arrives for QUIET_S."""
    events: list[StoreEvent] = []
    while (event := stream.poll(QUIET_S)) is not None:
        events.append(event)
    return events


def watch(backend: Backend, store: MetadataStore, prefix: str, depth: Depth) -> Subscription:
    """A stream whose first Resync has been taken."""
    stream = store.subscribe(prefix, depth)
    first = stream.poll(backend.wait_s)
    assert first == Resync(prefix, "initial"), first
    return stream


def values(entries: Sequence[Entry]) -> dict[str, bytes]:
    return {entry.key: entry.value for entry in entries}


def _above(key: str) -> list[str]:
    segments = key.split("/")
    return ["/", *("/".join(segments[:length]) for length in range(2, len(segments)))]
