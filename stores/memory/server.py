"""The server of the memory store: keys, sessions, and methods by which tests break connections and sessions.

Rules
* One lock guards the keys, the sessions and the streams. The only user code that runs under it is the injected clock.
* Nothing happens by itself. A disconnected client loses its session when the clock says so *and* a call reaches the
  server (any call of any client, a `poll`, or `tick()`). So runs under a virtual clock are deterministic.
* Session ids count up from `first_session_id`; revisions count the commits that wrote something. Neither depends on a
  wall clock.
* The content is lost when the process ends, unless it is saved: `save(path)` writes one file, atomically. With `file`,
  the server starts with the content of that file (if it exists), and saves to it on `save()`, on `close()`, and when
  its last client closes. Single commits are not written: a crash loses everything since the last save. Until `close()`,
  no other server with that `file` can be created, in this process or another; `load` can still read it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

from ..base import Capabilities, Closed, Commit, Conflict, Invalid, Op, SessionState, Unavailable
from ..checks import check_key, check_ops
from ..tree import TreeEntry, kept
from .file import Image, read_image, write_image
from .lock import locked
from .stream import Link, Watches
from .table import Table, Touched

Versioning = Literal["global", "per_key"]

_FOREVER_S: Final = 3600.0


class MemoryServer:
    """A metadata server in this process. Thread-safe. Clients are `MemoryStore(server)`.

    `versioning`: "global" counts as etcd does (a version is the revision of the last write and never returns),
    "per_key" as ZooKeeper does (versions begin again when a key is created again). `clock`: seconds; it is read only to
    end the sessions of disconnected clients. `queue_events_max`: the bound of each subscription.
    """

    def __init__(
        self,
        versioning: Versioning = "global",
        *,
        session_timeout_s: float = 18.0,
        clock: Callable[[], float] = time.monotonic,
        value_bytes_max: int = 950_000,
        commit_ops_max: int = 10_000,
        commit_bytes_max: int = 16_000_000,
        queue_events_max: int = 1024,
        first_session_id: int = 1,
        file: str | PathLike[str] | None = None,
    ) -> None:
        if versioning not in ("global", "per_key"):
            raise Invalid(f"versioning must be 'global' or 'per_key', not {versioning!r}")
        limits = (session_timeout_s, value_bytes_max, commit_ops_max, commit_bytes_max, queue_events_max)
        if min(limits) <= 0:
            raise Invalid("session_timeout_s and the limits of a memory server must be above 0")
        self.versioning: Final = versioning
        self.session_timeout_s: Final = session_timeout_s
        self.queue_events_max: Final = queue_events_max
        self.file: Final = None if file is None else Path(file)
        self.capabilities: Final = Capabilities(
            name=f"memory ({versioning})",
            value_bytes_max=value_bytes_max,
            commit_ops_max=commit_ops_max,
            commit_bytes_max=commit_bytes_max,
            atomic_snapshot=True,
            versions_unique=versioning == "global",
            parents_stay=False,
            session_timeout_s_min=0.0,
        )
        self.lock: Final = threading.RLock()
        self.table: Final = Table(per_key=versioning == "per_key")
        self.watches: Final = Watches()
        self._clock = clock
        self._links: dict[int, Link] = {}
        self._cut: list[Link] = []  # disconnected clients with a live session, in the order of their disconnection
        self._next_session_id = first_session_id
        self._saving = threading.Lock()
        self._closed = False
        self.closes_with_clients = False
        self._unlock = locked(self.file, self) if self.file is not None else lambda: None
        try:
            if self.file is not None and self.file.exists():
                self._fill(read_image(self.file))
        except BaseException:
            self._unlock()
            raise

    @classmethod
    def load(cls, path: str | PathLike[str], **options: Any) -> MemoryServer:
        """A server with the content of a file by `save(path)`; `options` are those of the constructor. The versioning
        is the file's unless `options` give another; versions are then counted again. Raises Corrupt for a torn or
        foreign file, OSError if it cannot be read. The server does not save to that file; use `file=` for that."""
        image = read_image(Path(path))
        server = cls(**{"versioning": image.versioning, **options})
        server._fill(image)
        return server

    # Hooks

    @property
    def sessions(self) -> tuple[int, ...]:
        """The ids of all live sessions, oldest first."""
        with self.lock:
            self.tick()
            return tuple(sorted(self._links))

    @property
    def revision(self) -> int:
        """How many commits wrote something since the tree was created."""
        return self.table.revision

    def tick(self) -> None:
        """End the session of each client that was disconnected for `session_timeout_s` by the clock."""
        with self.lock:
            while self._cut and self.next_expiry_s() <= 0:
                self.expire(self._cut[0].session_id)

    def expire(self, session_id: int) -> bool:
        """End a session as if it had timed out: its ephemeral keys are deleted at once. A connected client gets Lost,
        then Started with a new session, and Resync "session"; a disconnected one gets them when it reconnects. False if
        there is no such session."""
        with self.lock:
            link = self._links.pop(session_id, None)
            if link is None:
                return False
            if link in self._cut:
                self._cut.remove(link)
            self.watches.hint(self.table.drop_owner(session_id))
            if link.connected:
                self._begin_again(link)
            return True

    def plant(self, entries: Iterable[TreeEntry]) -> int:
        """Put recorded entries with their generation, as one commit, without ephemeral ones and mere parents. Returns
        how many were put. Raises Conflict, and puts none, if one of the keys exists."""
        with self.lock:
            planted = list(kept(entries))
            for index, (key, _, _) in enumerate(planted):
                check_key(key)
                if key in self.table.rows:
                    raise Conflict(f"{key}: cannot be planted, since it exists", key=key, index=index)
            self.table.revision += 1
            revision = self.table.revision
            touched = Touched()
            for key, value, generation in planted:
                version = generation + 1 if self.table.per_key else revision
                self.table.create(key, (value, version, generation, revision, None), touched)
            self.watches.hint(touched)
            return len(planted)

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write all keys except ephemeral ones to `path` (default: `file`), as of one instant, atomically: the file is
        the old or the new one, never a part. Raises OSError if it cannot be written."""
        target = self.file if path is None else Path(path)
        if target is None:
            raise Invalid("save() without a path needs a server with file=")
        with self._saving:
            with self.lock:
                image = Image(self.versioning, self.table.revision, dict(self.table.rows))
            write_image(target, image)

    def close(self) -> None:
        """Close every client, and save if there is a `file`. Idempotent."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            for link in list(self._links.values()):
                self.end(link)
        try:
            if self.file is not None:
                self.save()  # not under the lock: `save` takes its own lock first, and a file may be slow
        finally:
            self._unlock()

    # What clients call

    def connect(self) -> Link:
        """Begin a session."""
        with self.lock:
            if self._closed:
                raise Closed("the memory server was closed")
            link = Link(self._begin())
            self._links[link.session_id] = link
            return link

    def contact(self, link: Link) -> None:
        """Raise Closed or Unavailable unless the client is connected. Call with the lock held."""
        if link.closed:
            raise Closed("the store was closed")
        if self._cut:
            self.tick()
        if not link.connected:
            raise Unavailable("the client is disconnected from the memory server")

    def commit(self, link: Link, ops: Sequence[Op]) -> Commit:
        """Apply all ops or none, for the session of `link`, and hint at the changes."""
        check_ops(ops, self.capabilities, self.table.rows)  # existing keys were checked at their creation
        with self.lock:
            self.contact(link)
            commit, touched = self.table.commit(ops, link.session_id)
            self.watches.hint(touched)
            return commit

    def cut(self, link: Link) -> None:
        """Disconnect the client from the server. From now on its session can time out."""
        with self.lock:
            if link.closed or not link.connected:
                return
            link.connected = False
            link.cut_at_s = self._clock()
            self._cut.append(link)
            link.tell(SessionState.SUSPENDED)
            for other in self._links.values():
                for stream in other.streams:
                    stream.wake()  # a waiting poll has to end this session in time

    def heal(self, link: Link) -> None:
        """Reconnect the client: its session continues, or a new one begins if it has ended."""
        with self.lock:
            self.tick()
            if link.closed or link.connected:
                return
            link.connected = True
            if self._links.get(link.session_id) is link:
                self._cut.remove(link)
                link.tell(SessionState.RESUMED)
                link.resync("reconnected")
            else:
                self._begin_again(link)

    def end(self, link: Link) -> None:
        """Close the client. The session of a disconnected client lives until it times out."""
        with self.lock:
            if link.closed:
                return
            link.closed = True
            for stream in list(link.streams):
                stream.end()
            if link.connected:
                self._links.pop(link.session_id, None)
                self.watches.hint(self.table.drop_owner(link.session_id))
            last = not self._closed and all(other.closed for other in self._links.values())
        if last and self.file is not None:
            self.close() if self.closes_with_clients else self.save()

    def next_expiry_s(self) -> float:
        """The seconds, by the clock, until the next session of a disconnected client ends."""
        if not self._cut:
            return _FOREVER_S
        return self._cut[0].cut_at_s + self.session_timeout_s - self._clock()

    def _begin(self) -> int:
        session_id = self._next_session_id
        self._next_session_id += 1
        return session_id

    def _begin_again(self, link: Link) -> None:
        lost, link.session_id = link.session_id, self._begin()
        self._links[link.session_id] = link
        link.tell(SessionState.LOST, session_id=lost)
        link.tell(SessionState.STARTED)
        link.resync("session")

    def _fill(self, image: Image) -> None:
        recount = image.versioning != self.versioning
        self.table.revision = image.revision
        touched = Touched()
        for key, row in image.rows.items():
            value, version, generation, created, _ = row
            if recount:
                version = generation + 1 if self.table.per_key else image.revision
            self.table.create(key, (value, version, generation, created, None), touched)
