"""The way of leaders' isr changes to a controller: over the network of a seeded run, with its cuts and lost answers.

Any thread of the host may call; the calls are judged and passed on at the next step, on the thread of the run. A call
of a process that has ended is dropped. One whose controller ended is answered with REQUEST_TIMED_OUT, and so is one
that was lost: the change may have been committed.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import attrs

from ...model.errors import NotController, RequestTimedOut
from ...model.requests import AcceptedIsr
from ...simulated.network import Network
from ..host_suite.desk import Asked, Calls
from ..node import Node
from . import rules
from .broker import HostedBroker, Place, Told
from .rules import Judge


@attrs.define(eq=False)
class _Call:
    """A call of a process, and the controller process that has it. `inner` None: it was lost."""

    asked: Asked
    process: int
    node: Node | None = None
    at: object = None
    inner: Future[AcceptedIsr] | None = None


class SeededDesk(Calls):
    """`judged`: gets each call that is passed on, with its place. `holds_answers`: none arrives; `loses_answers`: each
    is replaced by an error, and half of the calls do not arrive either."""

    def __init__(
        self,
        brokers: Mapping[int, HostedBroker],
        network: Network,
        chance: random.Random,
        judge: Judge,
        active: Callable[[], Node | None],
    ) -> None:
        self._brokers = brokers
        self._network = network
        self._chance = chance
        self._judge = judge
        self._active = active
        self._new: deque[_Call] = deque()
        self._calls: list[_Call] = []
        self.holds_answers = self.loses_answers = False
        self.judged: Callable[[Asked, Place], None] = lambda _, __: None

    def take(self, asked: Asked) -> Future[AcceptedIsr]:
        """As `Calls`."""
        self._new.append(_Call(asked, self._brokers[asked.leader].process))
        return asked.future

    @property
    def is_idle(self) -> bool:
        """Whether no call waits for an answer."""
        return not self._new and not self._calls

    def step(self) -> None:
        """Pass calls on, and answers back."""
        self._calls = [call for call in self._calls if self._is_current(call)]
        while self._new:
            call = self._new.popleft()
            if self._is_current(call):
                self._judge_call(call.asked)
                self._calls.append(call)
                self._pass_on(call)
        for call in [call for call in self._calls if self._answered(call)]:
            self._calls.remove(call)

    def _is_current(self, call: _Call) -> bool:
        broker = self._brokers[call.asked.leader]
        return broker.is_up and broker.process == call.process

    # --- to the controller and back

    def _pass_on(self, call: _Call) -> None:
        node, asked = self._active(), call.asked
        if node is None or node.controller is None or self._network.is_cut(node.node_id, asked.leader):
            asked.refuse(NotController("no controller can be reached", None))
        elif self._chance.random() >= (0.5 if self.loses_answers else self._network.faults.lose):
            with node.speaking():
                call.inner = node.controller.alter_isr(
                    asked.tp, asked.leader, *asked.epochs[:2], asked.isr, asked.broker_epoch
                )
            call.node, call.at = node, node.process

    def _answered(self, call: _Call) -> bool:
        future = call.asked.future
        if future.done() or self.holds_answers:
            return future.done()
        is_over = call.node is None or call.node.process is not call.at
        is_done = call.inner is not None and call.inner.done()
        is_lost = self.loses_answers or self._chance.random() < self._network.faults.lose_reply
        if call.inner is not None and is_done and not is_lost:
            error = call.inner.exception()
            if error is None:
                self._accept(call.asked, call.inner.result())
            else:
                future.set_exception(error)
        elif is_over or is_done:
            future.set_exception(RequestTimedOut("the answer was lost"))
        return future.done()

    def _accept(self, asked: Asked, accepted: AcceptedIsr) -> None:
        place = self._place(asked)
        if place is not None:
            told = self._brokers[asked.leader].told[place]
            told.epochs.add(accepted.partition_epoch)
            told.is_deposed = asked.leader not in accepted.isr
        asked.future.set_result(accepted)

    # --- the rules

    def _place(self, asked: Asked) -> Place | None:
        """Where the requests make this process lead under the epoch of the call."""
        broker = self._brokers[asked.leader]
        for place, told in broker.told.items():
            said = told.by_epoch.get(asked.leader_epoch)
            if broker.names[place] == asked.tp and said is not None and said.leader == asked.leader:
                return place
        return None

    def _judge_call(self, asked: Asked) -> None:
        broker, place = self._brokers[asked.leader], self._place(asked)
        who = f"broker {asked.leader} asks for the isr {list(asked.isr)} of {asked.tp} under {asked.epochs}"
        self._judge.require(place is not None, rules.ISR, f"{who}, and does not lead under this leader epoch")
        if place is None:
            return
        told = broker.told.get(place, Told())
        members = told.members[asked.leader_epoch]
        is_of_members = (asked.leader in asked.isr or told.is_deposed) and set(asked.isr) <= members
        self._judge.require(is_of_members, rules.ISR, f"{who}; the members are {sorted(members)}")
        known = asked.partition_epoch in told.epochs
        self._judge.require(known, rules.ISR, f"{who}; it was given the partition epochs {sorted(told.epochs)}")
        registered = asked.broker_epoch in broker.epochs
        self._judge.require(registered, rules.ISR, f"{who}; it is registered under {broker.epoch}")
        waits = any(
            (one.asked.tp, one.asked.leader, *one.asked.epochs[:2]) == (asked.tp, asked.leader, *asked.epochs[:2])
            and not one.asked.future.done()
            for one in self._calls
        )
        self._judge.require(not waits, rules.ISR, f"{who}, while a call under the same epochs waits for its answer")
        self.judged(asked, place)
