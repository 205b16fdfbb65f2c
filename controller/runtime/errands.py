"""Errands: keys that others put for the controller to work off: to do what they ask for, and to delete them.

* A key is read on a hint and at the beginning of a term; what it asks for is decided in events, and a fenced commit
  deletes it at the version that was read (`ErrandDone` -> `ErrandWorkedOff`), as the last of them. A crash in between
  leaves the key: the next term reads it again, so what is asked for must bear to be done twice.
* A key that was put anew meanwhile is a Conflict: it is read again, and worked off for what it says then.
* One that cannot be read goes as well: nobody else would delete it. It is a finding until the next of its kind is
  worked off.
* One that may not be read is left alone: it could not be removed at a version. It is read once it can be.
* To add a kind: its path here, its event in `_READ`; the rule ends with `ErrandDone`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller.codec import BadValue, keys, notifications
from controller.model.events import ErrandDone, Event, LogDirNotified, PreferredElectionPut, StateKeyRead
from controller.model.records import ErrandWorkedOff
from controller.model.values import TopicPartition
from controller.rules.found import passed_over
from controller.runtime.findings import Findings
from controller.runtime.readable import FORBIDDEN
from controller.runtime.services import Services
from controller.state import ClusterState
from stores.base import Entry
from stores.checks import parent

_log = logging.getLogger(__name__)

SINGLE: Final = (keys.PREFERRED_ELECTION,)
"""Keys of one path each."""
PARENTS: Final = (keys.ISR_CHANGES, keys.LOG_DIR_EVENTS)
"""Where each key below is one errand."""

ReadStates = Callable[[Sequence[TopicPartition], int], Sequence[StateKeyRead]]
Read = Callable[["Errands", Entry, int], list[Event]]


class Errands:
    """The errands of one term. Reads between batches; a read that fails forgets nothing."""

    def __init__(self, services: Services, state: ClusterState, read_states: ReadStates, findings: Findings) -> None:
        self._services = services
        self._findings = findings
        self._state = state
        self._read_states = read_states
        self._hinted: dict[str, None] = dict.fromkeys(SINGLE)
        self._parents: dict[str, None] = dict.fromkeys(PARENTS)
        self._working: dict[str, None] = {}  # one reading at a time: the end of it shows whether the key was put anew
        self._fresh: dict[str, None] = {}

    @property
    def is_hinted(self) -> bool:
        """Whether something waits to be looked at."""
        return bool(self._hinted or self._parents)

    def hint(self, where: str) -> None:
        """Look again at `where`, if it is an errand or their parent."""
        if where in SINGLE or parent(where) in PARENTS:
            self._hinted[where] = None
        elif where in PARENTS:
            self._parents[where] = None

    def again(self, key: str) -> None:
        """What was read of `key` is not what stands there: forget it, and read it."""
        self._working.pop(key, None)
        self._hinted[key] = None

    def look(self, now_ms: int) -> list[Event]:
        """What the hinted keys ask for. Raises what the store raises; `looked` ends it."""
        if not self._hinted and not self._parents:
            return []
        store, timeout_s = self._services.store, self._services.read_timeout_s
        paths = dict(self._hinted)
        for above in self._parents:
            paths |= {f"{above}/{name}": None for name in store.children(above, timeout_s=timeout_s)}
        events: list[Event] = []
        self._fresh = {}
        for entry in store.get_many(list(paths), timeout_s=timeout_s) if paths else ():
            if entry is not None and entry.value is not FORBIDDEN and entry.key not in self._working:
                self._fresh[entry.key] = None
                events += self._read(entry, now_ms)
        return events

    def looked(self) -> None:
        """What `look` gave is going to be decided: the hints are done with."""
        self._working |= self._fresh
        self._hinted, self._parents, self._fresh = {}, {}, {}

    def _read(self, entry: Entry, now_ms: int) -> list[Event]:
        read = _READ[entry.key if entry.key in SINGLE else parent(entry.key)]
        try:
            return read(self, entry, now_ms)
        except BadValue as error:
            return [ErrandDone(now_ms, entry.key, entry.version, problem=str(error))]

    def _preferred(self, entry: Entry, now_ms: int) -> list[Event]:
        partitions = notifications.decode_partitions(entry.value)
        return [PreferredElectionPut(now_ms, entry.key, entry.version, partitions)]

    def _isr_change(self, entry: Entry, now_ms: int) -> list[Event]:
        """The state keys are read here: their events come first, the end of the errand after them."""
        named = dict.fromkeys(notifications.decode_partitions(entry.value))
        known = [tp for tp in named if self._state.partition(tp.topic, tp.partition) is not None]
        unknown = [tp for tp in named if self._state.partition(tp.topic, tp.partition) is None]
        done = ErrandDone(now_ms, entry.key, entry.version, passed_over(unknown))
        return [*self._read_states(known, now_ms), done]

    def _log_dir_event(self, entry: Entry, now_ms: int) -> list[Event]:
        broker = notifications.decode_log_dir_event(entry.value)
        return [LogDirNotified(now_ms, entry.key, entry.version, broker)]

    def worked_off(self, record: ErrandWorkedOff) -> None:
        """The commit that deletes the key was applied."""
        self._working.pop(record.key, None)
        about = record.key if record.key in SINGLE else parent(record.key)
        self._findings.good(about)
        for note in record.notes:
            _log.warning("%s: passed over: %s", record.key, note)
        if record.problem is not None:
            said = f"{record.key} was removed, since it cannot be read: {record.problem}"
            self._findings.bad(about, said)
            _log.warning("%s", said)


_READ: Final[Mapping[str, Read]] = {
    keys.PREFERRED_ELECTION: Errands._preferred,  # noqa: SLF001 - the table of this module's own kinds
    keys.ISR_CHANGES: Errands._isr_change,  # noqa: SLF001
    keys.LOG_DIR_EVENTS: Errands._log_dir_event,  # noqa: SLF001
}
