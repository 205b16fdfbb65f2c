"""The services that every part of a running controller uses: store, host, clock, randomness and others."""

from __future__ import annotations

import attrs

from ...stores.recipes import SEAT, SEAT_BESIDE_KAFKA, Seat
from ..model.host import Host
from ..model.values import Settings
from .clock import Clock, IdSource, elapsed_ms
from .executors import Executor
from .inbox import Inbox
from .journal import Journal
from .log_reports import LogReports
from .measures import Measures
from .notices import Notices
from .permitted import PermittedStore
from .replies import Outstanding


@attrs.frozen(eq=False)
class Services:
    """The services of one controller. `read_timeout_s`: for each read of the store."""

    controller_id: int
    store: PermittedStore
    host: Host
    settings: Settings
    clock: Clock
    id_source: IdSource
    executor: Executor
    inbox: Inbox
    outstanding: Outstanding
    journal: Journal
    log_reports: LogReports
    notices: Notices
    measures: Measures
    stand_by_only: bool = False  # never lead

    def elapsed_ms(self) -> int:
        """Monotonic milliseconds, for back-offs and deadlines of calls. The wall clock, which may be set, is used only
        for recorded times and for a move's deadline, which is durable."""
        return elapsed_ms(self.clock)

    @property
    def seat(self) -> Seat:
        """Which keys the election of controllers writes."""
        return SEAT_BESIDE_KAFKA if self.settings.kafka_brokers else SEAT

    @property
    def read_timeout_s(self) -> float:
        """A third of the session time: a slower read is useless."""
        return self.store.session_timeout_s / 3
