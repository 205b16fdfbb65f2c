"""What a client knows of ephemeral keys: its own, and which others there may be.

Nothing may stand below an ephemeral key. Who makes one compares that the range below it is empty. Who makes an ordinary
key would have to compare each of its ancestors, and 128 compares are all that etcd takes; so beside each ephemeral key
a *marker* is made, under the same lease, in a range of its own (`Keys.marker`). A client that has listed the markers at
revision R needs one compare: no marker is younger than R. If one is, nothing was applied; it lists them again, from the
answer itself, and sends anew. Only ancestors that have a marker are compared by themselves.
"""

from __future__ import annotations

import threading
from typing import Final

import attrs


@attrs.frozen
class Known:
    """The markers as of `revision`, and the keys that the lease `lease_id` of this client may hold. A marker may
    outlive its key, and an own key may be gone: both are only reasons to compare."""

    revision: int = 0
    marked: frozenset[str] = frozenset()
    lease_id: int = 0
    mine: frozenset[str] = frozenset()


class Ephemerals:
    """The newest of what is known; thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._known = Known()

    def known(self, lease_id: int) -> Known:
        """What is known, for a commit under this lease."""
        with self._lock:
            if self._known.lease_id != lease_id:
                self._known = attrs.evolve(self._known, lease_id=lease_id, mine=frozenset())
            return self._known

    def listed(self, revision: int, marked: frozenset[str]) -> None:
        """These are the markers at `revision`."""
        with self._lock:
            if revision > self._known.revision:
                self._known = attrs.evolve(self._known, revision=revision, marked=marked)

    def put(self, lease_id: int, keys: frozenset[str]) -> None:
        """Afterwards the client may hold these."""
        self._change(lease_id, keys, frozenset())

    def deleted(self, lease_id: int, keys: frozenset[str]) -> None:
        """Afterwards the client does not hold these."""
        self._change(lease_id, frozenset(), keys)

    def _change(self, lease_id: int, more: frozenset[str], less: frozenset[str]) -> None:
        with self._lock:
            if lease_id == self._known.lease_id and (more or less & self._known.mine):
                self._known = attrs.evolve(self._known, mine=(self._known.mine - less) | more)
