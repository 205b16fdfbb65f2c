"""Members that come, go, sync and commit in any order, over a log that loses what was not acknowledged.

The model is small: what was acknowledged. An offset that was acknowledged never goes back; a generation has one leader,
one protocol and one assignment, also after another coordinator took over; every request is answered once.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.held import by_offset
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import Joined, OffsetErrors, Synced
from kedge.controller.groups.requests import (
    Commit,
    Describe,
    GroupRequest,
    Heartbeat,
    Join,
    Leave,
    Leaving,
    Sync,
)
from tests.groups.driving import TP, Driven

CLIENTS = st.integers(0, 3)
STATIC = (None, None, "i", "j")  # of each client
PROTOCOLS = (("a", "b"), ("b", "a"), ("b",), ("a", "b"))


class Groups(RuleBasedStateMachine):
    """Clients 0 to 3, two of them static, each with what it knows of itself: its id and its generation."""

    def __init__(self) -> None:
        super().__init__()
        self.driven = Driven(initial_rebalance_delay_ms=100)
        self.driven.holds = True
        self.ids = [""] * 4
        self.generations = [-1] * 4
        self.tickets = itertools.count(1)
        self.waiting: dict[int, GroupRequest] = {}
        self.answered: set[int] = set()
        self.acknowledged = -1
        self.sent = 0
        self.leaders: dict[int, tuple[str, str | None]] = {}
        self.given: dict[int, bytes] = {}

    # --- what clients do

    def ask(self, asked: GroupRequest) -> None:
        ticket = next(self.tickets)
        self.waiting[ticket] = asked
        self.driven.ask(asked, ticket)
        self.hear()

    @rule(client=CLIENTS, forgets=st.booleans(), new=st.booleans())
    def join(self, client: int, forgets: bool, new: bool) -> None:
        if forgets:
            self.ids[client] = ""
        protocols = tuple((name, b"orders") for name in PROTOCOLS[client])
        fields: dict[str, Any] = {"instance_id": STATIC[client], "client_id": f"c{client}", "requires_member_id": new}
        fresh = f"{next(self.tickets)}"
        self.ask(Join("g", self.ids[client], fresh, "consumer", protocols, 6_000, 10_000, **fields))

    @rule(client=CLIENTS)
    def sync(self, client: int) -> None:
        group = self.driven.coordinator.groups.get("g")
        generation, member_id = self.generations[client], self.ids[client]
        leads = self.leaders.get(generation, ("", None))[0] == member_id
        brought = f"{generation}/{next(self.tickets)}".encode()
        members = group.members if group is not None and leads else {}
        self.ask(Sync("g", generation, member_id, dict.fromkeys(members, brought), STATIC[client]))

    @rule(client=CLIENTS)
    def beat(self, client: int) -> None:
        self.ask(Heartbeat("g", self.generations[client], self.ids[client], STATIC[client]))

    @rule(client=CLIENTS)
    def leave(self, client: int) -> None:
        self.ask(Leave("g", (Leaving(self.ids[client], STATIC[client]),)))

    @rule(client=st.none() | CLIENTS)
    def commit(self, client: int | None) -> None:
        self.sent += 1
        who = () if client is None else (self.generations[client], self.ids[client], STATIC[client])
        self.ask(Commit("g", {TP: Committed(self.sent)}, *who))

    # --- what the world does

    @rule(ms=st.sampled_from([1, 100, 3_000, 10_000, 400_000]))
    def wait(self, ms: int) -> None:
        self.driven.wait(ms)
        self.hear()

    @rule()
    def write(self) -> None:
        if self.driven.under_way:
            rest = self.driven.under_way[1:]
            del self.driven.under_way[1:]
            self.driven.settle()
            self.driven.under_way[:0] = rest
        self.hear()

    @rule()
    def write_all(self) -> None:
        self.driven.settle()
        self.hear()

    @rule(error=st.sampled_from([CoordinatorError.NOT_COORDINATOR, CoordinatorError.REQUEST_TIMED_OUT]))
    def fail(self, error: CoordinatorError) -> None:
        self.driven.settle(error)
        self.hear()

    @rule(kept=st.integers(0, 3))
    def take_over(self, kept: int) -> None:
        """Another coordinator has what was committed, and perhaps some of what was under way."""
        old = self.driven
        log = [*old.log, *(record for append in old.under_way[:kept] for record in append.records)]
        for ticket, answer in old.coordinator.unload(old.now_ms).replies:
            old.heard[ticket] = answer
        assert old.coordinator.held.bytes == 0
        self.hear()
        self.driven = Driven(log, initial_rebalance_delay_ms=100)
        self.driven.now_ms, self.driven.holds = old.now_ms, True

    # --- what is held

    def hear(self) -> None:
        heard, self.driven.heard = self.driven.heard, {}
        for ticket, answer in heard.items():
            if ticket in self.waiting:
                self.check(self.waiting.pop(ticket), answer)
                self.answered.add(ticket)
            else:
                assert ticket not in self.answered

    def check(self, asked: GroupRequest, answer: Any) -> None:
        if isinstance(asked, Join):
            assert isinstance(answer, Joined)
            self.joined(int(asked.client_id[1:]), answer)
        elif isinstance(asked, Sync) and answer.error is CoordinatorError.NONE:
            assert isinstance(answer, Synced)
            if answer.assignment:
                first = self.given.setdefault(asked.generation, answer.assignment)
                assert first == answer.assignment
        elif isinstance(asked, Commit) and answer == OffsetErrors({TP: CoordinatorError.NONE}):
            self.acknowledged = max(self.acknowledged, asked.offsets[TP].offset)

    def joined(self, client: int, answer: Joined) -> None:
        if answer.error in {CoordinatorError.NONE, CoordinatorError.MEMBER_ID_REQUIRED}:
            self.ids[client] = answer.member_id
        elif answer.error is CoordinatorError.UNKNOWN_MEMBER_ID:
            self.ids[client] = ""
        if answer.error is CoordinatorError.NONE:
            self.generations[client] = answer.generation
            if answer.members:
                self.leaders[answer.generation] = (answer.leader, answer.protocol)
                assert answer.leader == answer.member_id

    @invariant()
    def acknowledged_offsets_stay(self) -> None:
        assert (self.driven.committed() or 0) >= max(self.acknowledged, 0)

    @invariant()
    def what_is_held_is_counted(self) -> None:
        coordinator = self.driven.coordinator
        assert coordinator.held.bytes == sum(group.held_bytes for group in coordinator.groups.values())
        for group in coordinator.groups.values():
            assert group.offset_bytes == sum(by_offset(tp, at.committed) for tp, at in group.offsets.items())

    @invariant()
    def groups_are_sound(self) -> None:
        group = self.driven.coordinator.groups.get("g")
        if group is None:
            return
        assert (group.leader in group.members) == bool(group.members)
        assert set(group.static.values()) <= set(group.members)
        assert not set(group.pending) & set(group.members)
        assert group.unsynced <= set(group.members)
        described = self.driven.ask(Describe("g"))
        assert len(described.members) == len(group.members)
        assert all(member_id == member.member_id for member_id, member in group.members.items())

    def teardown(self) -> None:
        """Each waiting member is answered, at the latest at the end."""
        self.take_over(0)
        assert not self.waiting


Groups.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
test_groups_hold_what_they_acknowledge = pytest.mark.slow(Groups.TestCase)
