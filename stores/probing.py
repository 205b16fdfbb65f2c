"""What a store says of itself, for people: its servers, its limits, how fast it answers. Nothing of controllers.

Rules
* Nothing is written unless `commits` is asked for; what that writes is one key, which it removes again, also where it
  fails half way (then the key is named).
* Everything has a deadline, and what is not known is None, never guessed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Protocol, runtime_checkable

import attrs

from stores.base import ABSENT, PRESENT, Delete, Invalid, MetadataStore, Put, StoreError

READS: Final = 5
SCRATCH_KEY: Final = "/kedge-store-check"


@attrs.frozen
class ServerState:
    """One server of the url. `version` and `role` are None where it does not say; `problem`: what is wrong with it."""

    address: str
    version: str | None = None
    role: str | None = None
    problem: str | None = None


@runtime_checkable
class Probed(Protocol):
    """A store that has servers to be asked, and bulk reads that may be missing."""

    @property
    def bulk_reads(self) -> bool:
        """Whether many keys are read at once."""
        ...

    def servers(self, *, timeout_s: float) -> tuple[ServerState, ...]:
        """What each server of the url says. Raises nothing."""
        ...


@attrs.frozen
class Latency:
    """Milliseconds of a few calls."""

    best_ms: float
    middle_ms: float
    worst_ms: float


def servers(store: MetadataStore, *, timeout_s: float) -> tuple[ServerState, ...]:
    """The servers of `store`; none for one that lives in this process."""
    return store.servers(timeout_s=timeout_s) if isinstance(store, Probed) else ()


def has_bulk_reads(store: MetadataStore) -> bool:
    """Whether many keys are read at once."""
    return store.bulk_reads if isinstance(store, Probed) else True


def reads(store: MetadataStore, *, sync: bool, timeout_s: float) -> Latency:
    """A few reads of a key that need not be there. Raises what the store raises."""
    return _timed(lambda: store.get(SCRATCH_KEY, sync=sync, timeout_s=timeout_s), READS)


def commits(store: MetadataStore, *, timeout_s: float) -> Latency:
    """A few commits of a scratch key, which is gone afterwards. Raises Invalid, and writes nothing, where that key is
    there already; what the store raises."""
    if store.get(SCRATCH_KEY, sync=True, timeout_s=timeout_s) is not None:
        raise Invalid(f"{SCRATCH_KEY} is there, left by a check that was killed, or in use by another", key=SCRATCH_KEY)
    steps = _scratch_steps(store, timeout_s)
    try:
        return _timed(lambda: next(steps), READS)
    except StoreError:
        with suppress(StoreError):  # the first error is the one to tell
            store.commit([Delete(SCRATCH_KEY, PRESENT)], timeout_s=timeout_s)
        raise


def _scratch_steps(store: MetadataStore, timeout_s: float) -> Iterator[None]:
    """Create it, write it anew, and remove it in the last step."""
    value = b"kedge store check --write"
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
