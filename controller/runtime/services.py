"""What every part of a running controller is handed: where it reads, writes, calls, and takes time and chance from."""

from __future__ import annotations

import attrs

from controller.model.host import Host
from controller.model.values import Settings
from controller.runtime.clock import Chance, Clock, elapsed_ms
from controller.runtime.executors import Executor
from controller.runtime.inbox import Inbox
from controller.runtime.journal import Journal
from controller.runtime.log_reports import LogReports
from controller.runtime.measures import Measures
from controller.runtime.notices import Notices
from controller.runtime.readable import ReadableStore
from controller.runtime.replies import Outstanding
from stores.recipes import SEAT, SEAT_BESIDE_KAFKA, Seat


@attrs.frozen(eq=False)
class Services:
    """One controller's. `read_timeout_s` is for each read of the store."""

    controller_id: int
    store: ReadableStore
    host: Host
    settings: Settings
    clock: Clock
    chance: Chance
    executor: Executor
    inbox: Inbox
    outstanding: Outstanding
    journal: Journal
    log_reports: LogReports
    notices: Notices
    measures: Measures
    awaits_cluster: bool = False  # it leads over a store only once that holds a cluster
    stand_by_only: bool = False  # it never leads

    def elapsed_ms(self) -> int:
        """Milliseconds that never go back: what back-offs and deadlines of calls are reckoned in. The wall clock, which
        may be set, is only written down (and a move's deadline, which is durable, is compared with it)."""
        return elapsed_ms(self.clock)

    @property
    def seat(self) -> Seat:
        """Which keys the election of controllers writes."""
        return SEAT_BESIDE_KAFKA if self.settings.kafka_brokers else SEAT

    @property
    def read_timeout_s(self) -> float:
        """A third of the session time: a read that takes longer says nothing any more."""
        return self.store.session_timeout_s / 3
