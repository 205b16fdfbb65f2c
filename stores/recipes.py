"""Election, fencing and finding out what happened: written once, above the contract of `stores.base`.

Rules
* To lead is to hold `/controller` (ephemeral) under a controller epoch that only this election wrote. Epochs rise.
* Every commit of a leader begins with the same two ops: Check `/controller_epoch` at the version of its election, and
  Put `/kedge/commit`, the commit token, at the version that the previous commit left. The first fails as soon as
  somebody else was elected; the second makes commits serial, so that of two sendings of one commit only one succeeds.
* The token's `seq` goes on from term to term and never restarts; the first commit of a term claims the token.
* Whether a commit whose reply was lost was applied is read from the token, over a fresh session, and never guessed.
* Nothing here waits or sleeps: what is retryable goes to the caller, who has a deadline and a clock.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Sequence
from typing import Final

import attrs
import tenacity

from stores.base import (
    ABSENT,
    Check,
    Commit,
    Conflict,
    Corrupt,
    Delete,
    Entry,
    Expect,
    Invalid,
    MetadataStore,
    Op,
    OutcomeUnknown,
    Put,
    Version,
    below,
)

LEADER_KEY: Final = "/controller"
EPOCH_KEY: Final = "/controller_epoch"
TOKEN_KEY: Final = "/kedge/commit"  # noqa: S105 - a key, not a secret

FENCE_OPS: Final = 2
"""How many ops a fence puts before those of a commit."""

_EPOCH_MAX: Final = 2**31 - 2  # Kafka's requests carry it as an int32, and the next one must still fit
_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")


@attrs.frozen
class Token:
    """Who committed last: the term, the number of the commit (over all terms), and a word that names the sending."""

    controller_epoch: int
    seq: int
    nonce: str

    def encode(self) -> bytes:
        """Compact JSON."""
        return json.dumps(attrs.asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes) -> Token:
        """The token in `value`; members that are not known are ignored. Raises Corrupt."""
        try:
            members = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Corrupt(f"{TOKEN_KEY}: not JSON: {value!r:.200}", key=TOKEN_KEY) from error
        if not isinstance(members, dict):
            raise Corrupt(f"{TOKEN_KEY}: not an object: {value!r:.200}", key=TOKEN_KEY)
        epoch, seq, nonce = members.get("controller_epoch"), members.get("seq"), members.get("nonce")
        if type(epoch) is not int or type(seq) is not int or type(nonce) is not str or epoch < 0 or seq < 0:
            raise Corrupt(f"{TOKEN_KEY}: broken members: {value!r:.200}", key=TOKEN_KEY)
        return cls(epoch, seq, nonce)


# Election


@attrs.frozen
class Term:
    """What a won election gives: the epoch, the version of EPOCH_KEY, and the token as the term before left it (None,
    ABSENT: nobody ever committed). No commit of an older term can change that token any more."""

    controller_epoch: int
    epoch_version: Version
    token: Token | None
    token_version: Expect


def decode_epoch(value: bytes) -> int:
    """The controller epoch in the value of EPOCH_KEY, decimal text. Raises Corrupt."""
    if _DECIMAL.fullmatch(value) is None or int(value) > _EPOCH_MAX:
        raise Corrupt(f"{EPOCH_KEY}: not a controller epoch: {value!r:.100}", key=EPOCH_KEY)
    return int(value)


def elect(store: MetadataStore, leader_value: bytes, nonce: str, timeout_s: float) -> Term | None:
    """Stand for election once: afterwards the session of `store` holds LEADER_KEY under a new epoch, or the answer is
    None because somebody else holds it (perhaps a former session of ourselves: see `reap_own_leftover`).

    One commit writes both keys. If its reply is lost, the keys are read: ours, or the same is sent again; only one of
    the two can succeed. A key that this very session holds from a term that was given up is taken over, under a higher
    epoch. The new epoch is above that of EPOCH_KEY and that of the token. `nonce` names this candidacy in errors.

    `timeout_s` is for each call to the store, of which there are at most 15. Raises Corrupt if EPOCH_KEY or TOKEN_KEY
    holds something else (nothing is written then: a human has to look), OutcomeUnknown if the last reply was lost, too,
    and whatever else the store raises. After an error we may hold the key without knowing; standing again is right.
    At most one `elect` at a time per store object.
    """
    candidacy = _Candidacy(store, leader_value, nonce, timeout_s)
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((OutcomeUnknown, Conflict)),
        stop=tenacity.stop_after_attempt(3),
        sleep=lambda _: None,
        reraise=True,
    )
    try:
        return retrying(candidacy.stand)
    except Conflict:
        return None


@attrs.define
class _Candidacy:
    """One call of `elect`, which may send its commit more than once."""

    store: MetadataStore
    leader_value: bytes
    nonce: str
    timeout_s: float
    epoch_sent: int | None = None  # the epoch of a commit whose outcome is not known

    def stand(self) -> Term | None:
        leader = self._read(LEADER_KEY)
        if leader is not None and leader.owner != self.store.session.session_id:
            return None
        epoch, token = self._read(EPOCH_KEY), self._token()[0]
        epoch_now = 0 if epoch is None else decode_epoch(epoch.value)
        if epoch is not None and leader is not None and epoch_now == self.epoch_sent:
            return self._term(epoch_now, epoch.version)
        epoch_new = max(epoch_now, 0 if token is None else token.controller_epoch) + 1
        self.epoch_sent = epoch_new
        commit = self._commit(leader, epoch, epoch_new)
        epoch_version = commit.versions[1]
        assert epoch_version is not None  # a Put always has one
        return self._term(epoch_new, epoch_version)

    def _commit(self, leader: Entry | None, epoch: Entry | None, epoch_new: int) -> Commit:
        if epoch_new > _EPOCH_MAX:
            raise Corrupt(f"{EPOCH_KEY}: no controller epoch is left above {epoch_new - 1}", key=EPOCH_KEY)
        ops = (
            Put(LEADER_KEY, self.leader_value, ABSENT if leader is None else leader.version, ephemeral=True),
            Put(EPOCH_KEY, b"%d" % epoch_new, ABSENT if epoch is None else epoch.version),
        )
        try:
            return self.store.commit(ops, timeout_s=self.timeout_s)
        except OutcomeUnknown as error:
            raise OutcomeUnknown(f"candidacy {self.nonce} for epoch {epoch_new}: {error}", key=LEADER_KEY) from error

    def _term(self, epoch: int, epoch_version: Version) -> Term:
        # The token is read after the epoch was won: from here on no older term can move it.
        token, token_version = self._token()
        return Term(epoch, epoch_version, token, token_version)

    def _token(self) -> tuple[Token | None, Expect]:
        entry = self._read(TOKEN_KEY)
        return (None, ABSENT) if entry is None else (Token.decode(entry.value), entry.version)

    def _read(self, key: str) -> Entry | None:
        return self.store.get(key, sync=True, timeout_s=self.timeout_s)


# Fencing


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

    def __init__(self, term: Term) -> None:
        self.term: Final = term
        self.token = term.token
        self.token_version = term.token_version

    @property
    def next_seq(self) -> int:
        """The number that the next commit gets; over all terms it only rises."""
        return 1 if self.token is None else self.token.seq + 1

    def ops(self, nonce: str) -> tuple[Check, Put]:
        """The two fixed ops: the epoch is still ours, and the token moves on by one."""
        after = Token(self.term.controller_epoch, self.next_seq, nonce)
        return (Check(EPOCH_KEY, self.term.epoch_version), Put(TOKEN_KEY, after.encode(), self.token_version))

    def attempt(self, ops: Sequence[Op], nonce: str) -> Attempt:
        """A fenced commit of `ops` (none: the token alone moves). `nonce` must differ from attempt to attempt; sending
        again takes the same Attempt, never a new one."""
        return Attempt(
            ops=(*self.ops(nonce), *ops),
            epoch_version=self.term.epoch_version,
            before=self.token,
            before_version=self.token_version,
            after=Token(self.term.controller_epoch, self.next_seq, nonce),
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


# Keys of a former self


def reap_own_leftover(store: MetadataStore, key: str, mine: bytes | Callable[[Entry], bool], timeout_s: float) -> bool:
    """True if afterwards `key` does not exist: it was not there, or it was an ephemeral key of an older session of
    ourselves, and was deleted at the version that was looked at.

    `mine` is the value that we alone write, or a predicate on the entry. A key of the present session, a key that is
    not ephemeral and one that is not mine are left alone: False. So is one that somebody rewrote meanwhile. Raises
    OutcomeUnknown and whatever else the store raises; calling again is right.
    """
    entry = store.get(key, sync=True, timeout_s=timeout_s)
    if entry is None:
        return True
    if entry.owner is None or entry.owner == store.session.session_id:
        return False
    if not (entry.value == mine if isinstance(mine, bytes) else mine(entry)):
        return False
    try:
        store.commit((Delete(key, entry.version),), timeout_s=timeout_s)
    except Conflict:
        return store.get(key, sync=True, timeout_s=timeout_s) is None
    return True


# Sequences

_NUMBER_MAX: Final = 2**31 - 1  # what ZooKeeper's own sequences, and Kafka's listeners, can count
_DIGITS: Final = 10


@attrs.frozen
class Appended:
    """Keys of a sequence that are ready to be put: `ops` belong into one commit (a fenced one, mostly), `keys` are what
    they create. After a Conflict on `counter_key` make them anew: somebody else appended."""

    ops: tuple[Op, ...]
    keys: tuple[str, ...]
    counter_key: str


def append_sequence(
    store: MetadataStore, parent: str, prefix: str, values: bytes | Sequence[bytes], timeout_s: float
) -> Appended:
    """The ops that append `values` below `parent` as `<prefix><ten digits>`, numbered in their order.

    The number of the next one is kept in the value of `parent` (decimal text), so that numbers never go back, even
    after all children were purged: Kafka's listeners skip what is not above the last they saw. Where `parent` holds no
    number yet, it begins above the highest child. Two appends to one parent do not fit into one commit: give all values
    at once. Raises Corrupt if `parent` holds something else.
    """
    counter = store.get(parent, sync=True, timeout_s=timeout_s)
    if counter is not None and counter.value:
        number = _decode_number(parent, counter.value)
    else:
        number = 1 + max(_numbers(prefix, store.children(parent, timeout_s=timeout_s)), default=-1)
    values = (values,) if isinstance(values, bytes) else tuple(values)
    if number + len(values) > _NUMBER_MAX:
        raise Corrupt(f"{parent}: no number is left above {number - 1}", key=parent)
    keys = tuple(f"{below(parent)}{prefix}{number + index:0{_DIGITS}d}" for index in range(len(values)))
    count = Put(parent, b"%d" % (number + len(values)), ABSENT if counter is None else counter.version)
    puts = (Put(key, value, ABSENT) for key, value in zip(keys, values, strict=True))
    return Appended((count, *puts), keys, parent)


def _decode_number(parent: str, value: bytes) -> int:
    if _DECIMAL.fullmatch(value) is None:
        raise Corrupt(f"{parent}: not the counter of a sequence: {value!r:.100}", key=parent)
    return int(value)


def _numbers(prefix: str, names: Sequence[str]) -> list[int]:
    tails = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return [int(tail) for tail in tails if len(tail) == _DIGITS and tail.isascii() and tail.isdigit()]
