"""Translates kazoo's errors into those of the contract: one table, and one function that reads it.

Rules
* A request that was not sent was not applied. A request that was sent without an answer has an unknown outcome.
* A request that the server refused by an answer was not applied, as far as ZooKeeper promises that for the code.
* A code that is not in the table is OutcomeUnknown.
"""

from __future__ import annotations

import enum
from typing import Final

from kazoo import exceptions as kazoo_errors
from kazoo.handlers.threading import KazooTimeoutError

from ..base import Invalid, OutcomeUnknown, SessionExpired, StoreError, TooLarge, Unauthorized, Unavailable


class Meaning(enum.Enum):
    """The meaning of a kazoo error for the request."""

    NO_ANSWER = "no answer came"
    EXPIRED = "the session had ended"
    UNAUTHORIZED = "refused: the credentials, or missing rights"
    NOT_NOW = "refused, nothing was done, the same may succeed later"
    MALFORMED = "refused: not a request that the server takes"
    TOO_LARGE = "refused: over a quota"
    UNKNOWN = "not recognised"


TABLE: Final[dict[type[BaseException], Meaning]] = {
    KazooTimeoutError: Meaning.NO_ANSWER,
    kazoo_errors.ConnectionLoss: Meaning.NO_ANSWER,
    kazoo_errors.ConnectionClosedError: Meaning.NO_ANSWER,
    kazoo_errors.OperationTimeoutError: Meaning.NO_ANSWER,
    kazoo_errors.RequestTimeoutError: Meaning.NO_ANSWER,
    kazoo_errors.SessionExpiredError: Meaning.EXPIRED,
    kazoo_errors.NoAuthError: Meaning.UNAUTHORIZED,
    kazoo_errors.AuthFailedError: Meaning.UNAUTHORIZED,
    kazoo_errors.InvalidACLError: Meaning.UNAUTHORIZED,
    kazoo_errors.SessionClosedRequireSaslError: Meaning.UNAUTHORIZED,
    kazoo_errors.ThrottledOpError: Meaning.NOT_NOW,
    kazoo_errors.SessionMovedError: Meaning.NOT_NOW,
    kazoo_errors.NotReadOnlyCallError: Meaning.NOT_NOW,
    kazoo_errors.NewConfigNoQuorumError: Meaning.NOT_NOW,
    kazoo_errors.ReconfigInProcessError: Meaning.NOT_NOW,
    kazoo_errors.MarshallingError: Meaning.MALFORMED,
    kazoo_errors.UnimplementedError: Meaning.MALFORMED,
    kazoo_errors.BadArgumentsError: Meaning.MALFORMED,
    kazoo_errors.NoChildrenForEphemeralsError: Meaning.MALFORMED,
    kazoo_errors.EphemeralOnLocalSessionError: Meaning.MALFORMED,
    kazoo_errors.ReconfigDisabledError: Meaning.MALFORMED,
    kazoo_errors.QuotaExceededError: Meaning.TOO_LARGE,
    # The following errors answer requests that this backend does not send, or are handled where they are read.
    kazoo_errors.RolledBackError: Meaning.UNKNOWN,
    kazoo_errors.SystemZookeeperError: Meaning.UNKNOWN,
    kazoo_errors.RuntimeInconsistency: Meaning.UNKNOWN,
    kazoo_errors.DataInconsistency: Meaning.UNKNOWN,
    kazoo_errors.UnknownSessionError: Meaning.UNKNOWN,
    kazoo_errors.APIError: Meaning.UNKNOWN,
    kazoo_errors.NoNodeError: Meaning.UNKNOWN,
    kazoo_errors.BadVersionError: Meaning.UNKNOWN,
    kazoo_errors.NodeExistsError: Meaning.UNKNOWN,
    kazoo_errors.NotEmptyError: Meaning.UNKNOWN,
    kazoo_errors.InvalidCallbackError: Meaning.UNKNOWN,
    kazoo_errors.NoWatcherError: Meaning.UNKNOWN,
}

_REFUSED: Final[dict[Meaning, type[StoreError]]] = {
    Meaning.UNAUTHORIZED: Unauthorized,
    Meaning.NOT_NOW: Unavailable,
    Meaning.MALFORMED: Invalid,
    Meaning.TOO_LARGE: TooLarge,
}


_NO_RIGHTS: Final = (
    kazoo_errors.NoAuthError.__name__
)  # ZooKeeper accepts any digest password; only the rights are missing later


def translate(error: BaseException, *, sent: bool, key: str | None = None) -> StoreError:
    """The contract's error for kazoo's `error` about a request that was `sent` or certainly not."""
    meaning = TABLE.get(type(error), Meaning.UNKNOWN)
    name = type(error).__name__
    about = "" if key is None else f"{key}: "
    kind = _REFUSED.get(meaning)
    if kind is not None:
        hint = " (no rights: no user, another user, or a wrong password)" if name == _NO_RIGHTS else ""
        return kind(f"{about}ZooKeeper refused the request: {name}{hint}", key=key)
    if sent:
        return OutcomeUnknown(f"{about}ZooKeeper did not answer whether the request was applied: {name}", key=key)
    if meaning is Meaning.EXPIRED:
        return SessionExpired(f"{about}the session had ended before the request was sent", key=key)
    return Unavailable(f"{about}not sent to ZooKeeper: {name}", key=key)


def refused(code: int, key: str | None = None) -> StoreError:
    """The error for a part of a request that the server answered with `code`."""
    kind = kazoo_errors.EXCEPTIONS.get(code, kazoo_errors.SystemZookeeperError)
    return translate(kind(), sent=True, key=key)
