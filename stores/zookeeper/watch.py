"""The watches of one subscription at one prefix: ZooKeeper's one-shot watches, set again each time.

Rules
* Nothing here waits. Callbacks put the answers to requests into the stream's inbox, and the polling thread continues
  from there. So `poll(0)` never waits, and a stream that is not polled does not grow.
* A hint is given after its watch has been set again, not before: a reader that reads then misses nothing, since a later
  write fires the new watch.
* Names that came and went between two lists are in neither, yet a reader may have found them. Their parent counts
  creations and deletions, so it shows that there were some, though not which: then a Resync is given.
* Answers and events of an older connection are ignored: its watches are gone, and a Resync replaces them.
* A name that reappears is watched again: the list of names may look the same before and after.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Protocol

from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.protocol.serialization import Exists, GetChildren2

from ..base import Changed, Depth, Resync, StoreEvent
from ..checks import below
from .link import Link
from .snapshot import is_ours
from .watching import SetWatches, parted

_IN_FLIGHT: Final = 100
_MANY: Final = 20  # from this number on, nodes are watched by one request rather than one by one
_Counted = tuple[int, int]
"""The transaction that created the parent, and how many children it has created and deleted."""
_NO_NODE: Final = 0
_NOTHING: Final[_Counted] = (_NO_NODE, 0)
_COUNTS: Final = 2**32
_DELETED: Final = "DELETED"
_NONE: Final = "NONE"


class Inbox(Protocol):
    """Takes answers and events; they run on the polling thread, in order."""

    def put(self, job: Callable[[], None]) -> None: ...


class Watch:
    """One prefix at one depth. All methods run on the polling thread, except callbacks that only enqueue."""

    def __init__(self, link: Link, prefix: str, depth: Depth, inbox: Inbox, emit: Callable[[StoreEvent], None]) -> None:
        self.prefix: Final = prefix
        self.depth: Final = depth
        self.failed = False  # a request of the present connection failed: set all watches again
        self._link = link
        self._inbox = inbox
        self._emit = emit
        self._root = link.address.chroot
        self._removed = False
        self._begun = False
        self._reset("initial")

    def arm(self, reason: str) -> None:
        """Watch from now on. Resync(prefix, reason) follows when all watches are set; the first is "initial"."""
        self._reset(reason if self._begun else "initial")
        if self.depth is Depth.SELF:
            self._arm_node(self.prefix)
        else:
            self._arm_names()

    def remove(self) -> None:
        """Stop watching. Watches on the server fire once more and are ignored."""
        self._removed = True

    def _reset(self, reason: str) -> None:
        self.failed = False
        self._life = object()  # identifies the present requests and watches; older ones are ignored
        self._announce = reason
        self._pending = 0
        self._names: set[str] = set()
        self._listed: frozenset[str] = frozenset()  # with those of other programs, which are no keys
        self._counted = _NOTHING
        self._armed: set[str] = set()
        self._to_arm: deque[str] = deque()
        self._fired: list[str] = []
        self._asking = False
        self._again = False

    # The node itself, and the nodes below it

    def _arm_node(self, key: str) -> None:
        self._armed.add(key)
        if self._pending >= _IN_FLIGHT:
            self._to_arm.append(key)
            return
        self._ask(Exists(self._path(key), self._firing(lambda event: self._node_fired(key, event))),
                  lambda _, error: self._node_armed(key, error))  # fmt: skip

    def _arm_nodes(self, keys: list[str]) -> None:
        """Watch many existing nodes at once. Any change since they were listed fires as soon as they are watched."""
        self._armed.update(keys)
        key_at = {self._path(key): key for key in keys}
        watchers = {path: self._firing(partial(self._node_fired, key)) for path, key in key_at.items()}
        for part in parted(watchers):
            self._ask(SetWatches(self._link.client, self._link.client.last_zxid, part),
                      partial(self._nodes_armed, [key_at[path] for path in part]))  # fmt: skip

    def _nodes_armed(self, keys: list[str], _: object, error: Exception | None) -> None:
        if self._failed(error):
            return
        for key in keys:
            self._hint(key)
        self._settle()

    def _node_armed(self, key: str, error: Exception | None) -> None:
        if self._failed(error):
            return
        self._hint(key)
        if self._to_arm:
            self._arm_node(self._to_arm.popleft())
        self._settle()

    def _node_fired(self, key: str, event: Any) -> None:
        self._armed.discard(key)
        if key != self.prefix and event.type == _DELETED:
            self._hint(key)  # if it reappears, the list of names has it
        elif key == self.prefix or key in self._names:
            self._fired.append(key)

    def go_on(self) -> None:
        """Set the watches that fired again, together: one commit may write a hundred of the keys."""
        fired, self._fired = [key for key in dict.fromkeys(self._fired) if key not in self._armed], []
        if len(fired) >= _MANY:
            self._arm_nodes(fired)
            return
        for key in fired:
            self._arm_node(key)

    # The names

    def _arm_names(self) -> None:
        if self._asking:
            self._again = True
            return
        self._asking = True
        self._ask(GetChildren2(self._path(self.prefix), self._firing(self._names_fired)), self._names_came)

    def _names_fired(self, _: Any) -> None:
        self._arm_names()

    def _names_came(self, found: tuple[list[str], Any], error: Exception | None) -> None:
        if isinstance(error, NoNodeError | NoAuthError):
            self._take_names(frozenset(), _NOTHING)
            denied = isinstance(error, NoAuthError)
            self._ask(Exists(self._path(self.prefix), self._firing(self._names_fired)),
                      lambda stat, error: self._absence_armed(stat, error, denied=denied))  # fmt: skip
        elif not self._failed(error):
            names, stat = found
            self._take_names(frozenset(names), (stat.czxid, stat.cversion))
            self._asked()

    def _absence_armed(self, stat: Any, error: Exception | None, *, denied: bool) -> None:
        if not self._failed(error):
            self._again = self._again or (stat is not None and not denied)  # it was created in between
            self._asked()

    def _asked(self) -> None:
        self._asking = False
        if self._again:
            self._again = False
            self._arm_names()
        self._settle()

    def _take_names(self, listed: frozenset[str], counted: _Counted) -> None:
        is_known = self._is_known(listed, counted)
        self._listed, self._counted = listed, counted
        if not (is_known or self._announce):
            self._emit(Resync(self.prefix, "unseen"))
        names = self._keys(listed)
        appeared, vanished = names - self._names, self._names - names
        self._names = names
        if self.depth is Depth.CHILDREN:
            for key in sorted(appeared | vanished):
                self._hint(key)
            return
        self._armed -= vanished
        for key in sorted(vanished):
            self._hint(key)
        unwatched = sorted(names - self._armed)
        if len(unwatched) >= _MANY:
            self._arm_nodes(unwatched)
            return
        for key in unwatched:
            self._arm_node(key)

    def _is_known(self, listed: frozenset[str], counted: _Counted) -> bool:
        """Whether the names that appeared and vanished are all that happened since the last list."""
        (before_id, before), (node_id, count) = self._counted, counted
        if node_id == _NO_NODE or (before_id not in {_NO_NODE, node_id}):
            return before_id == node_id  # the parent went, and maybe came again: what was below it is not known
        return (count - before) % _COUNTS == len(listed ^ self._listed)

    def _keys(self, names: Iterable[str]) -> set[str]:
        """The keys of `names`; names that are not valid keys belong to other programs and are skipped."""
        return {key for name in names if is_ours(key := below(self.prefix) + name, self._root)}

    # Common

    def _hint(self, key: str) -> None:
        if not self._announce:
            self._emit(Changed(key))

    def _settle(self) -> None:
        if self._announce and not self._pending and not self._asking:
            reason, self._announce, self._begun = self._announce, "", True
            self._emit(Resync(self.prefix, reason))

    def _ask(self, request: Any, then: Callable[[Any, Exception | None], None]) -> None:
        self._pending += 1
        life = self._life

        def came(value: Any, error: Exception | None) -> None:
            if life is self._life and not self._removed:
                self._pending -= 1
                then(value, error)

        self._link.send_to(request, lambda value, error: self._inbox.put(lambda: came(value, error)))

    def _firing(self, then: Callable[[Any], None]) -> Callable[[Any], None]:
        """A watcher for kazoo, which is called on kazoo's thread."""
        life = self._life

        def fired(event: Any) -> None:
            if life is self._life and not self._removed:
                then(event)

        def enqueue(event: Any) -> None:
            if event.type != _NONE:
                self._inbox.put(lambda: fired(event))

        return enqueue

    def _failed(self, error: Exception | None) -> bool:
        """Whether there was an error. Then everything is armed again, soon or with the next connection."""
        if error is not None:
            self.failed = True
        return error is not None

    def _path(self, key: str) -> str:
        return (self._root + key) if key != "/" else (self._root or "/")
