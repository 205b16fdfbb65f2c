"""Many commits into a store, a few of them concurrent, each followed to its end.

Rules
* Every op has an expectation (in a load: ABSENT), so a commit whose reply was lost is sent again: if the first one was
  applied, the second is a Conflict, and the keys show whether they hold what was sent.
* After `PATIENCE_S` without contact, writing is given up: no further commit begins, those under way are awaited, and
  `BrokenOff` says how many ops are written, and how many have an unknown outcome.
* Commits run in threads of this module; `told` is called on the caller's thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeAlias

from ..base import (
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
from .batches import batches, check_fits

IN_FLIGHT: Final = 4  # concurrent commits; more make servers hardly faster
CALL_S: Final = 15.0
PATIENCE_S: Final = 30.0
_PAUSE_S: Final = 0.2

Told: TypeAlias = Callable[[int, int], None]
"""Called with the number of written keys and of all keys."""

Landed: TypeAlias = Callable[[Sequence[Op], Sequence[Version | None]], None]
"""Called with the ops of an applied commit and the version of each."""


class NotEmpty(Invalid):
    """The store has other keys than it may have."""


class BrokenOff(StoreError):
    """Writing ended early: `written` ops are applied, `unknown` may be. `__cause__` is the first error."""

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
    """Put `values` into a store, which holds nothing else afterwards; return how many were put (with `resume`, perhaps
    not all).

    NotEmpty if the store has keys; with `resume`, if they are not a part of `values`. TooLarge for a value that exceeds
    the limits. In both cases nothing was written. BrokenOff if it ended early; continue with `resume`. `told` is called
    with the number of written keys and of all keys.
    """
    standing = may_load(store, values, resume=resume, timeout_s=timeout_s)
    puts = [Put(key, value, ABSENT) for key, value in values.items() if key not in standing]
    told(len(standing), len(values))
    write_all(store, puts, timeout_s=timeout_s, told=lambda done: told(len(standing) + done, len(values)))
    return len(puts)


def may_load(store: MetadataStore, values: Mapping[str, bytes], *, resume: bool, timeout_s: float = CALL_S) -> set[str]:
    """The keys of `values` that the store has already (without `resume`: none). Raises NotEmpty and TooLarge, as `load`
    does; writes nothing."""
    check_fits((Put(key, value, ABSENT) for key, value in values.items()), store.capabilities)
    if not store.children("/", timeout_s=timeout_s):
        return set()
    entries = store.snapshot("/", timeout_s=max(timeout_s, PATIENCE_S)).entries
    if entries and not resume:
        count = f"has {len(entries)} keys" if len(entries) > 1 else "has a key"
        raise NotEmpty(f"the store is not empty, it {count}: {entries[0].key}", key=entries[0].key)
    for entry in entries:
        if entry.owner is not None or values.get(entry.key) != entry.value:
            raise NotEmpty(f"{entry.key} exists with another value than in the file", key=entry.key)
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
    """Apply all `ops` in many commits; return how many. Each commit is all or nothing and requires `guard`; several run
    at once, so later ones may be applied before earlier ones. `patience_s` 0: no commit is sent twice. Raises
    BrokenOff."""
    writing = _Writing(store, timeout_s, patience_s, len(guard), told, landed)
    with ThreadPoolExecutor(in_flight, thread_name_prefix="kedge-transfer") as threads:
        try:
            for batch in batches(ops, store.capabilities, guard):
                if len(writing.flying) >= 2 * in_flight:  # one is queued behind each running commit
                    writing.land()
                if writing.failure is not None:
                    break
                writing.flying.append((batch, threads.submit(writing.write, batch)))
            while writing.flying:
                writing.land()
        except BaseException:
            writing.give_up()  # an error of the caller, or Ctrl-C: queued commits do not begin
            raise
    if writing.failure is None:
        return writing.written
    error = writing.failure
    raise BrokenOff(
        str(error), written=writing.written, unknown=writing.unknown, key=getattr(error, "key", None)
    ) from error


class _Writing:
    """One `write_all`: its commits under way, and their results. Only the caller's thread uses its fields."""

    def __init__(  # noqa: PLR0917 - the arguments of `write_all`
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
        """Wait for the oldest commit, and count it."""
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
        """Begin no further commits."""
        self._giving_up.set()

    def write(self, batch: Sequence[Op]) -> Sequence[Version | None]:
        """Apply a commit and return its versions; retries until the patience is over. Runs on a thread of the pool."""
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
    """Whether the keys show that the commit was applied."""
    for entry, op in zip(found, batch, strict=True):
        if isinstance(op, Put):
            if entry is None or entry.value != op.value:
                return False
        elif not isinstance(op, Check) and entry is not None:
            return False
    return True
