"""Members of both protocols that come, go and move in any order, over a log that loses what was not acknowledged.

Clients keep to the protocol, each at its own pace: one that has to give partitions back may use them for long. Then

* no partition is used by two members at once, whatever fails, whichever protocol the group has, and after a takeover;
* the state in memory is that of the log when nothing is left to write, and the log can be loaded at any time;
* committed offsets stay; every request is answered once.
"""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, Partitions
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import ConsumerHeartbeated, Joined, OffsetErrors, State, Synced
from kedge.controller.groups.requests import (
    Commit,
    ConsumerHeartbeat,
    DeleteGroup,
    GroupRequest,
    Heartbeat,
    Join,
    Leave,
    Leaving,
    Sync,
)
from tests.groups.consumer.driving import OK, Consumers
from tests.groups.consumer.states import same, sound
from tests.groups.driving import TP

LOST = {CoordinatorError.FENCED_MEMBER_EPOCH, CoordinatorError.UNKNOWN_MEMBER_ID, CoordinatorError.FENCED_INSTANCE_ID}
TOPICS: list[dict[str, Any]] = [
    {"orders": 4},
    {"orders": 5, "other": 2},
    {"orders": 3, "again": ["orders"]},
    {"other": 3, "payments": 1},
]
SLOTS = st.integers(0, 3)
STATIC = (None, None, None, "i")


@attrs.define
class Slot:
    """A client: what it knows of itself, what it uses, and what it may use. `epoch`: also its generation."""

    number: int
    instance_id: str | None
    member_id: str = ""
    is_classic: bool = False
    epoch: int = 0
    using: Partitions = NONE
    assigned: Partitions = NONE
    waits: bool = False

    def got(self, assigned: Partitions) -> None:
        """It may use these from now on. It does so at once if it has not to give any back."""
        self.assigned = assigned
        self.using = max(assigned, self.using)

    def forget(self) -> None:
        """It is no member any more, as far as it knows."""
        self.epoch, self.using, self.assigned = -1 if self.is_classic else 0, NONE, NONE


