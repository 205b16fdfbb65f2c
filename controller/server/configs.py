"""The configs of topics and brokers, and the quotas of clients, as brokers read them from the store themselves,
whichever controller is active.

* A broker that gets a request to copy first reads the configs for it, so that a rate that was set before a move applies
  from its first byte. Hints alone would arrive some time later.
* Configs are delivered whole, in the order in which they were read; a deleted key is delivered once, as no settings.
* A value that cannot be read is ignored: the former settings stay in force.
* While the store does not answer, everything stays as it was, and is read again afterwards.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ...stores.base import Changed, Closed, Depth, MetadataStore, Resync, StoreError, StoreEvent, Subscription
from ..codec import BadValue, keys
from ..codec.small import decode_config
from ..model.host import LeaderAndIsrPartition, LeaderAndIsrRequest
from ..model.values import ALL_BROKERS, BROKERS, CLIENTS, TOPICS, USERS

Told = Callable[[str, str, Mapping[str, str]], None]
"""Called with kind and name of an entity, and all of its settings from now on."""

_KINDS: Final = {f"/config/{kind}": kind for kind in (TOPICS, BROKERS, USERS, CLIENTS)}
_READ_S: Final = 10.0
_ORDER_READ_S: Final = 2.0  # how long a request to copy waits for it
_LOOK_S: Final = 0.5
_PAUSE_S: Final = 0.5  # after the store did not answer
_TAKEN_MAX: Final = 1000  # hints that are read together
log = logging.getLogger(__name__)


class StoredSettings:
    """A thread that reads configs until it is closed. `store` is closed by the caller, after this."""

    def __init__(self, store: MetadataStore, told: Told) -> None:
        self._store, self._told = store, told
        self._known: dict[str, bytes] = {}  # values, because versions repeat when a key is deleted and created again
        self._lock = threading.Lock()  # keeps the order of reading in the order of the callbacks
        self._is_over = threading.Event()
        self._hints: Subscription | None = None
        self._thread = threading.Thread(target=self._read_on, name="kedge-settings", daemon=True)

    def begin(self) -> None:
        """All present settings are delivered when this returns. Raises what the store raises."""
        self._look(_KINDS)
        first, *others = _KINDS
        self._hints = self._store.subscribe(first, Depth.VALUES)
        for prefix in others:
            self._hints.add(prefix, Depth.VALUES)
        self._thread.start()

    def read_for(self, order: LeaderAndIsrRequest) -> None:
        """The settings for the copying that `order` begins are delivered when this returns, if the store answers."""
        topics = {p.topic for p in order.partitions if _is_copied(p, order.broker_id)}
        if not topics:
            return
        brokers = [keys.broker_config(name) for name in (str(order.broker_id), ALL_BROKERS)]
        try:
            self._store.get(brokers[0], sync=True, timeout_s=_ORDER_READ_S)  # makes the following reads as fresh
            self._look([*brokers, *map(keys.topic_config, topics)], _ORDER_READ_S)
        except StoreError as error:
            log.info("broker %d copies with its former settings, because the store failed: %r", order.broker_id, error)

    def close(self) -> None:
        self._is_over.set()
        if self._hints is not None:
            self._hints.close()  # the thread waits for it
        if self._thread.is_alive():
            self._thread.join()

    def _read_on(self) -> None:
        hints, due = self._hints, set[str]()
        assert hints is not None
        try:
            while not self._is_over.is_set():
                due |= self._hinted(hints)
                try:
                    self._look(due)
                    due = set()
                except StoreError as error:
                    log.info("the settings will be read again, because the store failed: %r", error)
                    self._is_over.wait(_PAUSE_S)
        except Closed:
            pass

    def _hinted(self, hints: Subscription) -> set[str]:
        """What to read: keys, and prefixes for all keys below them."""
        found: set[str] = set()
        event: StoreEvent | None = hints.poll(_LOOK_S)
        while event is not None and len(found) < _TAKEN_MAX:
            if isinstance(event, Changed):
                found.add(event.key)
            elif isinstance(event, Resync):
                found.add(event.prefix)
            event = hints.poll(0)
        return found

    def _look(self, due: Iterable[str], timeout_s: float = _READ_S) -> None:
        with self._lock:
            self._read(due, timeout_s)

    def _read(self, due: Iterable[str], timeout_s: float) -> None:
        paths = {each for each in due if each not in _KINDS}
        for prefix in _KINDS.keys() & set(due):
            paths |= {f"{prefix}/{name}" for name in self._store.children(prefix, timeout_s=timeout_s)}
            paths |= {path for path in self._known if path.startswith(f"{prefix}/")}
        if not paths:
            return
        ordered = sorted(paths)
        columns = self._store.get_columns(ordered, timeout_s=timeout_s)
        for path, value in zip(ordered, columns.values, strict=True):
            self._tell(path, value)

    def _tell(self, path: str, value: bytes | None) -> None:
        prefix, _, name = path.rpartition("/")
        if value is None:
            if self._known.pop(path, None) is not None:
                self._told(_KINDS[prefix], name, {})
        elif self._known.get(path) != value:
            self._known[path] = value
            try:
                self._told(_KINDS[prefix], name, decode_config(value))
            except BadValue as error:
                log.warning("the config key %r is ignored: %r", path, error)


def _is_copied(said: LeaderAndIsrPartition, broker: int) -> bool:
    """Whether the broker copies the partition, or leads it while another broker copies it."""
    missing = {*said.replicas, *(said.target_replicas or ())} - set(said.isr)
    return broker in missing or (said.leader == broker and bool(missing))
