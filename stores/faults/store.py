"""A store that injects faults by plan into any other store.

Rules
* Without faults it behaves as the inner store: the suite passes on it.
* Certain outcomes stay certain: Unavailable means that the inner store was not called.
* A late commit has a connection of its own, since the connection that sent it may be cut, closed or reopened by then.
  Its writes do not depend on a session, as in etcd and most stores. Ephemeral keys do: a late commit that puts one is
  dropped unless the session that sent it is still alive.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import attrs

from ..base import (
    Capabilities,
    Columns,
    Commit,
    Depth,
    Entry,
    Invalid,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    Session,
    SessionExpired,
    Snapshot,
    StoreError,
    TooLarge,
    Unavailable,
)
from ..checks import check_ops
from .plan import (
    Call,
    CutOff,
    Delay,
    DeliverLater,
    DoubleEvent,
    DropEvent,
    ExpireSession,
    FailBefore,
    Fault,
    ForceResync,
    LoseReply,
    LoseRequest,
    Plan,
    Script,
)
from .stream import FaultSubscription

_T = TypeVar("_T")


@runtime_checkable
class Breakable(Protocol):
    """A store whose connection and session can be broken by calls, such as the memory store."""

    def disconnect(self) -> None:
        """Disconnect the client."""

    def reconnect(self) -> None:
        """Reconnect it."""

    def expire(self) -> None:
        """End its session."""


@attrs.define(eq=False)
class _Late:
    """A delayed commit: `due` is the number of the commit before which it arrives; None: on `deliver_late()`."""

    ops: tuple[Op, ...]
    courier: MetadataStore
    sender: MetadataStore
    session_id: int
    timeout_s: float
    due: int | None

    def deliver(self) -> Commit | StoreError:
        """Send it to the server. The answer is returned for the record; its sender does not get it."""
        try:
            if any(isinstance(op, Put) and op.ephemeral for op in self.ops):
                if self.sender.session.session_id != self.session_id:
                    return SessionExpired("the session that sent this commit has ended")
                return self.sender.commit(self.ops, timeout_s=self.timeout_s)
            return self.courier.commit(self.ops, timeout_s=self.timeout_s)
        except StoreError as error:
            return error
        finally:
            self.courier.close()


class FaultStore(MetadataStore):
    """`inner` with the faults of `plan` (see `kedge.stores.faults.plan`). Thread-safe if `inner` is.

    `seed`: for the random source of a plan that is a function; `sleep`: called by Delay, in seconds; `calls_max`: the
    length of the record. Sessions of `another_session` share the plan, the counts and the record.
    """

    def __init__(
        self,
        inner: MetadataStore,
        plan: Plan = (),
        *,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
        calls_max: int = 10_000,
    ) -> None:
        self.inner = inner
        self._script = Script(plan, seed, calls_max)
        self._sleep = sleep
        self._late: deque[_Late] = deque()
        self._streams: list[FaultSubscription] = []
        self._lock = threading.Lock()

    # Steering

    @property
    def calls(self) -> tuple[Call, ...]:
        """The recorded calls, oldest first; at most `calls_max`."""
        return tuple(self._script.calls)

    def forget_calls(self) -> None:
        """Empty the record of calls; numbers continue."""
        self._script.calls.clear()

    @property
    def commits(self) -> int:
        """How many commits were called, with any outcome, over all sessions of this FaultStore."""
        return self._script.numbers["commit"]

    @property
    def late(self) -> int:
        """How many commits are delayed."""
        return len(self._late)

    def play(self, plan: Plan) -> None:
        """Follow another plan from now on; its rules count from zero, commits are numbered on."""
        self._script.replace(plan)

    def deliver_late(self) -> tuple[Commit | StoreError, ...]:
        """Send all delayed commits to the server, in the order in which they were called. Returns the server's answers,
        which their senders never get."""
        return tuple(late.deliver() for late in self._take_late(lambda _: True))

    def force_resync(self) -> None:
        """Queue a Resync "injected" on every stream of this session, for each prefix that it watches."""
        with self._lock:
            for stream in self._streams:
                stream.force_resync()

    def disconnect(self) -> None:
        """Disconnect the inner store. Raises Invalid if it is not Breakable."""
        self._breakable().disconnect()

    def reconnect(self) -> None:
        """Undo `disconnect` or CutOff."""
        self._breakable().reconnect()

    def expire(self) -> None:
        """End the session of the inner store."""
        self._breakable().expire()

    # The contract

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def session(self) -> Session:
        return self.inner.session

    @property
    def session_timeout_s(self) -> float:
        return self.inner.session_timeout_s

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        """As the inner store, unless the plan says otherwise."""
        return self._call("get", (key,), lambda: self.inner.get(key, sync=sync, timeout_s=timeout_s))

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        """As the inner store, unless the plan says otherwise."""
        return self._call("get_many", keys, lambda: self.inner.get_many(keys, timeout_s=timeout_s))

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        """As the inner store, unless the plan says otherwise."""
        return self._call("get_columns", keys, lambda: self.inner.get_columns(keys, timeout_s=timeout_s))

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        """As the inner store, unless the plan says otherwise."""
        return self._call("children", (key,), lambda: self.inner.children(key, timeout_s=timeout_s))

    def created_below(self, key: str, *, timeout_s: float) -> int:
        """As the inner store, unless the plan says otherwise."""
        return self._call("created_below", (key,), lambda: self.inner.created_below(key, timeout_s=timeout_s))

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        """As the inner store, unless the plan says otherwise."""
        return self._call("snapshot", (prefix,), lambda: self.inner.snapshot(prefix, timeout_s=timeout_s))

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """As the inner store, unless the plan says otherwise. Late commits that are due arrive first."""
        check_ops(ops, self.capabilities)
        call, faults = self._script.begin("commit", [op.key for op in ops], ops)
        for late in self._take_late(lambda late: late.due is not None and late.due <= call.number):
            late.deliver()
        later = next((fault for fault in faults if isinstance(fault, DeliverLater)), None)
        if later is not None:
            self._hold(call, later, timeout_s)
        return self._play(call, faults, lambda: self.inner.commit(ops, timeout_s=timeout_s))

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> FaultSubscription:
        """A stream whose events the plan may drop or double."""
        inner = self._call("subscribe", (prefix,), lambda: self.inner.subscribe(prefix, depth, cursor))
        stream = FaultSubscription(inner, self._script, prefix)
        with self._lock:
            self._streams = [*(kept for kept in self._streams if not kept.closed), stream]
        return stream

    def another_session(self) -> FaultStore:
        """A FaultStore over another session of the inner store, with the same plan, counts and record."""
        other = FaultStore(self._call("another_session", (), self.inner.another_session), sleep=self._sleep)
        other._script = self._script
        other._late = self._late
        return other

    def close(self) -> None:
        """Close the inner store. Delayed commits stay delayed."""
        self.inner.close()

    # How faults happen

    def _call(self, name: str, keys: Sequence[str], send: Callable[[], _T]) -> _T:
        return self._play(*self._script.begin(name, keys), send)

    def _play(self, call: Call, faults: Sequence[Fault], send: Callable[[], _T]) -> _T:
        for fault in faults:
            match fault:
                case Delay(seconds):
                    self._sleep(seconds)
                case ExpireSession():
                    self.expire()
                case CutOff():
                    self.disconnect()
                case ForceResync():
                    self.force_resync()
                case FailBefore():
                    raise Unavailable(f"injected: {call.name} {call.number} was not sent")
                case LoseRequest() | DeliverLater():
                    raise OutcomeUnknown(f"injected: {call.name} {call.number} got no answer")
                case LoseReply():
                    self._unheard(send)
                    raise OutcomeUnknown(f"injected: the answer to {call.name} {call.number} was lost")
                case DropEvent() | DoubleEvent():
                    raise Invalid(f"{fault} is for events, not for {call.name}")
        return send()

    def _unheard(self, send: Callable[[], object]) -> None:
        try:
            send()
        except (Invalid, TooLarge, Unavailable):
            raise  # it was not sent, so it has no answer that could be lost
        except StoreError:
            pass  # this refusal is the answer that is lost

    def _hold(self, call: Call, later: DeliverLater, timeout_s: float) -> None:
        due = None if later.before_commit is None else call.number + later.before_commit
        courier = self.inner.another_session()
        session_id = self.inner.session.session_id
        with self._lock:
            self._late.append(_Late(call.ops, courier, self.inner, session_id, timeout_s, due))

    def _take_late(self, which: Callable[[_Late], bool]) -> list[_Late]:
        with self._lock:
            taken = [late for late in self._late if which(late)]
            for late in taken:
                self._late.remove(late)
            return taken

    def _breakable(self) -> Breakable:
        if not isinstance(self.inner, Breakable):
            raise Invalid(f"{self.capabilities.name}: this store cannot be disconnected or expired by a fault")
        return self.inner
