"""Translates gRPC's errors into the errors of this library.

Rules
* A call is sent only over a connection that has answered before (`session.py` waits for one). So any later error means
  that it was sent, unless the server says that it refused. An unknown error is OutcomeUnknown.
* etcd reports most conditions by a code, some only by the text. The texts are those of etcd 3.4 to 3.6
  (api/v3rpc/rpctypes/error.go). A text is compared only under its code.
* "mvcc: database space exceeded" is unknown: the server sends it before applying, but also after it has applied.
"""

from __future__ import annotations

from typing import Any, Final

from ..base import (
    Invalid,
    OutcomeUnknown,
    SessionExpired,
    StoreError,
    TooLarge,
    Unauthorized,
    Unavailable,
)

# Code -> (fragment of the text, error); the first fragment that occurs counts, and "" always occurs.
TABLE: Final[dict[str, tuple[tuple[str, type[StoreError]], ...]]] = {
    "UNAUTHENTICATED": (("", Unauthorized),),
    "PERMISSION_DENIED": (("", Unauthorized),),
    "NOT_FOUND": (("lease not found", SessionExpired),),
    "INVALID_ARGUMENT": (
        ("authentication failed", Unauthorized),
        ("user name is empty", Unauthorized),
        ("auth store is old", Unauthorized),
        ("request is too large", TooLarge),
        ("too many operations", TooLarge),
        ("duplicate key", Invalid),
        ("key is not provided", Invalid),
        ("key not found", Invalid),  # a put that keeps the lease of a missing key
    ),
    "FAILED_PRECONDITION": (
        ("authentication is not enabled", Unauthorized),
        ("user name not found", Unauthorized),
        ("user name is empty", Unauthorized),
    ),
    "RESOURCE_EXHAUSTED": (
        ("too many requests", Unavailable),
        ("trying to send message larger", TooLarge),
    ),
    "UNAVAILABLE": (
        ("etcdserver: no leader", Unavailable),
        ("etcdserver: not capable", Unavailable),
        ("failed to connect to all addresses", Unavailable),  # gRPC had no connection to send it over
    ),
    "UNIMPLEMENTED": (("", Unavailable),),
}
STALE_TOKEN: Final = (
    ("UNAUTHENTICATED", "invalid auth token"),
    ("INVALID_ARGUMENT", "auth store is old"),
)
COMPACTED: Final = ("OUT_OF_RANGE", "has been compacted")
FUTURE: Final = ("OUT_OF_RANGE", "future revision")


def code_and_text(error: Exception) -> tuple[str, str]:
    """The name of gRPC's code, and the text of the server or gRPC. For another exception: its class and its text."""
    code, details = getattr(error, "code", None), getattr(error, "details", None)
    if callable(code) and callable(details):
        return getattr(code(), "name", "UNKNOWN"), str(details() or "")
    return type(error).__name__, str(error)


def says(error: Exception, *what: tuple[str, str]) -> bool:
    """Whether the error is one of `what`: (code, fragment of the text)."""
    code, text = code_and_text(error)
    return any(code == wanted and fragment in text for wanted, fragment in what)


def translate(error: Exception, doing: str, *, key: str | None = None) -> StoreError:
    """The error of this library for what a sent call raised."""
    if isinstance(error, StoreError):
        return error
    code, text = code_and_text(error)
    kind = next((kind for fragment, kind in TABLE.get(code, ()) if fragment in text), OutcomeUnknown)
    return kind(f"etcd: {doing}: {_shown(code, text)}", key=key)


def not_connected(error: Exception | None, doing: str, place: str) -> StoreError:
    """The error for a call that got no connection; `error`: why the last attempt failed."""
    if isinstance(error, StoreError):
        return error
    known = None if error is None else translate(error, doing)
    return known if isinstance(known, Unauthorized) else Unavailable(f"etcd: {doing}: {why_not(error, place)}")


def why_not(error: Exception | None, place: str) -> str:
    """In words for people that there is no connection, and why, if that is known."""
    return (
        f"no connection to {place}" if error is None else f"no etcd answers at {place}: {_shown(*code_and_text(error))}"
    )


def _shown(code: str, text: str) -> str:
    first: Any = text.splitlines()[0] if text else ""
    return f"{code} {first}"[:300].rstrip()
