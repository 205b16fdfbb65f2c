"""The connections of a memory server's clients, and an index of which stream watches which prefix.

Everything here is guarded by the server's lock.
"""

from __future__ import annotations

import attrs

from ..base import Changed, Depth, SessionChanged, SessionState
from ..checks import parent
from ..hints import HintStream
from .table import Touched


@attrs.define(eq=False)
class Link:
    """The connection of one client: its session as the client knows it, and its streams. While it is disconnected, the
    server may have ended the session without the client's knowledge."""

    session_id: int
    connected: bool = True
    closed: bool = False
    cut_at_s: float = 0.0  # when it was disconnected, by the server's clock
    streams: list[HintStream] = attrs.Factory(list)

    def tell(self, *states: SessionState, session_id: int | None = None) -> None:
        """Queue session events on every stream, about this session unless `session_id` names another."""
        of_session = self.session_id if session_id is None else session_id
        for stream in self.streams:
            for state in states:
                stream.push(SessionChanged(state, of_session))

    def resync(self, reason: str) -> None:
        """Queue a Resync on every stream, for each of its prefixes."""
        for stream in self.streams:
            stream.resync(reason)


@attrs.define(eq=False)
class Watches:
    """Which streams watch which prefix: one index per depth, so that a write costs two lookups."""

    by_depth: dict[Depth, dict[str, list[HintStream]]] = attrs.Factory(lambda: {depth: {} for depth in Depth})

    def add(self, prefix: str, depth: Depth, stream: HintStream) -> None:
        """Add a watch; adding it twice has no further effect."""
        streams = self.by_depth[depth].setdefault(prefix, [])
        if stream not in streams:
            streams.append(stream)

    def remove(self, prefix: str, stream: HintStream) -> None:
        """Remove the watches of `stream` on `prefix`, at all depths."""
        for index in self.by_depth.values():
            streams = index.get(prefix, [])
            if stream in streams:
                streams.remove(stream)
                if not streams:
                    del index[prefix]

    def hint(self, touched: Touched) -> None:
        """Queue hints on the streams that watch what `touched` names."""
        own, values, names = (self.by_depth[depth] for depth in (Depth.SELF, Depth.VALUES, Depth.CHILDREN))
        if own or values:
            for key in touched.keys:  # most have no watch
                above = key[: key.rfind("/")] or "/"
                if key in own or above in values:
                    for stream in (*own.get(key, ()), *values.get(above, ())):
                        stream.push(Changed(key))
        if names:
            for key in touched.names:
                for stream in names.get(parent(key), ()):
                    stream.push(Changed(key))
