"""Information about a store for people: its servers, its limits, its latency. It knows nothing of controllers.

Rules
* Only `commits` writes: one key, which it removes again, also if it fails half way (an error names the key).
* Every call has a deadline; unknown values are None.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Protocol, runtime_checkable

import attrs

from .base import ABSENT, PRESENT, Delete, Invalid, MetadataStore, Put, StoreError

READS: Final = 5
SCRATCH_KEY: Final = "/kedge-store-check"


@attrs.frozen
class ServerState:
    """One server of the url. `version` and `role`: None if unknown; `problem`: what is wrong with it."""

    address: str
    version: str | None = None
    role: str | None = None
    problem: str | None = None


@runtime_checkable
class Probed(Protocol):
    """A store with servers that can be queried, and bulk reads that may be missing."""

    @property
    def bulk_reads(self) -> bool:
        """Whether the store reads many keys at once."""
        ...

    def servers(self, *, timeout_s: float) -> tuple[ServerState, ...]:
        """The state of each server of the url. Raises nothing."""
        ...


@attrs.frozen
class Latency:
    """Latency of a few calls, in milliseconds."""

    best_ms: float
    middle_ms: float
    worst_ms: float


def servers(store: MetadataStore, *, timeout_s: float) -> tuple[ServerState, ...]:
    """The servers of `store`; empty for a store in this process."""
    return store.servers(timeout_s=timeout_s) if isinstance(store, Probed) else ()


def has_bulk_reads(store: MetadataStore) -> bool:
    """Whether the store reads many keys at once."""
    return store.bulk_reads if isinstance(store, Probed) else True


def reads(store: MetadataStore, *, sync: bool, timeout_s: float) -> Latency:
    """The latency of reads of a key that may be absent. Raises the store's errors."""
    return _timed(lambda: store.get(SCRATCH_KEY, sync=sync, timeout_s=timeout_s), READS)


def commits(store: MetadataStore, *, timeout_s: float) -> Latency:
    """The latency of commits of a scratch key, which is deleted afterwards. Raises Invalid, without writing, if that
    key exists; raises the store's errors."""
    if store.get(SCRATCH_KEY, sync=True, timeout_s=timeout_s) is not None:
        raise Invalid(f"{SCRATCH_KEY} exists: a check was killed and left it, or another one runs", key=SCRATCH_KEY)
    steps = _scratch_steps(store, timeout_s)
    try:
        return _timed(lambda: next(steps), READS)
    except StoreError:
        with suppress(StoreError):  # report the first error
            store.commit([Delete(SCRATCH_KEY, PRESENT)], timeout_s=timeout_s)
        raise


def _scratch_steps(store: MetadataStore, timeout_s: float) -> Iterator[None]:
    """Create the key, rewrite it, and delete it in the last step."""
    value = b"kedge store ping --write"
    store.commit([Put(SCRATCH_KEY, value, ABSENT)], timeout_s=timeout_s)
    yield
    for _ in range(READS - 2):
        store.commit([Put(SCRATCH_KEY, value, PRESENT)], timeout_s=timeout_s)
        yield
    store.commit([Delete(SCRATCH_KEY, PRESENT)], timeout_s=timeout_s)
    yield


def _timed(call: Callable[[], object], times: int) -> Latency:
    took_ms = []
    for _ in range(times):
        began_s = time.monotonic()
        call()
        took_ms.append((time.monotonic() - began_s) * 1000)
    took_ms.sort()
    return Latency(took_ms[0], took_ms[times // 2], took_ms[-1])
