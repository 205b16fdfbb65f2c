"""How what stands in the store is described, and what a client believes to be there.

A version of a key that a client holds is described by whether it is the one in the store: the store counts over all
keys, so one that is not it will never be it again. The same goes for the token in front of a commit that is under way,
so its number and its nonce are left out. Hints of the store are flags ("look again"): which of them wait counts, not
their order.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any, Final

from kedge.controller.codec import keys
from kedge.controller.rig.server import RecordingServer
from kedge.stores.base import ABSENT, PRESENT, Changed, Put, Resync, SessionChanged, StoreEvent
from kedge.stores.memory.stream import Link
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from kedge.stores.recipes.fence import Attempt, Fence
from tests.verify.exhaustion.walk import Walk

LEADER_EPOCH: Final = "leader epoch"
PARTITION_EPOCH: Final = "partition epoch"
CONTROLLER_EPOCH: Final = "controller epoch"
BROKER_EPOCH: Final = "broker epoch"
SEQ: Final = "seq"
SESSION: Final = "session"

_TOLD_APART: Final = frozenset({TOKEN_KEY, LEADER_KEY, EPOCH_KEY})
_RANKS: Final = {"leader_epoch": LEADER_EPOCH, "controller_epoch": CONTROLLER_EPOCH, "broker_epoch": BROKER_EPOCH}
_TIMES: Final = frozenset({"timestamp", "started_ms", "deadline_ms"})
_PARSED: Final[dict[bytes, tuple[object, ...]]] = {}


class Stored(Walk):
    """A walk that begins with the store of a rig."""

    def __init__(self, server: RecordingServer, now_ms: int, wait_ms: int) -> None:
        super().__init__(now_ms, wait_ms)
        self.server = server
        self.rows = server.table.rows

    def store(self) -> None:
        """Every key, and when those go whose session runs out. A session that owns nothing is left out."""
        for path in sorted(self.rows):
            value, _, generation, created, owner = self.rows[path]
            self.path(path)
            self.name(SESSION, owner)
            if path.startswith(keys.BROKER_IDS):
                self.rank(BROKER_EPOCH, created)
            elif path == EPOCH_KEY:
                self.rank(CONTROLLER_EPOCH, int(value))
            elif path not in _TOLD_APART:
                self.rank(PARTITION_EPOCH, generation)
                self.json(value)
        owners = {row[4] for row in self.rows.values()}
        for link in self.server._cut:  # noqa: SLF001 - what runs out there is known to it alone
            if link.session_id in owners:
                self._runs_out(link)

    def _runs_out(self, link: Link) -> None:
        self.name(SESSION, link.session_id)
        self.due((link.cut_at_s + self.server.session_timeout_s) * 1000)

    def path(self, path: str) -> None:
        """A key; the number in it is a rank."""
        head, slash, seq = path.rpartition("/")
        if path.startswith(keys.REPLICA_DELETIONS) and seq.isdecimal():
            self.say(head + slash)
            self.rank(SEQ, int(seq))
        else:
            self.say(path)

    def json(self, value: bytes) -> None:
        """What stands in a key, without the times that are only written down."""
        words = _PARSED.get(value)
        if words is None:
            words = _PARSED[value] = tuple(_words(json.loads(value)))
        for word in words:
            if type(word) is tuple:
                self.rank(*word)
            else:
                self.say(word)

    def holds(self, path: str, expect: object) -> bool:
        """Whether a key stands as a client believes or expects it."""
        row = self.rows.get(path)
        if row is None:
            return expect is ABSENT or expect == 0
        return expect is PRESENT or (expect is not ABSENT and row[1] == expect)

    # --- commits under way

    def op(self, op: Any) -> None:
        self.path(op.key)
        self.say((type(op).__name__, self.holds(op.key, op.expect)))
        if isinstance(op, Put) and op.key not in _TOLD_APART:
            self.json(op.value)

    def attempt(self, attempt: Attempt) -> None:
        row = self.rows.get(TOKEN_KEY)
        now = None if row is None else row[0]
        before = None if attempt.before is None else attempt.before.encode()
        self.say((now == attempt.after.encode(), now == before, self.holds(EPOCH_KEY, attempt.epoch_version)))
        self.each(attempt.ops)

    def fence(self, fence: Fence) -> None:
        self.say((self.holds(TOKEN_KEY, fence.token_version), self.holds(EPOCH_KEY, fence.term.epoch_version)))

    def key_version(self, at: Any) -> None:
        same = [path for path, row in self.rows.items() if row[1] == at.version and path.startswith(keys.TOPICS)]
        self.each(sorted(same))
        self.rank(PARTITION_EPOCH, at.generation)

    def late_commits(self, store: Any) -> None:
        """One that cannot be applied any more is none."""
        for late in store._late:  # noqa: SLF001 - it shows only how many there are
            if all(self.holds(op.key, op.expect) for op in late.ops):
                self.each(late.ops)
                self.name(SESSION, late.session_id)

    # --- clients

    def memory_store(self, store: Any, of_interest: Container[str] | None = None) -> None:
        """A session as its client knows it, whether it lives, and what it has not heard yet. `of_interest`: the keys
        that it would look at again, None for all."""
        link = store._link  # noqa: SLF001 - what a client has not heard yet stands there only
        if self.has_met(link):
            return
        self.name(SESSION, link.session_id)
        self.say((link.connected, link.closed, link.session_id in self.server._links))  # noqa: SLF001
        if not link.connected:
            self._runs_out(link)
        for stream in link.streams:
            self.each(heard(stream._queue._queue, of_interest))  # noqa: SLF001

    def node_store(self, store: Any, of_interest: Container[str] | None = None) -> None:
        """The store of a controller, with what goes wrong there."""
        self.say(store.is_deaf)
        self.name(SESSION, store.session.session_id)
        self.memory_store(store.inner, of_interest)
        for stream in store._streams:  # noqa: SLF001 - as above
            self.each(heard(stream._extra, of_interest))  # noqa: SLF001
        self.late_commits(store)


def where(event: StoreEvent) -> str:
    """What a hint hints at."""
    return event.key if isinstance(event, Changed) else event.prefix if isinstance(event, Resync) else ""


def heard(queue: Any, of_interest: Container[str] | None) -> list[object]:
    """What waits in a stream: the hints, then what the session went through."""
    sessions = [(event.state.name, event.session_id) for event in queue if isinstance(event, SessionChanged)]
    hints = {where(event) for event in queue if not isinstance(event, SessionChanged)}
    hints = hints if of_interest is None else {hint for hint in hints if hint in of_interest}
    return [*sorted(hints), *(state for state, _ in sessions)]


def _words(found: Any) -> list[object]:
    """Parsed JSON, flat; ranks stand as pairs."""
    if isinstance(found, list):
        return ["[", *(word for member in found for word in _words(member)), "]"]
    if not isinstance(found, dict):
        return [found]
    words: list[object] = ["{"]
    for name in sorted(set(found) - _TIMES):
        words.append(name)
        words += [(_RANKS[name], found[name])] if name in _RANKS else _words(found[name])
    return [*words, "}"]
