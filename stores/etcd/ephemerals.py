"""What a client knows about ephemeral keys: its own, and the markers of all.

No key may be below an ephemeral key. A commit that creates an ephemeral key compares that the range below it is empty.
A commit that creates an ordinary key would have to compare each of its ancestors, and etcd allows only 128 compares. So
beside each ephemeral key a *marker* is put, under the same lease, in a separate range (`Keys.marker`). A client that
listed the markers at revision R needs one compare: no marker is newer than R. If one is, nothing was applied; the
client takes the new markers from the answer and sends the commit again. Only ancestors with a marker are compared one
by one.
"""

from __future__ import annotations

import threading
from typing import Final

import attrs


@attrs.frozen
class Known:
    """The markers as of `revision`, and the keys that the lease `lease_id` of this client may hold. A marker may
    outlive its key, and an own key may be gone: both only cause additional compares."""

    revision: int = 0
    marked: frozenset[str] = frozenset()
    lease_id: int = 0
    mine: frozenset[str] = frozenset()


class Ephemerals:
    """The latest knowledge; thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._known = Known()

    def known(self, lease_id: int) -> Known:
        """The present knowledge, for a commit under this lease."""
        with self._lock:
            if self._known.lease_id != lease_id:
                self._known = attrs.evolve(self._known, lease_id=lease_id, mine=frozenset())
            return self._known

    def listed(self, revision: int, marked: frozenset[str]) -> None:
        """Record that these are the markers at `revision`."""
        with self._lock:
            if revision > self._known.revision:
                self._known = attrs.evolve(self._known, revision=revision, marked=marked)

    def put(self, lease_id: int, keys: frozenset[str]) -> None:
        """Record that the client may hold these keys."""
        self._change(lease_id, keys, frozenset())

    def deleted(self, lease_id: int, keys: frozenset[str]) -> None:
        """Record that the client does not hold these keys."""
        self._change(lease_id, frozenset(), keys)

    def _change(self, lease_id: int, more: frozenset[str], less: frozenset[str]) -> None:
        with self._lock:
            if lease_id == self._known.lease_id and (more or less & self._known.mine):
                self._known = attrs.evolve(self._known, mine=(self._known.mine - less) | more)
