"""Commits of one term: fenced, serial, and resolved when their reply was lost."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from stores.base import (
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
from stores.recipes.election import ElectedTerm
from stores.recipes.token import EPOCH_KEY, TOKEN_KEY, Token

FENCE_OPS: Final = 2
"""How many ops a fence puts before those of a commit."""


@attrs.frozen
class Attempt:
    """One fenced commit as it is sent, and sent again: `ops` begin with the two of the fence. `before` and `after` are
    the token that it expects and the token that it leaves."""

    ops: tuple[Op, ...]
    epoch_version: Version
    before: Token | None
    before_version: Expect
    after: Token


class Outcome(enum.Enum):
    """What became of an attempt."""

    APPLIED = "applied"  # its token stands
    NOT_APPLIED = "not applied"  # the token before it stands: send the same attempt again
    DEPOSED = "deposed"  # the epoch or the token is somebody else's, and this term can commit nothing any more


@attrs.frozen
class Resolution:
    """The outcome of an attempt; `token_version` is the version of TOKEN_KEY where it was APPLIED, else None."""

    outcome: Outcome
    token_version: Version | None = None


class Fence:
    """The fence of one term: the ops that every commit begins with, and the token as the last commit left it.

    Commits are serial: make an attempt, send it, call `done` or, if the reply was lost and `resolve` said APPLIED,
    `resolved`; only then make the next one. Not thread-safe: it belongs to whoever commits.
    """

    def __init__(self, term: ElectedTerm) -> None:
        self.term: Final = term
        self.token = term.token
        self.token_version = term.token_version
        self.gaps = _gaps(term)

    @property
    def next_seq(self) -> int:
        """The number that the next commit gets; over all terms it only rises."""
        return 1 if self.token is None else self.token.seq + 1

    def ops(self, nonce: str) -> tuple[Check, Put]:
        """The two fixed ops: the epoch is still ours, and the token moves on by one."""
        after = self._after(nonce).encode()
        return (Check(EPOCH_KEY, self.term.epoch_version), Put(TOKEN_KEY, after, self.token_version))

    def _after(self, nonce: str) -> Token:
        return Token(self.term.controller_epoch, self.next_seq, nonce, self.gaps)

    def attempt(self, ops: Sequence[Op], nonce: str) -> Attempt:
        """A fenced commit of `ops` (none: the token alone moves). `nonce` must differ from attempt to attempt; sending
        again takes the same Attempt, never a new one."""
        return Attempt(
            ops=(*self.ops(nonce), *ops),
            epoch_version=self.term.epoch_version,
            before=self.token,
            before_version=self.token_version,
            after=self._after(nonce),
        )

    def done(self, attempt: Attempt, commit: Commit) -> None:
        """Move on: the store has said yes to `attempt`."""
        version = commit.versions[1]
        assert version is not None  # a Put always has one
        self._move(attempt, version)

    def resolved(self, attempt: Attempt, resolution: Resolution) -> None:
        """Move on: the reply was lost, and `resolve` found that the attempt was applied."""
        if resolution.outcome is not Outcome.APPLIED or resolution.token_version is None:
            raise Invalid(f"the fence moves on only after APPLIED, not after {resolution.outcome.name}")
        self._move(attempt, resolution.token_version)

    def _move(self, attempt: Attempt, version: Version) -> None:
        if attempt.before != self.token or attempt.before_version != self.token_version:
            raise Invalid(f"commits are serial: the fence stands at {self.token}, not at {attempt.before}")
        self.token, self.token_version = attempt.after, version


def _gaps(term: ElectedTerm) -> tuple[tuple[int, int], ...]:
    """Epochs between the last token and this term: an election that came to nothing, or a controller that writes no
    token. The claim overwrites the token that shows this, so every token from then on carries the gap, beside those
    that it carried before, until `gaps` is replaced."""
    token = term.token
    if token is None:
        return ()
    is_next = token.controller_epoch >= term.controller_epoch - 1
    return token.gaps if is_next else (*token.gaps, (token.controller_epoch, term.controller_epoch))


def is_fence_conflict(conflict: Conflict) -> bool:
    """Whether a Conflict of a fenced commit names one of the two fixed ops: then `resolve` tells what it means."""
    return conflict.index < FENCE_OPS


def resolve(open_session: Callable[[], MetadataStore], attempt: Attempt, timeout_s: float) -> Resolution:
    """What became of `attempt`, read over a fresh session, which is closed again.

    A fresh one, since a reply that is still on its way on the old connection must not be mistaken, and a linearizable
    read. Anything that is neither the token before nor the token after is DEPOSED, as is a moved epoch: then nothing of
    this term can be applied any more. Of NOT_APPLIED it is not known that it stays so (the request may still arrive),
    only that sending the same attempt again is safe. Raises what the store raises; call again until your deadline.
    """
    store = open_session()
    try:
        # The epoch first: if it had moved then, a token that still is the one before stays so for ever.
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
