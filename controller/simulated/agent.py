"""A broker's own actions: request isr changes, report its logs, shut down in order.

* An isr change is sent to the controller whose request came last; where that is not the active one, to the one that it
  names, or to the next. The answer is applied when it comes. An error that means "not applied" drops the change; after
  FENCED_LEADER_EPOCH nothing is sent until the newer leader epoch is known; after any other error the same request is
  repeated every `RETRY_MS`, until something newer is known: it may have been applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

import attrs

from ..model.errors import ApiError, ErrorCode, FencedLeaderEpoch, IneligibleReplica, NotController
from ..model.requests import AcceptedIsr
from ..model.values import TopicPartition
from ..runtime.log_reports import LogReport
from .broker import Broker
from .clock import VirtualClock
from .leaving import Leaving
from .network import Network
from .node import ControllerNode
from .registration import Registration
from .replica import IsrAsked, Replica, Role
from .timeline import Timeline

RETRY_MS: Final = 100
REPORT_MS: Final = 500
_NEVER: Final = 2**63


@attrs.define(eq=False)
class _Asking:
    replica: Replica
    asked: IsrAsked
    node: int
    process: object
    future: Future[AcceptedIsr] | None
    retry_at_ms: int = 0


@attrs.define(eq=False)
class BrokerAgent:
    broker: Broker
    registration: Registration
    clock: VirtualClock
    nodes: Mapping[int, ControllerNode]
    network: Network
    timeline: Timeline
    lag_max_ms: int
    proposed: Callable[[TopicPartition, IsrAsked], None]
    _asking: dict[tuple[str, int], _Asking] = attrs.field(factory=dict)
    _ask_at: dict[tuple[str, int], int] = attrs.field(factory=dict)
    _asked_node: int | None = None
    _reported_ms: int = 0
    leaving: Leaving | None = None

    # --- registration

    def register(self) -> None:
        self.broker.epoch = self.registration.begin(self.broker.registration)

    def leave(self, *, at_once: bool) -> None:
        """The process ends: its session ends at once, or when its time is over."""
        self.registration.end(at_once=at_once)
        self.leaving = None
        self._asking.clear()
        self._ask_at.clear()

    def watch(self) -> bool:
        """Register again where the session was lost; returns whether that happened."""
        before = self.broker.epoch
        self.broker.epoch = self.registration.renew(self.broker.broker_id, before)
        return self.broker.epoch != before

    def shut_down(self, patience_ms: int) -> None:
        """Request a controlled shutdown, and stop when the broker leads nothing, or after `patience_ms`."""
        self.leaving = Leaving(self.clock.now_ms() + patience_ms)

    def _go_on_leaving(self, leaving: Leaving, now_ms: int) -> None:
        asked = leaving.node
        error = leaving.take()
        if error is not None and asked is not None:
            self._turn_to_another(asked.node_id, error.active_id)
        if leaving.leads == () or now_ms >= leaving.until_ms:
            self.timeline.say(
                self.registration.name, f"shuts down, leads {'?' if leaving.leads is None else len(leaving.leads)}"
            )
            self.leave(at_once=True)
            self.broker.stopped()
        elif leaving.is_unheard and now_ms >= leaving.retry_at_ms:
            leaving.ask(self._node_to_ask(), self.broker.broker_id, self.broker.epoch, now_ms)

    # --- isr

    @property
    def has_work(self) -> bool:
        """Whether `watch` or `step` may have something to do: a lost session, an answer that is due, an isr change to
        request."""
        if self._asking or self.registration.has_lost_session:
            return True
        now_ms = self.broker.clock.now_ms()
        return any(r.wanted_isr(now_ms, self.lag_max_ms) is not None for r in self.broker.serving(Role.LEADER))

    @property
    def is_asking(self) -> bool:
        """Whether a request to change an isr is not answered yet."""
        return bool(self._asking)

    def step(self) -> bool:
        """Take the answers, send what is due; returns whether anything was done."""
        now_ms = self.clock.now_ms()
        if self.leaving is not None:
            self._go_on_leaving(self.leaving, now_ms)
            if not self.broker.is_up:
                return True
        moved = self._take_answers() or self.leaving is not None
        for place, replica in list(self.broker.replicas.items()):
            if replica.role is not Role.LEADER or place in self._asking or self._ask_at.get(place, 0) > now_ms:
                continue
            with self.broker.isolated(replica):
                moved |= self._ask_for(place, replica, now_ms)
        return moved

    def _ask_for(self, place: tuple[str, int], replica: Replica, now_ms: int) -> bool:
        wanted = replica.wanted_isr(self.broker.clock.now_ms(), self.lag_max_ms)
        if wanted is None:
            return False
        epochs = {b: seen.broker_epoch for b, seen in replica.followers.items() if b in wanted}
        replica.asked = IsrAsked(wanted, replica.leader_epoch, replica.partition_epoch, epochs)
        self._asking[place] = asking = _Asking(replica, replica.asked, -1, None, None)
        self._ask(asking, now_ms)
        return True

    def _ask(self, asking: _Asking, now_ms: int) -> None:
        replica, asked = asking.replica, asking.asked
        tp = TopicPartition(replica.topic, replica.partition)
        node = self._node_to_ask()
        asking.retry_at_ms = now_ms + RETRY_MS
        if node is None or node.asked is None:
            asking.future = None
            return
        asking.node, asking.process = node.node_id, node.process
        self.proposed(tp, asked)
        with node.speaking():
            asking.future = node.asked.alter_isr(
                tp,
                self.broker.broker_id,
                asked.leader_epoch,
                asked.partition_epoch,
                asked.isr,
                self.broker.epoch,
                isr_epochs=asked.epochs,
            )

    def _node_to_ask(self) -> ControllerNode | None:
        """The controller that answered last, or whose request came last; unreachable ones are skipped."""
        first = self._asked_node if self._asked_node is not None else self.broker.controller_id
        ids = sorted(self.nodes)
        if first in ids:
            ids = ids[ids.index(first) :] + ids[: ids.index(first)]
        for node_id in ids:
            node = self.nodes[node_id]
            if node.is_up and not self.network.is_cut(node_id, self.broker.broker_id):
                return node
        return None

    def _take_answers(self) -> bool:
        moved = False
        now_ms = self.clock.now_ms()
        for place, asking in list(self._asking.items()):
            if asking.replica.asked is not asking.asked or self.broker.replicas.get(place) is not asking.replica:
                del self._asking[place]  # something newer is known
                continue
            with self.broker.isolated(asking.replica):
                if asking.future is None or self._is_unheard(asking):
                    if now_ms >= asking.retry_at_ms:
                        self._ask(asking, now_ms)
                elif asking.future.done():
                    moved = True
                    self._answered(place, asking, now_ms)
        return moved

    def _is_unheard(self, asking: _Asking) -> bool:
        """Whether no answer can come any more: the process is gone, or its connection is cut."""
        node = self.nodes[asking.node]
        return node.process is not asking.process or self.network.is_cut(asking.node, self.broker.broker_id)

    def _answered(self, place: tuple[str, int], asking: _Asking, now_ms: int) -> None:
        assert asking.future is not None
        error = asking.future.exception()
        if error is None:
            accepted = asking.future.result()
            asking.replica.learned(accepted.isr, accepted.partition_epoch)
            if asking.replica.asked is asking.asked:  # nothing was written, because it was the present isr
                asking.replica.asked = None
            asking.replica.recovering = False
            asking.replica.advance()
            del self._asking[place]
            return
        self._refused(place, asking, error, now_ms)

    def _refused(self, place: tuple[str, int], asking: _Asking, error: BaseException, now_ms: int) -> None:
        code = error.code if isinstance(error, ApiError) else ErrorCode.UNKNOWN_SERVER_ERROR
        tp = f"{asking.replica.topic}-{asking.replica.partition}"
        self.timeline.say(self.registration.name, f"alter_isr {tp} {list(asking.asked.isr)} => {code.name}")
        if isinstance(error, IneligibleReplica):
            asking.replica.refused(asking.asked)
            self._ask_at[place] = now_ms + RETRY_MS
            del self._asking[place]
            return
        if isinstance(error, NotController):
            self._turn_to_another(asking.node, error.active_id)
        asking.future = None
        asking.retry_at_ms = _NEVER if isinstance(error, FencedLeaderEpoch) else now_ms + RETRY_MS

    def _turn_to_another(self, asked: int, active: int | None) -> None:
        ids = sorted(self.nodes)
        following = ids[(ids.index(asked) + 1) % len(ids)]
        self._asked_node = active if active is not None and active != asked and active in self.nodes else following

    # --- reports

    def report(self) -> None:
        """Report the state of the logs to the active controller."""
        now_ms = self.clock.now_ms()
        if now_ms - self._reported_ms < REPORT_MS:
            return
        self._reported_ms = now_ms
        reports = []
        for replica in self.broker.replicas.values():
            with self.broker.isolated(replica):
                reports.append(self._report_of(replica))
        for node in self.nodes.values():
            is_cut = self.network.is_cut(node.node_id, self.broker.broker_id)
            if node.is_told and node.asked is not None and not is_cut:
                node.asked.report_log(reports)

    def _report_of(self, replica: Replica) -> LogReport:
        log = replica.log
        return LogReport(
            replica.topic,
            replica.partition,
            self.broker.broker_id,
            max(0, replica.leader_epoch),
            log.start_offset,
            log.end_offset,
            log.high_watermark,
            log.size_bytes,
        )
