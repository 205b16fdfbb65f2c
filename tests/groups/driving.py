"""A coordinator as its tests drive it: what members ask, what they hear, and a log that tests let succeed or fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kedge.controller.coordinators import Append, CoordinatorError, Output
from kedge.controller.groups import Coordinator
from kedge.controller.groups.records import Record, Subscription
from kedge.controller.groups.requests import (
    FetchOffsets,
    GroupRequest,
    GroupSettings,
    Heartbeat,
    Join,
    Sync,
)
from kedge.controller.model.values import TopicPartition
from kedge.controller.wire.groups.consumer_records import MemberBytes

TP: Final = TopicPartition("orders", 0)
SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 60_000


class PlainBytes(MemberBytes):
    """Tests write the topics that a member subscribes to with commas between them, and the partitions that it owns
    behind a stroke: `orders,payments|orders-0,orders-1`."""

    def subscription(self, metadata: bytes) -> Subscription | None:
        """None for no bytes."""
        topics, _, owned = metadata.decode().partition("|")
        pairs = [name.rsplit("-", 1) for name in owned.split(",") if name]
        known = frozenset((topic, int(number)) for topic, number in pairs)
        return Subscription(frozenset(topics.split(",")), known) if metadata else None


class Driven:
    """A coordinator, loaded. `heard`: what each ticket got. `log`: what was appended; `holds` True: appends stay under
    way until `commit` or `fail`."""

    def __init__(self, records: Sequence[Record] = (), **settings: int) -> None:
        self.now_ms = 1_000
        self.settings = GroupSettings(**{"initial_rebalance_delay_ms": 0, **settings})
        self.coordinator = Coordinator(self.settings, PlainBytes())
        self.heard: dict[Any, Any] = {}
        self.log: list[Record] = list(records)
        self.under_way: list[Append] = []
        self.holds = False
        self._ids = 0
        self.coordinator.load(records)
        self._took(self.coordinator.loaded(self.now_ms))

    # --- what is asked

    def ask(self, asked: GroupRequest, ticket: Any = "") -> Any:
        """What it heard of that, or None while it waits."""
        ticket = ticket or f"ticket {len(self.heard)}"
        self.heard.pop(ticket, None)
        self._took(self.coordinator.ask(asked, ticket, self.now_ms))
        return self.heard.get(ticket)

    def join(
        self,
        who: str,
        member_id: str = "",
        *,
        protocols: Any = (("range", b"orders"),),
        kind: str = "consumer",
        **fields: Any,
    ) -> Any:
        """`who`: the ticket, and the client id; `kind`: the protocol type."""
        self._ids += 1
        named = {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS, "client_id": who, **fields}
        return self.ask(Join("g", member_id, f"id{self._ids}", kind, tuple(protocols), **named), who)

    def sync(self, who: str, member_id: str, generation: int, /, **assignments: bytes) -> Any:
        """`assignments`: by client id; the leader's."""
        ids = {m: m for m in self.coordinator.groups["g"].members} if "g" in self.coordinator.groups else {}
        by_id = {m: assignments[m.rpartition("-")[0]] for m in ids if m.rpartition("-")[0] in assignments}
        return self.ask(Sync("g", generation, member_id, by_id), who)

    def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> CoordinatorError:
        """A heartbeat."""
        error: CoordinatorError = self.ask(Heartbeat("g", generation, member_id, instance_id)).error
        return error

    def committed(self, tp: TopicPartition = TP) -> int | None:
        """What is committed."""
        found = self.ask(FetchOffsets("g", (tp,))).offsets[tp]
        return None if found is None else found.offset

    # --- the log and the time

    def settle(self, error: CoordinatorError = CoordinatorError.NONE) -> None:
        """Everything that is under way is committed, or ends with that error."""
        while self.under_way:
            self.ended(self.under_way.pop(0), error)

    def ended(self, append: Append, error: CoordinatorError) -> None:
        """The append is committed, or has failed."""
        if not error:
            self.log += append.records
        self._took(self.coordinator.appended(append.number, error, self.now_ms))

    def wait(self, ms: int) -> None:
        """So much time passes, and whatever is due in it happens when it is."""
        end_ms = self.now_ms + ms
        while (due_ms := self.coordinator.next_ms) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self._took(self.coordinator.tick(self.now_ms))
        self.now_ms = end_ms

    def forget(self, before_ms: Mapping[TopicPartition, int]) -> None:
        """Topics were created again at these times."""
        self._took(self.coordinator.forget(before_ms, self.now_ms))

    def _took(self, output: Output) -> None:
        self.heard |= dict(output.replies)
        self.under_way += output.appends
        if not self.holds:
            self.settle()

    # --- groups that are there

    def stable(self, *clients: str, **fields: Any) -> Mapping[str, str]:
        """Members with these client ids in a stable generation 1, or higher: their ids."""
        for client in clients:
            self.join(client, **fields)
        ids: dict[str, str] = {}
        group = self.coordinator.groups["g"]
        for _ in range(2):  # members of before join again
            for member in list(group.members.values()):
                if group.members[member.member_id].joining is None and group.state.value == "PreparingRebalance":
                    self.join(member.client_id, member.member_id, **fields)
        ids = {member.client_id: member.member_id for member in group.members.values()}
        assert group.leader is not None
        assignments = {m: client.encode() for client, m in ids.items()}
        for client, member_id in ids.items():
            brought = assignments if member_id == group.leader else {}
            self.ask(Sync("g", group.generation, member_id, brought), client)
        return ids
