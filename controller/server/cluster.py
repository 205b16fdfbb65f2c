"""A cluster in this process and in real time: controllers in threads, simulated brokers in one thread of their own.

* One step: the clock advances to the wall clock; brokers register again where they have to, copy, send isr changes and
  report; then the requests that waited for this are answered.
* Requests of clients are executed at once, between two steps. Where no rate limits the copying, followers also copy an
  appended batch at once (`Copying.catch_up`), so that its answer does not wait for a step over all replicas.
* On a store that other processes share, the active controller may be in another process: brokers obey it wherever it
  is, and send requests and reports to it through the argument of `asks`.
* Brokers read settings from the store themselves, also before they copy for a request of the controller.
* Controllers are the same as in any host: they write to the store and call the brokers from their own threads, under
  the lock.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Self
from weakref import WeakSet

import attrs

from ..host import Controller
from ..metrics import BrokerMeters
from ..model.values import CLIENTS, USERS, BrokerRegistration, Endpoint, Settings, TopicPartition
from ..simulated.agent import BrokerAgent
from ..simulated.broker import Broker, Life
from ..simulated.clock import NodeClock, VirtualClock
from ..simulated.copying import Copying
from ..simulated.isolation import Isolated, Isolation
from ..simulated.network import Network
from ..simulated.node import Asked
from ..simulated.registration import Registration
from ..simulated.replica import Role
from ..simulated.timeline import Timeline
from .compaction import Compaction
from .configs import StoredSettings
from .groups import LiveGroups
from .logs import LiveLogs, LogEnd
from .node import LiveHost, LiveNode, Others
from .retention import Retention
from .shelves import RETENTION_BYTES, Shelves
from .steps import TICK_S, Steps
from .store import LiveServer
from .transactions import LiveTransactions

FIRST_ID: Final = 101
_CLEAN_S: Final = 1.0


class LiveCluster:
    """`with LiveCluster(LiveServer(), {1: "a", 2: "b"}) as cluster:` controllers and brokers that run.

    `server`: the store, which the cluster closes. `brokers`: broker id -> rack (None = no rack). `controllers`: number
    of nodes, with ids from `first_id` up; `copy_rate_bytes_s`: into each broker, None = unlimited. `retention_bytes`:
    kept of each partition. `lag_max_ms`: as replica.lag.time.max.ms. `journal`: makes the journal of a node, by its id.
    `seed`: of topic ids and placements. `others`: makes the host of a node for all other brokers, which keep their own
    records.

    Starting raises what registering raises: StoreError, DuplicateBrokerRegistration.
    """

    def __init__(
        self,
        server: LiveServer,
        brokers: Mapping[int, str | None],
        *,
        controllers: int = 1,
        first_id: int = FIRST_ID,
        settings: Settings | None = None,
        seed: int | None = None,
        copy_rate_bytes_s: int | None = None,
        retention_bytes: int = RETENTION_BYTES,
        lag_max_ms: int = 10_000,
        journal: Callable[[int], Any] | None = None,
        others: Callable[[], Others] | None = None,
    ) -> None:
        self.server = server
        self.settings = settings or Settings()
        self.lock = threading.RLock()
        self._steps = Steps(self.lock, self._step, self._answer)
        self._begun_s = time.monotonic()
        self._cleaned_s = self._begun_s
        self._paused_s: dict[int, float] = {}  # since when
        self._clock = VirtualClock(time.time_ns() // 1_000_000)
        timeline = Timeline(self._clock)
        timeline.is_mute = True  # it has no reader, and the cluster may run for weeks
        isolated = partial(Isolated, WeakSet())
        self.brokers = {b: self._broker(b, rack, isolated) for b, rack in brokers.items()}
        chance = random.Random(seed)  # noqa: S311 - no secrets
        self.network = Network(self.brokers, chance, timeline, lambda: 0, requests_max=0)
        self._settings = StoredSettings(server.connection(), self._set)
        host = (self.network, self.lock, self._steps.wake, self.brokers, server, self._settings.read_for)
        made = (self.settings, seed, journal)
        ids = range(first_id, first_id + controllers)
        self.nodes = {i: LiveNode(i, server, LiveHost(i, *host, others and others()), *made) for i in ids}
        self.copying = Copying(self.brokers, timeline, copy_rate_bytes_s)
        calls = (self._steps.soon, self.copying.catch_up)
        self._shelves = Shelves(self.brokers, self.network.settings, retention_bytes)
        kept = (self._shelves, server.first_producer_id)
        self.logs = LiveLogs(self.brokers, self.network.settings, *calls, *kept)
        self.groups = LiveGroups(self.brokers, self.logs, self._steps.soon)
        self.transactions = LiveTransactions(self.brokers, self.logs, self._steps.soon, self.groups)
        self._retention = Retention(self.brokers, self.network.settings, self._shelves)
        self._compaction = Compaction(self.logs)
        self.duties = {b: self._duties(broker, timeline, lag_max_ms) for b, broker in self.brokers.items()}

    def _set(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        with self.lock:
            self.network.config_changed(kind, name, configs)
            if kind in {USERS, CLIENTS} and not configs:  # these may have any number of names
                self.network.settings.pop((kind, name), None)

    def _broker(self, broker_id: int, rack: str | None, isolated: Isolation) -> Broker:
        registration = BrokerRegistration(broker_id, f"broker-{broker_id}", 9092, rack)
        return Broker(registration, NodeClock(self._clock), isolated=isolated)

    def _duties(self, broker: Broker, timeline: Timeline, lag_max_ms: int) -> BrokerAgent:
        version = self.settings.registration_version
        own = Registration(f"broker {broker.broker_id}", broker.clock, self.server, timeline, version)
        return BrokerAgent(broker, own, self._clock, self.nodes, self.network, timeline, lag_max_ms, lambda *_: None)

    # --- life cycle

    def start_controllers(self) -> Self:
        """The controllers run, the brokers do not yet. A cluster that could not be started is closed."""
        try:
            for node in self.nodes.values():
                if node.controller is None:
                    node.start()
        except BaseException:
            self.close()
            raise
        return self

    def listen(self, endpoints: Mapping[int, Endpoint]) -> None:
        """Set the endpoints of brokers, from their next registration on."""
        for broker_id, at in endpoints.items():
            broker = self.brokers[broker_id]
            broker.registration = attrs.evolve(broker.registration, host=at.host, port=at.port, endpoints=(at,))

    def asks(self, elsewhere: Asked) -> None:
        """Set the target of brokers' requests while no controller of this process is active."""
        for node in self.nodes.values():
            node.elsewhere = elsewhere

    def start(self) -> Self:
        """The brokers are registered, the controllers run. A cluster that could not be started is closed."""
        try:
            self._settings.begin()
            for duties in self.duties.values():
                duties.register()
        except BaseException:
            self.close()
            raise
        self.start_controllers()
        self._steps.begin()
        return self

    def close(self) -> None:
        """The controllers resign, the brokers are unregistered, the store is closed. Idempotent."""
        if self._steps.is_over:
            return
        self._steps.end()
        self._settings.close()
        for node in self.nodes.values():
            node.stop()
        for duties in self.duties.values():
            duties.leave(at_once=True)
        self.transactions.close()
        self.groups.close()
        self.logs.close()
        self.server.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the state of the cluster

    def until_ready(self, timeout_s: float) -> None:
        """A controller is active and has admitted every broker. Raises TimeoutError after `timeout_s`."""
        end_s = time.monotonic() + timeout_s
        while not self._is_ready():
            if time.monotonic() >= end_s or self._steps.is_over:
                live = self.controller.describe().live_brokers
                raise TimeoutError(f"not ready within {timeout_s:g} s: of brokers {[*self.brokers]} there are {live}")
            time.sleep(TICK_S)

    def _is_ready(self) -> bool:
        """Where another process leads, its controller has sent all brokers to each of them."""
        wanted, controller = set(self.brokers), self.controller
        if controller.is_active:
            return wanted <= set(controller.describe().live_brokers)
        with self.lock:
            return controller.active_id is not None and all(wanted <= set(b.peers) for b in self.brokers.values())

    @property
    def host(self) -> LiveHost:
        """A host that controllers of other processes may call, too."""
        return next(iter(self.nodes.values())).host

    @property
    def controller(self) -> Controller:
        """The active controller; the first one while there is none."""
        running = [node.controller for node in self.nodes.values() if node.controller is not None]
        return next((controller for controller in running if controller.is_active), running[0])

    def held_bytes(self) -> dict[int, int]:
        """Bytes of the replicas on each broker, as if each had its own records."""
        with self.lock:
            return {b: sum(r.log.size_bytes for r in broker.replicas.values()) for b, broker in self.brokers.items()}

    def log_ends(self, tp: TopicPartition) -> tuple[dict[int, LogEnd], LogEnd | None]:
        """The log of each broker that has one, and the leader's (None: no broker of this process leads)."""
        with self.lock:
            held = self.logs.replicas(tp)
            ends = {broker: LogEnd(r.log.end_offset, r.log.size_bytes) for broker, r in held.items()}
            leading = [broker for broker, replica in held.items() if replica.role is Role.LEADER]
            leader = max(leading, key=lambda broker: held[broker].leader_epoch, default=None)
        return ends, None if leader is None else ends[leader]

    def reassignment_bytes(self) -> int:
        """What all brokers have copied for reassignments since the start."""
        with self.lock:
            return sum(self.copying.flows.bytes(broker, "follower", "reassignment") for broker in self.brokers)

    def meters(self) -> list[BrokerMeters]:
        """The metrics of each broker."""
        return [self.copying.flows.meters(broker) for broker in self.brokers]

    # --- failures of brokers

    def kill_broker(self, broker_id: int) -> None:
        """Its process ends, and its registration with it. Raises KeyError for an unknown broker."""
        with self.lock:
            self._paused_s.pop(broker_id, None)
            if self.brokers[broker_id].life is not Life.DOWN:
                self.duties[broker_id].leave(at_once=True)
                self.brokers[broker_id].stopped()
        self._steps.wake()

    def restart_broker(self, broker_id: int) -> None:
        """It is up again with its former logs, under a new broker epoch. Raises KeyError as above."""
        self.kill_broker(broker_id)
        with self.lock:
            broker = self.brokers[broker_id]
            broker.life = Life.UP
            self.network.started(broker)
            self.duties[broker_id].register()
        self._steps.wake()

    def pause_broker(self, broker_id: int) -> None:
        """Its process is stopped, as by SIGSTOP. It stays registered for the session timeout of the store. Nothing
        happens unless it is up. Raises KeyError as above."""
        with self.lock:
            if self.brokers[broker_id].is_up:
                self.brokers[broker_id].life = Life.PAUSED
                self._paused_s[broker_id] = time.monotonic()

    def resume_broker(self, broker_id: int) -> None:
        """A paused broker runs again. If its session has ended, it registers again, under a new broker epoch. Raises
        KeyError as above."""
        with self.lock:
            self._paused_s.pop(broker_id, None)
            if self.brokers[broker_id].life is Life.PAUSED:
                self.brokers[broker_id].life = Life.UP
                if not self.duties[broker_id].registration.is_open:
                    self.duties[broker_id].register()
        self._steps.wake()

    def _end_sessions(self, now_s: float) -> None:
        """Of brokers that are paused for too long."""
        for broker_id, since_s in list(self._paused_s.items()):
            if now_s - since_s >= self.server.session_timeout_s:
                del self._paused_s[broker_id]
                self.duties[broker_id].leave(at_once=True)

    # --- time

    def _answer(self) -> bool:
        return self.logs.answer()

    def _step(self) -> bool:
        now_s = time.monotonic()
        past_ms = int((now_s - self._begun_s) * 1000) - self._clock.elapsed_ms
        self._clock.advance(past_ms)
        self._end_sessions(now_s)
        moved = False
        up = [duties for duties in self.duties.values() if duties.broker.is_up]
        for duties in up:
            moved |= duties.watch()
        moved |= self.copying.step(past_ms) > 0 or self.copying.is_held_up
        self.copying.flows.step(self._clock.elapsed_ms)
        for duties in up:
            moved |= duties.step()
            duties.report()
        self.logs.step()
        self.groups.step()
        self.transactions.step()
        if now_s - self._cleaned_s > _CLEAN_S:
            self._cleaned_s = now_s
            self._shelves.clean()
            self._retention.clean()
            self._compaction.clean()
        moved |= self._compaction.step()
        return moved or self.logs.is_waited_for
