"""Why no host of a url answers as a ZooKeeper, for the one line that an operator reads.

Rules
* Of each address the last attempt counts. What kazoo tried, it tells only to its log; so each attempt is looked at as
  it fails, on kazoo's connection thread.
* Most causes may pass while a server starts: nobody listens yet, it closes connections until it has a quorum, it says
  nothing. Those are waited for as long as was asked for.
* Some do not: something else answers, a certificate is not believed, a name is known to nobody. Where every host has
  such a cause, and has had it for a while, waiting goes on for nothing. Not at once: a name is published, and a proxy
  finds its server, a moment late.
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

SURE_S: Final = 2.0  # how long every host must have had a cause that does not pass
_CHARACTERS_MAX: Final = 100
_LOOKED_AT_MAX: Final = 8  # of a chain of errors


class NotZooKeeper(ConnectionDropped):  # type: ignore[misc]  # kazoo has no types
    """What answered the request for a session is no answer of a ZooKeeper."""


@attrs.frozen(weakref_slot=False)
class Cause:
    """Why one attempt failed. `passes`: it may be otherwise a moment later, by itself."""

    said: str
    passes: bool = True


_NO_ANSWER: Final = Cause("no answer")


class Causes:
    """What came of the last attempt at each address. One thread writes; readers see it as it was a moment ago."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts: Final = tuple(host.lower() for host in hosts)  # kazoo has them so, too
        self._found: dict[tuple[str, str], Cause] = {}  # by host and address ("": its name gave none)
        self._sure_since_s: float | None = None

    def begun(self, host: str, port: int, address: str) -> None:
        """An attempt goes on: until it fails, nothing worse is known of an address that is tried for the first time."""
        if (_named(host, port), address) not in self._found:
            self.failed(host, port, address, _NO_ANSWER)

    def failed(self, host: str, port: int, address: str, cause: Cause) -> None:
        """An attempt failed. A host that has addresses again has a name that is known."""
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
        """There is contact."""
        self._found = {}
        self._sure_since_s = None

    def is_sure(self, now_s: float) -> bool:
        """Whether every host has been refusing for a while, for a cause that does not pass."""
        since_s = self._sure_since_s
        return since_s is not None and now_s - since_s >= SURE_S

    def __str__(self) -> str:
        """Each host with its cause; empty where nothing failed yet."""
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
    """Why a name has no address; None if it has one now."""
    try:
        socket.getaddrinfo(host, port, 0, 0, socket.IPPROTO_TCP)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            return Cause("the host name cannot be looked up now")
        return Cause("host name not known", passes=False)
    except (OSError, UnicodeError) as error:
        return Cause(f"the host name cannot be looked up: {type(error).__name__}", passes=False)
    return None


def cause_of(error: BaseException) -> Cause:
    """Why an attempt to connect failed with `error` of kazoo, which hides the system's own behind it."""
    if isinstance(error, NotZooKeeper):
        return Cause("something else answered, which does not speak ZooKeeper's protocol", passes=False)
    below = _of_the_system(error)
    if isinstance(below, ssl.SSLError):
        return _of_tls(below)
    if isinstance(below, ConnectionRefusedError):
        return Cause("connection refused")
    if isinstance(below, TimeoutError) or isinstance(error, KazooTimeoutError):
        return _NO_ANSWER
    if below is not None and below.errno not in {errno.ECONNRESET, errno.EPIPE}:
        return Cause((below.strerror or type(below).__name__)[:_CHARACTERS_MAX].lower())
    return Cause("it closed the connection without an answer (not ready, or only for TLS, or no ZooKeeper)")


def _of_tls(error: ssl.SSLError) -> Cause:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Cause(
            f"TLS: its certificate is not believed: {getattr(error, 'verify_message', 'not verified')}"[
                :_CHARACTERS_MAX
            ],
            passes=False,
        )
    if isinstance(error, ssl.SSLEOFError):
        return Cause("TLS: it closed the connection (not ready, or without TLS)")
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
