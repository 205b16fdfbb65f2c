"""Many commits into a store, a few in flight, followed to their end each.

Rules
* Every op says what it expects (a load: ABSENT), so a commit whose reply was lost is sent again: if the first one had
  arrived, the second is a Conflict, and the keys tell whether they hold what was sent.
* What cannot be reached for `PATIENCE_S` is given up. Then nothing more is begun, what is in flight is waited for, and
  `BrokenOff` says how many ops stand, and of how many nobody knows.
* The calls come from threads of this module; `told` is called on the caller's.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeAlias

from stores.base import (
    ABSENT,
    Check,
    Conflict,
    Entry,
    Invalid,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    SessionExpired,
    StoreError,
    Unavailable,
    Version,
)
from stores.transfer.batches import batches, check_fits

IN_FLIGHT: Final = 4  # commits at once: what a server gains by more is little
CALL_S: Final = 15.0
PATIENCE_S: Final = 30.0
_PAUSE_S: Final = 0.2

Told: TypeAlias = Callable[[int, int], None]
"""Hears how many of how many keys stand."""

Landed: TypeAlias = Callable[[Sequence[Op], Sequence[Version | None]], None]
"""Hears the ops of a commit that stands, and the version that each of them left."""


class NotEmpty(Invalid):
    """There are keys already, other than what may be there."""


class BrokenOff(StoreError):
    """A part of it was written: `written` ops stand, `unknown` may. The first thing that went wrong is `__cause__`."""

    applied = "unknown"

    def __init__(self, message: str, *, written: int, unknown: int, key: str | None = None) -> None:
        super().__init__(message, key=key)
        self.written = written
        self.unknown = unknown


def load(
    store: MetadataStore,
    values: Mapping[str, bytes],
    *,
    resume: bool = False,
    timeout_s: float = CALL_S,
    told: Told = lambda done, total: None,  # noqa: ARG005
) -> int:
    """The store holds `values`, and nothing else; how many were put (with `resume`, less than all).

    NotEmpty if anything stands in it; with `resume`, if what stands is not a part of `values`. TooLarge for a value
    that does not fit. Nothing is written then. BrokenOff if it ended half way; to be gone on with by `resume`. `told`
    hears how many of how many keys stand.
    """
    standing = may_load(store, values, resume=resume, timeout_s=timeout_s)
    puts = [Put(key, value, ABSENT) for key, value in values.items() if key not in standing]
    told(len(standing), len(values))
    write_all(store, puts, timeout_s=timeout_s, told=lambda done: told(len(standing) + done, len(values)))
    return len(puts)


def may_load(store: MetadataStore, values: Mapping[str, bytes], *, resume: bool, timeout_s: float = CALL_S) -> set[str]:
    """Which of `values` stand in the store already (none, but for `resume`). Raises NotEmpty and TooLarge, as `load`
    does; nothing is written."""
    check_fits((Put(key, value, ABSENT) for key, value in values.items()), store.capabilities)
    if not store.children("/", timeout_s=timeout_s):
        return set()
    entries = store.snapshot("/", timeout_s=max(timeout_s, PATIENCE_S)).entries
    if entries and not resume:
        count = f"{len(entries)} keys stand there" if len(entries) > 1 else "a key stands there"
        raise NotEmpty(f"not empty, {count}: {entries[0].key}", key=entries[0].key)
    for entry in entries:
        if entry.owner is not None or values.get(entry.key) != entry.value:
            raise NotEmpty(f"{entry.key} stands there, and is not what the file says", key=entry.key)
    return {entry.key for entry in entries}


def write_all(
    store: MetadataStore,
    ops: Iterable[Op],
    *,
    timeout_s: float = CALL_S,
    in_flight: int = IN_FLIGHT,
    patience_s: float = PATIENCE_S,
    guard: Sequence[Check] = (),
    told: Callable[[int], None] = lambda done: None,  # noqa: ARG005
    landed: Landed = lambda ops, versions: None,  # noqa: ARG005
) -> int:
    """All `ops` are applied, in commits of many; how many. The commits are not one: each is all or nothing, several are
    under way at once, and later ones may be applied before earlier ones. Each holds what `guard` demands. `patience_s`
    0: none is sent twice. Raises BrokenOff."""
    writing = _Writing(store, timeout_s, patience_s, len(guard), told, landed)
    with ThreadPoolExecutor(in_flight, thread_name_prefix="kedge-transfer") as threads:
        try:
            for batch in batches(ops, store.capabilities, guard):
                if len(writing.flying) >= 2 * in_flight:  # one waits behind each that is under way
                    writing.land()
                if writing.failure is not None:
                    break
                writing.flying.append((batch, threads.submit(writing.write, batch)))
            while writing.flying:
                writing.land()
        except BaseException:
            writing.give_up()  # the caller's own, or Ctrl-C: what waits is not begun
            raise
    if writing.failure is None:
        return writing.written
    error = writing.failure
    raise BrokenOff(
        str(error), written=writing.written, unknown=writing.unknown, key=getattr(error, "key", None)
    ) from error


class _Writing:
    """One `write_all`: what is under way, and what came of it. Its fields belong to the caller's thread."""

    def __init__(  # noqa: PLR0917 - what `write_all` was given, handed on
        self,
        store: MetadataStore,
        timeout_s: float,
        patience_s: float,
        guard_ops: int,
        told: Callable[[int], None],
        landed: Landed,
    ) -> None:
        self.flying: deque[tuple[list[Op], Future[Sequence[Version | None]]]] = deque()
        self.written = self.unknown = 0
        self.failure: StoreError | None = None
        self._store = store
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._guard_ops = guard_ops
        self._told = told
        self._landed = landed
        self._giving_up = threading.Event()

    def land(self) -> None:
        """Wait for the oldest that is under way, and count it."""
        batch, future = self.flying.popleft()
        count = len(batch) - self._guard_ops
        try:
            versions = future.result()
        except StoreError as error:
            self.give_up()
            self.failure = self.failure or error
            self.unknown += count if error.applied == "unknown" else 0
        else:
            self.written += count
            self._landed(batch, versions)
            self._told(self.written)

    def give_up(self) -> None:
        """Nothing more is begun."""
        self._giving_up.set()

    def write(self, batch: Sequence[Op]) -> Sequence[Version | None]:
        """The commit is applied, and left these versions; tried until then, or until the patience is over. On a thread
        of the pool."""
        deadline_s = time.monotonic() + self._patience_s
        doubtful = False
        while not self._giving_up.is_set() or doubtful:
            try:
                return self._store.commit(batch, timeout_s=self._timeout_s).versions
            except Conflict:
                if not doubtful or not _hold(found := self._read(batch), batch):
                    raise
                return [None if entry is None else entry.version for entry in found]
            except (OutcomeUnknown, Unavailable, SessionExpired) as error:
                doubtful = doubtful or error.applied == "unknown"
                if time.monotonic() >= deadline_s:
                    raise _in_doubt(error) if doubtful else error from None
                time.sleep(_PAUSE_S)
        raise Unavailable("not sent: another commit had failed")

    def _read(self, batch: Sequence[Op]) -> list[Entry | None]:
        try:
            return [self._store.get(op.key, sync=True, timeout_s=self._timeout_s) for op in batch[:1]] + (
                self._store.get_many([op.key for op in batch[1:]], timeout_s=self._timeout_s)
            )
        except StoreError as error:
            raise _in_doubt(error) from error


def _in_doubt(error: StoreError) -> StoreError:
    return error if error.applied == "unknown" else OutcomeUnknown(str(error), key=error.key)


def _hold(found: Sequence[Entry | None], batch: Sequence[Op]) -> bool:
    """Whether the keys say that the commit was applied."""
    for entry, op in zip(found, batch, strict=True):
        if isinstance(op, Put):
            if entry is None or entry.value != op.value:
                return False
        elif not isinstance(op, Check) and entry is not None:
            return False
    return True
