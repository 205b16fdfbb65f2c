"""Translates kazoo's errors into those of the contract: one table, and one function that reads it.

Rules
* A request that was not sent was not applied. A request that was sent without an answer has an unknown outcome.
* A request that the server refused by an answer was not applied, as far as ZooKeeper promises that for the code.
* A code that is not in the table is OutcomeUnknown.
"""

from __future__ import annotations

from typing import Final

from kazoo import exceptions as kazoo_errors
from kazoo.handlers.threading import KazooTimeoutError

from ..base import Invalid, OutcomeUnknown, SessionExpired, StoreError, TooLarge, Unauthorized, Unavailable

TABLE: Final[dict[type[BaseException], type[StoreError]]] = {
    **dict.fromkeys(
        (
            kazoo_errors.NoAuthError,
            kazoo_errors.AuthFailedError,
            kazoo_errors.InvalidACLError,
            kazoo_errors.SessionClosedRequireSaslError,
        ),
        Unauthorized,
    ),
    **dict.fromkeys(  # nothing was done, and the same may succeed later
        (
            kazoo_errors.ThrottledOpError,
            kazoo_errors.SessionMovedError,
            kazoo_errors.NotReadOnlyCallError,
            kazoo_errors.NewConfigNoQuorumError,
            kazoo_errors.ReconfigInProcessError,
        ),
        Unavailable,
    ),
    **dict.fromkeys(  # not a request that the server takes
        (
            kazoo_errors.MarshallingError,
            kazoo_errors.UnimplementedError,
            kazoo_errors.BadArgumentsError,
            kazoo_errors.NoChildrenForEphemeralsError,
            kazoo_errors.EphemeralOnLocalSessionError,
            kazoo_errors.ReconfigDisabledError,
        ),
        Invalid,
    ),
    kazoo_errors.QuotaExceededError: TooLarge,
    kazoo_errors.SessionExpiredError: SessionExpired,
    **dict.fromkeys(  # no answer came
        (
            KazooTimeoutError,
            kazoo_errors.ConnectionLoss,
            kazoo_errors.ConnectionClosedError,
            kazoo_errors.OperationTimeoutError,
            kazoo_errors.RequestTimeoutError,
        ),
        OutcomeUnknown,
    ),
    **dict.fromkeys(  # they answer requests that this backend does not send, or are handled where they are read
        (
            kazoo_errors.RolledBackError,
            kazoo_errors.SystemZookeeperError,
            kazoo_errors.RuntimeInconsistency,
            kazoo_errors.DataInconsistency,
            kazoo_errors.UnknownSessionError,
            kazoo_errors.APIError,
            kazoo_errors.NoNodeError,
            kazoo_errors.BadVersionError,
            kazoo_errors.NodeExistsError,
            kazoo_errors.NotEmptyError,
            kazoo_errors.InvalidCallbackError,
            kazoo_errors.NoWatcherError,
        ),
        OutcomeUnknown,
    ),
}


def translate(error: BaseException, *, sent: bool, key: str | None = None) -> StoreError:
    """The contract's error for kazoo's `error` about a request that was `sent` or certainly not."""
    kind, name = TABLE.get(type(error), OutcomeUnknown), type(error).__name__
    about = "" if key is None else f"{key}: "
    if kind not in {OutcomeUnknown, SessionExpired}:
        # ZooKeeper accepts any digest password; only the rights are missing later
        is_rights = isinstance(error, kazoo_errors.NoAuthError)
        hint = " (no rights: no user, another user, or a wrong password)" if is_rights else ""
        return kind(f"{about}ZooKeeper refused the request: {name}{hint}", key=key)
    if sent:
        return OutcomeUnknown(f"{about}ZooKeeper did not answer whether the request was applied: {name}", key=key)
    if kind is SessionExpired:
        return SessionExpired(f"{about}the session had ended before the request was sent", key=key)
    return Unavailable(f"{about}not sent to ZooKeeper: {name}", key=key)


def refused(code: int, key: str | None = None) -> StoreError:
    """The error for a part of a request that the server answered with `code`."""
    kind = kazoo_errors.EXCEPTIONS.get(code, kazoo_errors.SystemZookeeperError)
    return translate(kind(), sent=True, key=key)