class Groups(RuleBasedStateMachine):
    """Four clients, one of them static. Each uses the protocol of its last request."""

    def __init__(self) -> None:
        super().__init__()
        self.driven = self.new()
        self.slots = [Slot(number, instance_id, f"m{number}") for number, instance_id in enumerate(STATIC)]
        self.tickets = itertools.count(1)
        self.waiting: dict[int, tuple[GroupRequest, Slot | None]] = {}
        self.acknowledged = self.sent = self.deleted = 0

    def new(self, log: Any = ()) -> Consumers:
        driven = Consumers(log, {"orders": 4}, consumer_session_timeout_ms=10_000)
        driven.holds = True
        return driven

    def ask(self, asked: GroupRequest, slot: Slot | None = None) -> None:
        ticket = next(self.tickets)
        self.waiting[ticket] = asked, slot
        if slot is not None:
            slot.waits = True
        self.driven.ask(asked, ticket)
        self.hear()

    # --- clients of the consumer protocol

    @rule(number=SLOTS, topics=st.sampled_from([None, "orders", "orders other", "payments"]), regex=st.booleans())
    def beat(self, number: int, topics: str | None, regex: bool) -> None:
        slot = self.slots[number]
        if slot.waits:
            return
        if slot.is_classic:
            slot.is_classic, slot.member_id = False, f"m{number}"
            slot.forget()
        fields: dict[str, Any] = {"owned": slot.using}
        if topics is not None or slot.epoch == 0:
            fields["topics"] = frozenset((topics or "orders").split())
            fields["regex"] = "o.*" if regex else ""
        if slot.epoch == 0:
            slot.using = slot.assigned = NONE
            fields |= {"owned": NONE, "rebalance_timeout_ms": 5_000}
        self.ask(ConsumerHeartbeat("g", slot.member_id, slot.epoch, instance_id=slot.instance_id, **fields), slot)

    @rule(number=SLOTS, stays=st.booleans())
    def leave(self, number: int, stays: bool) -> None:
        """A static member may be back soon, under another id."""
        slot = self.slots[number]
        if slot.waits:
            return
        slot.using = slot.assigned = NONE
        if slot.is_classic:
            self.ask(Leave("g", (Leaving(slot.member_id, slot.instance_id),)), slot)
        else:
            epoch = -2 if stays and slot.instance_id else -1
            self.ask(ConsumerHeartbeat("g", slot.member_id, epoch, instance_id=slot.instance_id), slot)
            slot.member_id = f"m{number}-{next(self.tickets)}"
        slot.forget()

    @rule(number=SLOTS)
    def give_back(self, number: int) -> None:
        """It stops using what it has to give back, and so may begin to use what it got."""
        slot = self.slots[number]
        slot.using = slot.assigned

    # --- clients of the classic protocol

    @rule(number=SLOTS, topics=st.sampled_from(["orders", "orders,other"]))
    def join(self, number: int, topics: str) -> None:
        """In a classic group it gives everything back before. One that was removed uses nothing, either: no coordinator
        knows what it had."""
        slot, group = self.slots[number], self.driven.coordinator.groups.get("g")
        if slot.waits:
            return
        if not slot.is_classic:
            slot.is_classic, slot.member_id = True, ""
            slot.forget()
        if group is None or group.consumer is None or slot.member_id not in group.consumer.members:
            slot.using = slot.assigned = NONE
        names = sorted(self.driven.coordinator.topics.named(slot.using))
        owned = ",".join(f"{topic}-{partition}" for topic, partition in names)
        protocols = (("range", f"{topics}|{owned}".encode()),)
        fresh, instance_id = f"{next(self.tickets)}", slot.instance_id
        asked = Join("g", slot.member_id, fresh, "consumer", protocols, 6_000, 10_000, instance_id, client_id="c")
        self.ask(asked, slot)

    @rule(number=SLOTS)
    def sync(self, number: int) -> None:
        """The leader gives every partition to one member."""
        slot, group = self.slots[number], self.driven.coordinator.groups.get("g")
        if slot.waits or not slot.is_classic:
            return
        ids = [] if group is None or group.leader != slot.member_id else list(group.members)
        topic = self.driven.coordinator.topics.by_name.get("orders")
        numbers = range(topic.partitions if topic else 0)
        shares = {m: frozenset(("orders", n) for n in numbers if n % len(ids) == i) for i, m in enumerate(ids)}
        brought = {m: self.driven.coordinator.codec.assignment(share) for m, share in shares.items()}
        self.ask(Sync("g", slot.epoch, slot.member_id, brought, slot.instance_id), slot)

    @rule(number=SLOTS)
    def beat_as_classic(self, number: int) -> None:
        slot = self.slots[number]
        if slot.is_classic and not slot.waits:
            self.ask(Heartbeat("g", slot.epoch, slot.member_id, slot.instance_id), slot)

    # --- what the world does

    @rule(number=st.none() | SLOTS)
    def commit(self, number: int | None) -> None:
        self.sent += 1
        who = () if number is None else (self.slots[number].epoch, self.slots[number].member_id)
        self.ask(Commit("g", {TP: Committed(self.sent)}, *who))

    @rule()
    def delete(self) -> None:
        """Earlier commits are deleted with the group."""
        self.acknowledged, self.deleted = 0, self.sent
        self.ask(DeleteGroup("g"))

    @rule(ms=st.sampled_from([1, 3_000, 6_000, 20_000, 700_000]))
    def wait(self, ms: int) -> None:
        self.driven.wait(ms)
        self.hear()

    @rule(topics=st.sampled_from(TOPICS))
    def change_topics(self, topics: dict[str, Any]) -> None:
        self.driven.create(**topics)

    @rule(error=st.sampled_from([OK, OK, CoordinatorError.REQUEST_TIMED_OUT, CoordinatorError.NOT_COORDINATOR]))
    def write(self, error: CoordinatorError) -> None:
        """The first append ends."""
        if self.driven.under_way:
            self.driven.ended(self.driven.under_way.pop(0), error)
            if not error:
                sound(self.new(self.driven.log))
        self.hear()

    @rule()
    def write_all(self) -> None:
        while self.driven.under_way:
            self.write(OK)

    @rule(kept=st.integers(0, 2))
    def take_over(self, kept: int) -> None:
        """Another coordinator has what was committed, and perhaps some of what was under way."""
        old = self.driven
        log = [*old.log, *(record for append in old.under_way[:kept] for record in append.records)]
        old.heard |= dict(old.coordinator.unload(old.now_ms).replies)
        assert old.coordinator.held.bytes == 0
        self.hear()
        assert not self.waiting
        self.driven = self.new(log)
        self.driven.coordinator.topics, self.driven.now_ms = old.coordinator.topics, old.now_ms

    # --- what clients hear

    def hear(self) -> None:
        heard, self.driven.heard = self.driven.heard, {}
        for ticket, answer in heard.items():
            asked, slot = self.waiting.pop(ticket)
            if slot is not None:
                slot.waits = False
                self.took(slot, asked, answer)
            elif isinstance(asked, Commit) and answer == OffsetErrors({TP: OK}):
                offset = asked.offsets[TP].offset
                self.acknowledged = max(self.acknowledged, offset if offset > self.deleted else 0)

    def took(self, slot: Slot, asked: GroupRequest, answer: Any) -> None:
        if isinstance(asked, Leave) or (isinstance(asked, ConsumerHeartbeat) and asked.epoch < 0):
            return
        if answer.error in LOST:
            slot.forget()
            slot.member_id = "" if slot.is_classic else slot.member_id
        elif answer.error is not OK:
            return
        elif isinstance(answer, ConsumerHeartbeated):
            slot.epoch = answer.epoch
            slot.got(slot.assigned if answer.assigned is None else answer.assigned)
        elif isinstance(answer, Joined):
            slot.member_id, slot.epoch = answer.member_id, answer.generation
        elif isinstance(answer, Synced):
            codec, topics = self.driven.coordinator.codec, self.driven.coordinator.topics
            slot.got(topics.by_names(codec.assigned(answer.assignment) or NONE))

    # --- what holds

    @invariant()
    def no_partition_is_used_twice(self) -> None:
        group = self.driven.coordinator.groups.get("g")
        if group is None or group.consumer is None:
            return
        for slot in self.slots:
            member = group.consumer.members.get(slot.member_id)
            if member is not None and slot.is_classic == (member.said.classic is not None):
                used = {tp for tp in slot.using if tp[0] in self.driven.coordinator.topics.names}
                assert used <= member.current.owned, slot

    @invariant()
    def memory_is_sound(self) -> None:
        sound(self.driven)

    @invariant()
    def memory_is_as_the_log(self) -> None:
        group = self.driven.coordinator.groups.get("g")
        if self.driven.under_way or (group is not None and group.writes.is_busy):
            return
        if group is None or group.consumer is not None or group.state is State.STABLE:
            same(self.driven, self.new(self.driven.log))

    @invariant()
    def acknowledged_offsets_stay(self) -> None:
        group = self.driven.coordinator.groups.get("g")
        at = None if group is None else group.offsets.get(TP)
        assert (0 if at is None else at.committed.offset) >= self.acknowledged

    def teardown(self) -> None:
        self.take_over(0)


Groups.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
test_members_never_share_a_partition = pytest.mark.slow(Groups.TestCase)
