"""One fenced commit at a time, until it is applied, in conflict, too large, or the term is over.

The outcome of a commit whose reply was lost is read from its token over a new session; the same attempt is sent again
only if the store still has the previous token. `try_once` never waits: an undecided commit stays in flight and is tried
again until its deadline. The deadline is half of the session time, so that a leader that is cut off gives up before
another can be elected.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs

from ...stores.base import (
    Closed,
    Conflict,
    Corrupt,
    MetadataStore,
    Op,
    OutcomeUnknown,
    SessionExpired,
    StoreError,
    TooLarge,
    Version,
)
from ...stores.recipes import EPOCH_KEY, FENCE_OPS, Attempt, Fence, Outcome, is_fence_conflict, resolve
from .clock import Clock, IdSource


class End(enum.Enum):
    """How a commit ended, or that it is still in flight."""

    APPLIED = "applied"
    IN_FLIGHT = "in flight"
    CONFLICT = "conflict"
    TOO_LARGE = "too large"
    DEPOSED = "deposed"


@attrs.define
class Result:
    """`versions`: in the order of the caller's ops; None if the reply was lost (read the keys again). `index`: the op
    that a Conflict names. `why`: an explanation."""

    end: End
    versions: tuple[Version | None, ...] | None = None
    index: int | None = None
    why: str = ""


class Committer:
    """Sends all commits of a term."""

    def __init__(self, store: MetadataStore, fence: Fence, clock: Clock, id_source: IdSource) -> None:
        self._store = store
        self._fence = fence
        self._clock = clock
        self._id_source = id_source
        self._attempt: Attempt | None = None
        self._deadline_s = 0.0
        self._ask = False  # the outcome is unknown: read the token before the attempt is sent again
        self._sent_twice = False
        self._conflict: Result | None = None  # an answer that must be confirmed by reading the token

    @property
    def is_in_flight(self) -> bool:
        return self._attempt is not None

    @property
    def is_over_time(self) -> bool:
        """Whether half of the session time has passed since the last commit began."""
        return self._clock.monotonic_s() >= self._deadline_s

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """The gaps of other controllers that every token from the next commit on carries (see `Token`)."""
        return self._fence.gaps

    @gaps.setter
    def gaps(self, gaps: tuple[tuple[int, int], ...]) -> None:
        self._fence.gaps = gaps

    @property
    def next_seq(self) -> int:
        """The number of the next commit, or of the one in flight."""
        return self._fence.next_seq

    def still_leads(self, timeout_s: float) -> bool:
        """Whether the store still has the epoch of this term, by a linearizable read. Raises the store's errors."""
        epoch = self._store.get(EPOCH_KEY, sync=True, timeout_s=timeout_s)
        return epoch is not None and epoch.version == self._fence.term.epoch_version

    def begin(self, ops: Sequence[Op]) -> None:
        """Make `ops` the next commit; `try_once` sends it."""
        assert self._attempt is None, "commits are serial"
        self._attempt = self._fence.attempt(ops, self._id_source.nonce())
        self._deadline_s = self._clock.monotonic_s() + self._store.session_timeout_s / 2
        self._ask = self._sent_twice = False
        self._conflict = None

    def try_once(self) -> Result:
        """Send the commit in flight, or find its outcome. Any result except IN_FLIGHT ends it."""
        assert self._attempt is not None
        try:
            result = self._look_up(self._attempt) if self._ask else self._send(self._attempt)
        except (SessionExpired, Closed) as error:
            result = Result(End.DEPOSED, why=str(error))
        except OutcomeUnknown as error:
            self._ask = True
            result = Result(End.IN_FLIGHT, why=str(error))
        except Corrupt as error:  # the token is neither the previous one nor that of this attempt
            result = Result(End.DEPOSED, why=str(error))
        except TooLarge as error:
            result = Result(End.TOO_LARGE, why=str(error))
        except StoreError as error:
            result = self._again(error)
        if result.end is End.IN_FLIGHT and self.is_over_time:
            result = Result(End.DEPOSED, why=f"no outcome within half of the session time: {result.why}")
        if result.end is not End.IN_FLIGHT:
            self._attempt = None
        return result

    def _again(self, error: StoreError) -> Result:
        if not error.retryable and error.applied == "no" and not self._ask:
            return Result(End.DEPOSED, why=str(error))
        return Result(End.IN_FLIGHT, why=str(error))

    def _send(self, attempt: Attempt) -> Result:
        left_s = max(0.001, self._deadline_s - self._clock.monotonic_s())
        try:
            commit = self._store.commit(attempt.ops, timeout_s=left_s)
        except Conflict as conflict:
            named = None if is_fence_conflict(conflict) else conflict.index - FENCE_OPS
            result = Result(End.DEPOSED if named is None else End.CONFLICT, index=named, why=str(conflict))
            if named is not None and not self._sent_twice:
                return result
            self._ask, self._conflict = True, result
            return Result(End.IN_FLIGHT, why=str(conflict))
        self._fence.done(attempt, commit)
        return Result(End.APPLIED, commit.versions[FENCE_OPS:])

    def _look_up(self, attempt: Attempt) -> Result:
        left_s = max(0.001, self._deadline_s - self._clock.monotonic_s())
        found = resolve(self._store.another_session, attempt, left_s)
        if found.outcome is Outcome.APPLIED:
            self._fence.resolved(attempt, found)
            return Result(End.APPLIED)
        if found.outcome is Outcome.DEPOSED:
            return Result(End.DEPOSED, why="another controller has committed since")
        if self._conflict is not None:
            return self._conflict  # if an earlier request of this attempt is still under way, the next token refuses it
        self._ask = False
        self._sent_twice = True
        return self._send(attempt)
