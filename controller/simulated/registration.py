"""The registration of a broker, over a session of its own, so that the end of a controller does not end it.

A process that dies lets its session run out; one that is shut down ends it; one whose session was ended registers
again, under a new epoch.
"""

from __future__ import annotations

import attrs

from ...stores.base import StoreError
from ..model.errors import DuplicateBrokerRegistration
from ..model.values import BrokerRegistration
from ..runtime.clock import Clock
from ..runtime.registrar import Registrar
from .store import ClusterStore, Connection, StoreClient
from .timeline import Timeline


@attrs.define(eq=False)
class Registration:
    """One broker's, with records of `version`. Its commits are attributed to `name`."""

    name: str
    clock: Clock
    server: ClusterStore
    timeline: Timeline
    version: int
    _registrar: Registrar | None = None
    _connection: Connection | StoreClient | None = None

    @property
    def is_open(self) -> bool:
        """Whether the process runs that registered the broker."""
        return self._registrar is not None

    @property
    def has_lost_session(self) -> bool:
        """Whether `renew` has something to do."""
        return self._registrar is None or self._registrar.has_lost_sessions

    def begin(self, broker: BrokerRegistration) -> int:
        """The broker is registered, by a new process of it; returns its epoch. Raises StoreError and
        DuplicateBrokerRegistration."""
        with self.server.speaking(self.name):
            connection = self.server.connection()
            registrar = Registrar(connection, self.clock, self.version, self.server.session_timeout_s)
            epoch = registrar.register(broker)
        self._registrar, self._connection = registrar, connection
        self.timeline.say(self.name, f"registered, epoch {epoch}")
        return epoch

    def end(self, *, at_once: bool) -> None:
        """The process ends: its session ends at once, or when its time is over."""
        if self._registrar is not None and self._connection is not None:
            for store in () if at_once else (self._connection, *self._connection.opened):
                store.disconnect()
            with self.server.speaking(self.name):
                self._registrar.close()
                self._connection.close()
        self._registrar = self._connection = None

    def expire(self) -> None:
        """The server ends the session; the process stays alive."""
        for store in () if self._connection is None else self._connection.opened:
            self.server.expire(store.session.session_id)

    def renew(self, broker_id: int, known: int) -> int:
        """Register again where the session was lost; returns the epoch, which is the `known` one where nothing
        changed."""
        if self._registrar is None:
            return known
        with self.server.speaking(self.name):
            try:
                self._registrar.watch()
            except (StoreError, DuplicateBrokerRegistration):
                return known
        epoch = self._registrar.epoch_of(broker_id)
        if epoch is None or epoch == known:
            return known
        self.timeline.say(self.name, f"registered again, epoch {epoch}")
        return epoch
