"""Passes the ISR changes of leaders on to a controller, over the network of a rig with its cuts and lost answers.

Any thread of the host may call; the calls are judged and passed on at the next step, on the thread of the rig. A call
of a process that has ended is dropped. One whose controller ended is answered with REQUEST_TIMED_OUT, and so is one
that was lost: the change may have been committed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import attrs

from ...model.errors import NotController, RequestTimedOut
from ...model.requests import AcceptedIsr
from ...simulated.network import Network
from ..node import Node
from . import rules
from .broker import HostedBroker, Place, Told
from .isr_calls import IsrCall, IsrCalls
from .rules import Judge


@attrs.define(eq=False)
class _Passed:
    """A call, and the controller process that has it. `inner` None: it was lost."""

    call: IsrCall
    node: Node | None = None
    at: object = None
    inner: Future[AcceptedIsr] | None = None


class IsrLink:
    """`updater`: takes the calls of the host. `judged`: gets each call that is passed on, with its place.
    `holds_answers`: none arrives; `loses_answers`: each is replaced by an error, and half of the calls do not arrive
    either."""

    def __init__(
        self,
        brokers: Mapping[int, HostedBroker],
        network: Network,
        chance: random.Random,
        judge: Judge,
        active: Callable[[], Node | None],
    ) -> None:
        self.updater = IsrCalls()
        self._brokers = brokers
        self._network = network
        self._chance = chance
        self._judge = judge
        self._active = active
        self._taken = 0  # of the calls of the updater
        self._dropped: dict[int, int] = {}  # the number of calls when the last process of a broker ended
        self._open: list[_Passed] = []
        self.holds_answers = self.loses_answers = False
        self.judged: Callable[[IsrCall, Place], None] = lambda _, __: None

    def ended(self, broker_id: int) -> None:
        """The process of a broker ended: its calls are dropped."""
        self._dropped[broker_id] = len(self.updater.calls)
        self._open = [passed for passed in self._open if passed.call.leader != broker_id]

    def step(self) -> None:
        """Pass calls on, and answers back."""
        while self._taken < len(self.updater.calls):
            call = self.updater.calls[self._taken]
            if self._brokers[call.leader].is_up and self._taken >= self._dropped.get(call.leader, 0):
                self._judge_call(call)
                self._open.append(self._passed_on(call))
            self._taken += 1
        self._open = [passed for passed in self._open if not self._answered(passed)]

    # --- to the controller and back

    def _passed_on(self, call: IsrCall) -> _Passed:
        node = self._active()
        if node is None or node.controller is None or self._network.is_cut(node.node_id, call.leader):
            call.refuse(NotController("no controller can be reached", None))
            return _Passed(call)
        if self._chance.random() < (0.5 if self.loses_answers else self._network.faults.lose):
            return _Passed(call)
        with node.speaking():
            inner = node.controller.alter_isr(
                call.tp, call.leader, *call.epochs[:2], call.isr, call.broker_epoch, isr_epochs=call.isr_epochs
            )
        return _Passed(call, node, node.process, inner)

    def _answered(self, passed: _Passed) -> bool:
        future = passed.call.future
        if future.done() or self.holds_answers:
            return future.done()
        is_over = passed.node is None or passed.node.process is not passed.at
        is_done = passed.inner is not None and passed.inner.done()
        is_lost = self.loses_answers or self._chance.random() < self._network.faults.lose_reply
        if passed.inner is not None and is_done and not is_lost:
            error = passed.inner.exception()
            if error is None:
                self._accept(passed.call, passed.inner.result())
            else:
                future.set_exception(error)
        elif is_over or is_done:
            future.set_exception(RequestTimedOut("the answer was lost"))
        return future.done()

    def _accept(self, call: IsrCall, accepted: AcceptedIsr) -> None:
        place = self._place(call)
        if place is not None:
            told = self._brokers[call.leader].told[place]
            told.epochs.add(accepted.partition_epoch)
            told.is_deposed = call.leader not in accepted.isr
        call.future.set_result(accepted)

    # --- the rules

    def _place(self, call: IsrCall) -> Place | None:
        """Where the requests make this process lead under the epoch of the call."""
        broker = self._brokers[call.leader]
        for place, told in broker.told.items():
            said = told.by_epoch.get(call.leader_epoch)
            if broker.names[place] == call.tp and said is not None and said.leader == call.leader:
                return place
        return None

    def _judge_call(self, call: IsrCall) -> None:
        broker, place = self._brokers[call.leader], self._place(call)
        who = f"broker {call.leader} asks for the isr {list(call.isr)} of {call.tp} under {call.epochs}"
        self._judge.require(place is not None, rules.ISR, f"{who}, and does not lead under this leader epoch")
        if place is None:
            return
        told = broker.told.get(place, Told())
        members = told.members[call.leader_epoch]
        is_of_members = (call.leader in call.isr or told.is_deposed) and set(call.isr) <= members
        self._judge.require(is_of_members, rules.ISR, f"{who}; the members are {sorted(members)}")
        known = call.partition_epoch in told.epochs
        self._judge.require(known, rules.ISR, f"{who}; it was given the partition epochs {sorted(told.epochs)}")
        registered = call.broker_epoch in broker.epochs
        self._judge.require(registered, rules.ISR, f"{who}; it is registered under {broker.epoch}")
        waits = any(
            (one.call.tp, one.call.leader, *one.call.epochs[:2]) == (call.tp, call.leader, *call.epochs[:2])
            and not one.call.future.done()
            for one in self._open
        )
        self._judge.require(not waits, rules.ISR, f"{who}, while a call under the same epochs waits for its answer")
        self.judged(call, place)
