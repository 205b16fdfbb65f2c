"""Why no host of a url answers as a ZooKeeper, as one line for the operator.

Rules
* For each address the last attempt counts. kazoo reports attempts only to its log, so each failure is examined when it
  happens, on kazoo's connection thread.
* Most causes may be temporary while a server starts: nothing listens yet, the server closes connections until it has a
  quorum, or it does not answer. These are waited for until the timeout.
* Some are permanent: another service answers, a certificate is not trusted, a host name is unknown. If every host has
  had such a cause for a while, waiting ends early. Not at once, since a name may be published, or a proxy may find its
  server, a moment later.
"""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Final

import attrs
from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import KazooTimeoutError

SURE_S: Final = 2.0  # how long every host must have had a permanent cause
_CHARACTERS_MAX: Final = 100
_LOOKED_AT_MAX: Final = 8  # errors of a chain


class NotZooKeeper(ConnectionDropped):  # type: ignore[misc]  # kazoo has no types
    """The answer to the request for a session did not come from a ZooKeeper."""


@attrs.frozen(weakref_slot=False)
class Cause:
    """Why one attempt failed. `passes`: it may be temporary."""

    said: str
    passes: bool = True


_NO_ANSWER: Final = Cause("no answer")


class Causes:
    """The result of the last attempt at each address. One thread writes; readers may see a slightly older state."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts: Final = tuple(host.lower() for host in hosts)  # lower case, as in kazoo
        self._found: dict[tuple[str, str], Cause] = {}  # by host and address ("": the name has no address)
        self._sure_since_s: float | None = None

    def begun(self, host: str, port: int, address: str) -> None:
        """An attempt began. An address without an earlier attempt counts as not answering until it fails."""
        if (_named(host, port), address) not in self._found:
            self.failed(host, port, address, _NO_ANSWER)

    def failed(self, host: str, port: int, address: str, cause: Cause) -> None:
        """An attempt failed. An address replaces the finding that the host name is unknown."""
        name = _named(host, port)
        found = {
            place: one for place, one in self._found.items() if place[0] != name or bool(place[1]) == bool(address)
        }
        self._found = {**found, (name, address): cause}
        if not self._hopeless():
            self._sure_since_s = None
        elif self._sure_since_s is None:
            self._sure_since_s = time.monotonic()

    def clear(self) -> None:
        """The client is connected."""
        self._found = {}
        self._sure_since_s = None

    def is_sure(self, now_s: float) -> bool:
        """Whether every host has had a permanent cause for a while."""
        since_s = self._sure_since_s
        return since_s is not None and now_s - since_s >= SURE_S

    def __str__(self) -> str:
        """Each host with its cause; empty if nothing failed yet."""
        found: dict[str, list[str]] = {}
        for (name, _), cause in self._found.items():
            if cause.said not in found.setdefault(name, []):
                found[name].append(cause.said)
        return "; ".join(f"{name}: {', '.join(said)}" for name, said in sorted(found.items()))

    def _hopeless(self) -> bool:
        tried = {name for name, _ in self._found}
        return tried.issuperset(self._hosts) and not any(cause.passes for cause in self._found.values())


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def not_resolved(host: str, port: int) -> Cause | None:
    """Why a host name has no address; None if it has one now."""
    try:
        socket.getaddrinfo(host, port, 0, 0, socket.IPPROTO_TCP)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            return Cause("the host name cannot be looked up now")
        return Cause("unknown host name", passes=False)
    except (OSError, UnicodeError) as error:
        return Cause(f"the host name cannot be looked up: {type(error).__name__}", passes=False)
    return None


def cause_of(error: BaseException) -> Cause:
    """Why an attempt to connect failed with kazoo's `error`, which wraps the system's error."""
    if isinstance(error, NotZooKeeper):
        return Cause("another service answered, which does not speak ZooKeeper's protocol", passes=False)
    below = _of_the_system(error)
    if isinstance(below, ssl.SSLError):
        return _of_tls(below)
    if isinstance(below, ConnectionRefusedError):
        return Cause("connection refused")
    if isinstance(below, TimeoutError) or isinstance(error, KazooTimeoutError):
        return _NO_ANSWER
    if below is not None and below.errno not in {errno.ECONNRESET, errno.EPIPE}:
        return Cause((below.strerror or type(below).__name__)[:_CHARACTERS_MAX].lower())
    return Cause("closed the connection without an answer (not ready, or only for TLS, or no ZooKeeper)")


def _of_tls(error: ssl.SSLError) -> Cause:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Cause(
            f"TLS: the certificate is not trusted: {getattr(error, 'verify_message', 'not verified')}"[
                :_CHARACTERS_MAX
            ],
            passes=False,
        )
    if isinstance(error, ssl.SSLEOFError):
        return Cause("TLS: closed the connection (not ready, or without TLS)")
    return Cause(
        f"TLS: {(getattr(error, 'reason', None) or 'failed').replace('_', ' ').lower()}"[:_CHARACTERS_MAX], passes=False
    )


def _of_the_system(error: BaseException) -> OSError | None:
    found: BaseException | None = error
    for _ in range(_LOOKED_AT_MAX):
        if found is None or isinstance(found, OSError):
            return found
        found = found.__cause__ or found.__context__
    return None
