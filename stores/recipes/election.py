"""The election of a leader."""

from __future__ import annotations

import re
from typing import Final

import attrs
import tenacity

from ..base import (
    ABSENT,
    Commit,
    Conflict,
    Corrupt,
    Entry,
    Expect,
    MetadataStore,
    OutcomeUnknown,
    Put,
    Version,
    as_read,
)
from .token import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token

EPOCH_MAX: Final = 2**31 - 2  # Kafka's requests have an int32 for it, and the next epoch must fit too
_DECIMAL: Final = re.compile(rb"[0-9]{1,19}")


@attrs.frozen
class Seat:
    """Which keys an election writes. `session_key`: the ephemeral key of the session that leads. `public_key`: a key
    that names the leader and stays when its session ends; None: there is none."""

    session_key: str = LEADER_KEY
    public_key: str | None = None


SEAT: Final = Seat()
SEAT_BESIDE_KAFKA: Final = Seat(HELD_KEY, LEADER_KEY)
"""A Kafka broker stands for election as soon as it finds no LEADER_KEY. Here that key stays while one leader follows
another. It is no part of the fence: Kafka's own election raises EPOCH_KEY as ours does."""


@attrs.frozen
class ElectedTerm:
    """The result of a won election: the epoch, the version of EPOCH_KEY, and the token of the previous term (None and
    ABSENT if no term ever committed). Commits of older terms can no longer change that token."""

    controller_epoch: int
    epoch_version: Version
    token: Token | None
    token_version: Expect


def decode_epoch(value: bytes) -> int:
    """The controller epoch in the value of EPOCH_KEY, a decimal number. Raises Corrupt."""
    if _DECIMAL.fullmatch(value) is None or int(value) > EPOCH_MAX:
        raise Corrupt(f"{EPOCH_KEY}: not a controller epoch: {value!r:.100}", key=EPOCH_KEY)
    return int(value)


def elect(
    store: MetadataStore, leader_value: bytes, nonce: str, timeout_s: float, seat: Seat = SEAT
) -> ElectedTerm | None:
    """Take part in the election once. Afterwards the session of `store` holds `seat.session_key` under a new epoch;
    None if another session holds it (perhaps a former one of this process: see `reap_own_leftover`), or if
    `seat.public_key` is an ephemeral key of another process.

    One commit writes all keys. If its reply is lost, the keys are read: the commit was applied, or it is sent again;
    only one of the two can succeed. If this session still holds the key from a term that it gave up, it leads again,
    under a higher epoch. The new epoch is above that of EPOCH_KEY and of the token. Errors name the candidacy by
    `nonce`.

    `timeout_s` is for each of at most 18 calls to the store. Raises Corrupt if EPOCH_KEY or TOKEN_KEY has invalid
    content (nothing is written then; an operator has to check it), OutcomeUnknown if the last reply was lost too, and
    the other errors of the store. After an error this session may hold the key; calling again is safe. At most one
    concurrent `elect` per store object.
    """
    candidacy = _Candidacy(store, leader_value, nonce, timeout_s, seat)
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
    seat: Seat
    epoch_sent: int | None = None  # the epoch of a commit whose outcome is not known

    def stand(self) -> ElectedTerm | None:
        leader = self._read(self.seat.session_key)
        if leader is not None and leader.owner != self.store.session.session_id:
            return None
        shown = None if self.seat.public_key is None else self._read(self.seat.public_key)
        if shown is not None and shown.owner is not None:
            return None
        epoch, token = self._read(EPOCH_KEY), self._token()[0]
        epoch_now = 0 if epoch is None else decode_epoch(epoch.value)
        if epoch is not None and leader is not None and epoch_now == self.epoch_sent:
            return self._term(epoch_now, epoch.version)
        epoch_new = max(epoch_now, 0 if token is None else token.controller_epoch) + 1
        self.epoch_sent = epoch_new
        commit = self._commit(leader, epoch, epoch_new, shown)
        epoch_version = commit.versions[1]
        assert epoch_version is not None  # a Put always has one
        return self._term(epoch_new, epoch_version)

    def _commit(self, leader: Entry | None, epoch: Entry | None, epoch_new: int, shown: Entry | None) -> Commit:
        if epoch_new > EPOCH_MAX:
            raise Corrupt(f"{EPOCH_KEY}: no controller epoch is left above {epoch_new - 1}", key=EPOCH_KEY)
        ops = [
            Put(self.seat.session_key, self.leader_value, as_read(leader), ephemeral=True),
            Put(EPOCH_KEY, b"%d" % epoch_new, as_read(epoch)),
        ]
        if self.seat.public_key is not None:
            ops.append(Put(self.seat.public_key, self.leader_value, as_read(shown)))
        try:
            return self.store.commit(ops, timeout_s=self.timeout_s)
        except OutcomeUnknown as error:
            said = f"candidacy {self.nonce} for epoch {epoch_new}: {error}"
            raise OutcomeUnknown(said, key=self.seat.session_key) from error

    def _term(self, epoch: int, epoch_version: Version) -> ElectedTerm:
        # The token is read after the election was won: no older term can change it any more.
        token, token_version = self._token()
        return ElectedTerm(epoch, epoch_version, token, token_version)

    def _token(self) -> tuple[Token | None, Expect]:
        entry = self._read(TOKEN_KEY)
        return (None, ABSENT) if entry is None else (Token.decode(entry.value), entry.version)

    def _read(self, key: str) -> Entry | None:
        return self.store.get(key, sync=True, timeout_s=self.timeout_s)
