"""Commits of one term: fenced, serial, and resolved if their reply was lost."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from ..base import (
    ABSENT,
    Check,
    Commit,
    Conflict,
    Expect,
    Invalid,
    MetadataStore,
    Op,
    Put,
    Version,
)
from .election import ElectedTerm
from .token import EPOCH_KEY, TOKEN_KEY, Token

FENCE_OPS: Final = 2
"""How many ops a fence adds before those of a commit."""


@attrs.frozen
class Attempt:
    """One fenced commit, to be sent and if necessary sent again. `ops` begin with the two of the fence. `before` and
    `after`: the token that it expects and the token that it leaves."""

    ops: tuple[Op, ...]
    epoch_version: Version
    before: Token | None
    before_version: Expect
    after: Token


class Outcome(enum.Enum):
    APPLIED = "applied"  # the store has its token
    NOT_APPLIED = "not applied"  # the store has the token before it: send the same attempt again
    DEPOSED = "deposed"  # another controller wrote the epoch or the token: this term cannot commit any more


@attrs.frozen
class Resolution:
    """The outcome of an attempt; `token_version`: the version of TOKEN_KEY if it is APPLIED, otherwise None."""

    outcome: Outcome
    token_version: Version | None = None


class Fence:
    """The fence of one term: the ops that every commit begins with, and the token of the last commit.

    Commits are serial: make an attempt, send it, and call `done`, or `resolved` if the reply was lost and `resolve`
    returned APPLIED; then make the next attempt. Not thread-safe: only the committing thread uses it.
    """

    def __init__(self, term: ElectedTerm) -> None:
        self.term: Final = term
        self.token = term.token
        self.token_version = term.token_version
        self.gaps = _gaps(term)

    @property
    def next_seq(self) -> int:
        """The number of the next commit; it rises over all terms."""
        return 1 if self.token is None else self.token.seq + 1

    def ops(self, nonce: str) -> tuple[Check, Put]:
        """The two ops of the fence: the epoch is unchanged, and the token advances by one."""
        after = self._after(nonce).encode()
        return (Check(EPOCH_KEY, self.term.epoch_version), Put(TOKEN_KEY, after, self.token_version))

    def _after(self, nonce: str) -> Token:
        return Token(self.term.controller_epoch, self.next_seq, nonce, self.gaps)

    def attempt(self, ops: Sequence[Op], nonce: str) -> Attempt:
        """A fenced commit of `ops` (may be empty). `nonce` must be unique per attempt; to send again, use the same
        Attempt."""
        return Attempt(
            ops=(*self.ops(nonce), *ops),
            epoch_version=self.term.epoch_version,
            before=self.token,
            before_version=self.token_version,
            after=self._after(nonce),
        )

    def done(self, attempt: Attempt, commit: Commit) -> None:
        """Advance after the store has accepted `attempt`."""
        version = commit.versions[1]
        assert version is not None  # a Put always has one
        self._move(attempt, version)

    def resolved(self, attempt: Attempt, resolution: Resolution) -> None:
        """Advance after a lost reply, once `resolve` found that the attempt was applied."""
        if resolution.outcome is not Outcome.APPLIED or resolution.token_version is None:
            raise Invalid(f"the fence advances only after APPLIED, not after {resolution.outcome.name}")
        self._move(attempt, resolution.token_version)

    def _move(self, attempt: Attempt, version: Version) -> None:
        if attempt.before != self.token or attempt.before_version != self.token_version:
            raise Invalid(f"commits are serial: the fence is at {self.token}, not at {attempt.before}")
        self.token, self.token_version = attempt.after, version


def _gaps(term: ElectedTerm) -> tuple[tuple[int, int], ...]:
    """Epochs between the last token and this term: an election without a commit, or a controller that writes no token.
    The first commit of the term overwrites the token that shows this, so all later tokens carry the gap beside earlier
    ones, until `gaps` is replaced."""
    token = term.token
    if token is None:
        return ()
    is_next = token.controller_epoch >= term.controller_epoch - 1
    return token.gaps if is_next else (*token.gaps, (token.controller_epoch, term.controller_epoch))


def is_fence_conflict(conflict: Conflict) -> bool:
    """Whether a Conflict is about one of the two ops of the fence; `resolve` then finds the reason."""
    return conflict.index < FENCE_OPS


def resolve(open_session: Callable[[], MetadataStore], attempt: Attempt, timeout_s: float) -> Resolution:
    """The outcome of `attempt`, read by linearizable reads over a new session, which is closed again.

    It is a new session so that a late reply on the old connection is not mistaken for the answer. DEPOSED: the epoch
    has changed, or the token is neither the one before nor the one after; no commit of this term can be applied any
    more. After NOT_APPLIED the request may still arrive, but sending the same attempt again is safe. Raises the store's
    errors; call again until your deadline.
    """
    store = open_session()
    try:
        # The epoch first: if it has changed by now, a token that is still the one before never changes to ours.
        epoch = store.get(EPOCH_KEY, sync=True, timeout_s=timeout_s)
        token = store.get(TOKEN_KEY, sync=True, timeout_s=timeout_s)
    finally:
        store.close()
    found = None if token is None else Token.decode(token.value)
    if token is not None and found == attempt.after:
        return Resolution(Outcome.APPLIED, token.version)
    found_version: Expect = ABSENT if token is None else token.version
    epoch_moved = epoch is None or epoch.version != attempt.epoch_version
    if epoch_moved or (found, found_version) != (attempt.before, attempt.before_version):
        return Resolution(Outcome.DEPOSED)
    return Resolution(Outcome.NOT_APPLIED)
