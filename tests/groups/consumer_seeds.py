"""Groups of the consumer protocol (KIP-848) in virtual time, with members of the classic protocol among them.

What must hold is in `tests.groups.seeds`, with the epoch of a member as its generation; and
* A coordinator never has two members that own one partition.
* The epoch of a member never goes back, unless it joins again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.consumer.values import NONE, Partitions
from kedge.controller.groups.replies import ConsumerHeartbeated, Joined, OffsetErrors
from kedge.controller.groups.requests import Commit, ConsumerHeartbeat, FetchOffsets, GroupSettings, Join, Sync
from kedge.controller.model.requests import NewPartitions
from kedge.controller.model.values import TopicPartition
from kedge.controller.wire.groups import GroupRecords
from tests.coordinators.world import CLUSTER_MISHAPS
from tests.groups.seeds import GROUP, ORDERS, PATIENCE_MS, Client
from tests.groups.seeds import Seed as OfGroups

ORDERS_MAX: Final = 9
SESSION_MS: Final = 6_000
REBALANCE_MS: Final = 8_000
COMINGS: Final = ("come", "come classic", "change", "restart", "grow", "sleep")
_JOINS_AGAIN: Final = {
    CoordinatorError.UNKNOWN_MEMBER_ID,
    CoordinatorError.FENCED_MEMBER_EPOCH,
    CoordinatorError.FENCED_INSTANCE_ID,
}
_GOES_ON: Final = {CoordinatorError.STALE_MEMBER_EPOCH, CoordinatorError.UNRELEASED_INSTANCE_ID}
_CODEC: Final = GroupRecords()


class Seed(OfGroups):
    """Members of both protocols in one group."""

    members: list[Any]

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        timeouts = {"consumer_session_timeout_ms": SESSION_MS, "consumer_heartbeat_interval_ms": 500}
        self.groups.begin(GroupRecords(), GroupSettings(**timeouts))
        self.members = [Consumer(self, number) for number in range(3)]

    def step(self) -> None:
        """A tick; then no partition has two owners in any coordinator."""
        super().step()
        for led in self.groups._led.values():  # noqa: SLF001 - what no answer shows
            group = led.coordinator.groups.get(GROUP)
            if group is not None and group.consumer is not None:
                owned = [tp for member in group.consumer.members.values() for tp in member.current.owned]
                assert len(owned) == len(set(owned)), owned

    def any_mishap(self) -> None:
        """One of many, by chance."""
        kind = self.chance.choice((*CLUSTER_MISHAPS, "die", "leave", *COMINGS))
        if kind in {"die", "leave"} and len(self.members) > 1:
            gone = self.members.pop(self.chance.randrange(len(self.members)))
            gone.leave(-1) if kind == "leave" else None
        elif kind.startswith("come"):
            self.members.append(self.new(is_classic=kind != "come"))
        elif kind in {"change", "restart"}:
            self.replace(self.chance.randrange(len(self.members)), is_change=kind == "change")
        elif kind == "grow":
            self.grow()
        elif kind == "sleep":
            self.sleep()
        elif kind in CLUSTER_MISHAPS:
            self.mishap(kind, self.tp)

    def sleep(self) -> None:
        """A member of the consumer protocol does nothing for a while."""
        found = [member for member in self.members if isinstance(member, Consumer)]
        if found:
            self.chance.choice(found).asleep_until_ms = self.now_ms + self.chance.choice((2_000, 10_000))

    def new(self, *, is_classic: bool, instance_id: str | None = None) -> Any:
        """A member that comes. Every third one is static, every other one subscribes by a regular expression."""
        number = self.now_ms
        static_id = instance_id or (f"static-{number}" if self.chance.random() < 0.3 else None)
        if is_classic:
            return ClassicConsumer(self, number, instance_id=static_id)
        return Consumer(self, number, instance_id=static_id, regex="ord.*" if self.chance.random() < 0.5 else None)

    def replace(self, place: int, *, is_change: bool) -> None:
        """A member is restarted, with the other protocol if it changes; a static one comes back as itself."""
        old = self.members[place]
        if self.chance.random() < 0.7:
            old.leave(-1 if old.instance_id is None or is_change else -2)
        is_classic = isinstance(old, ClassicConsumer) != is_change
        self.members[place] = self.new(is_classic=is_classic, instance_id=old.instance_id)

    def grow(self) -> None:
        """The topic gets one more partition."""
        active = self.rig.active
        if active is not None and active.controller is not None and self.orders < ORDERS_MAX:
            active.controller.admin.create_partitions({"orders": NewPartitions(self.orders + 1)})

    @property
    def orders(self) -> int:
        counts = [sum(tp.topic == "orders" for tp in broker.metadata) for broker in self.rig.brokers.values()]
        return max(*counts, ORDERS)


@attrs.define(eq=False)
class Consumer(Client):
    """A member of the consumer protocol. `given`: what it may have. `held`: what it has to give up, and goes on with
    until `released_ms`; for ever if it is stuck. `sent`: what it said that it has. `heard_ms`: when it asked what the
    coordinator last answered to it as a member."""

    instance_id: str | None = None
    regex: str | None = None
    given: Partitions = NONE
    held: Partitions = NONE
    sent: Partitions = NONE
    released_ms: int | None = 0
    is_full: bool = True
    is_lost: bool = False
    is_stuck: bool = attrs.field(init=False)
    asleep_until_ms: int = 0
    heard_ms: int = 0

    def __attrs_post_init__(self) -> None:
        self.is_stuck = self.seed.chance.random() < 0.15

    def step(self) -> None:
        """Loses an answer now and then. While it sleeps it asks nothing."""
        if self.asleep_until_ms > self.seed.now_ms and not (self.future is not None and self.future.done()):
            return
        if self.future is not None and self.future.done() and self.seed.chance.random() < 0.03:
            self.future, self.is_full, self.is_lost = None, True, True
        if self.held and self.released_ms is not None and self.released_ms <= self.seed.now_ms:
            self.release()
        super().step()

    def release(self) -> None:
        """Give up what it may not have any more."""
        mine = {TopicPartition("orders", number) for _, number in self.given}
        self.positions = {tp: position for tp, position in self.positions.items() if tp in mine}
        self.held, self.beat_ms = NONE, 0

    def lost(self) -> None:
        super().lost()
        self.is_full = self.is_lost = True

    def join(self) -> None:
        """With an id of its own; it has nothing."""
        self.positions, self.unread, self.given, self.held = {}, (), NONE, NONE
        self.member_id = self.member_id or f"{self.number}-{self.seed.chance.getrandbits(32):x}"
        self.generation, self.is_full = 0, True
        self.beat()

    def beat(self) -> None:
        """A heartbeat, with all that it has to say when it joins, and after a lost answer."""
        is_full, self.is_full = self.is_full, False
        owned = self.given | self.held
        says = is_full or owned != self.sent or self.seed.chance.random() < 0.2
        self.sent = owned
        topics = frozenset({"orders"}) if self.regex is None else frozenset()
        fields: dict[str, Any] = {"topics": topics, "regex": self.regex, "rebalance_timeout_ms": REBALANCE_MS}
        said = {"owned": owned if says else None, **(fields if is_full else {})}
        self.ask(ConsumerHeartbeat(GROUP, self.member_id, self.generation, instance_id=self.instance_id, **said))

    def fetch(self) -> FetchOffsets:
        return FetchOffsets(GROUP, self.unread, member_id=self.member_id, epoch=self.generation)

    def go_on(self) -> None:
        """A commit of some more now and then, else a heartbeat."""
        if self.positions and self.seed.chance.random() < 0.5:
            super().go_on()
            if isinstance(self.asked, Commit):
                return
        self.beat()

    def leave(self, epoch: int) -> None:
        """Says so, and does not wait."""
        if self.coordinator is not None and self.generation > 0:
            gone = ConsumerHeartbeat(GROUP, self.member_id, epoch, instance_id=self.instance_id)
            self.seed.groups.ask(self.coordinator, gone)

    def heard(self, answer: Any) -> None:
        error = self.error_of(answer)
        if error in _JOINS_AGAIN:
            self.removed(error)
        elif error not in _GOES_ON:
            super().heard(answer)
            self.is_full = self.is_full or bool(error)

    def removed(self, error: CoordinatorError) -> None:
        """The coordinator does not know it. That happens after a silence, a lost answer or a revocation that took long,
        and to a member that comes for the first time."""
        silent_ms = self.seed.now_ms - self.heard_ms
        is_late = bool(self.held) or self.seed.now_ms - (self.released_ms or 0) < PATIENCE_MS
        assert self.is_lost or is_late or silent_ms > SESSION_MS / 2 or not self.generation, (error, silent_ms, self)
        self.must_join, self.is_stuck = True, False
        self.member_id = "" if self.seed.chance.random() < 0.5 else self.member_id
        self.assigned_in = -1

    def accepted(self, answer: Any) -> None:
        if not isinstance(answer, ConsumerHeartbeated):
            super().accepted(answer)
            return
        assert (answer.epoch >= self.assigned_in) & (answer.member_id == self.member_id), (answer, self)
        self.generation = self.assigned_in = answer.epoch
        self.must_join = self.is_lost = False
        self.heard_ms = self.asked_ms
        if answer.assigned is not None:
            self.take(answer.assigned)

    def take(self, assigned: Partitions) -> None:
        """Read what is new from where the group is, and give up the rest soon."""
        for _, number in assigned:
            place = (self.generation, TopicPartition("orders", number))
            assert self.seed.given.setdefault(place, self.name) == self.name, place
        self.held = (self.given | self.held) - assigned
        self.given = assigned
        late_ms = self.seed.now_ms + self.seed.chance.choice((0, 700, 3_000))
        self.released_ms = None if self.is_stuck else late_ms
        mine = {TopicPartition("orders", number) for _, number in assigned}
        self.unread = tuple(sorted(mine - self.positions.keys()))

    @property
    def name(self) -> str:
        """A static member is the same one under any id."""
        return self.instance_id or self.member_id


@attrs.define(eq=False)
class ClassicConsumer(Client):
    """A member of the classic protocol that gives up everything when the group rebalances."""

    instance_id: str | None = None
    shared: int = 0
    skips: bool = False

    @property
    def name(self) -> str:
        """As of the others."""
        return self.instance_id or self.member_id

    def join(self) -> None:
        self.positions, self.unread = {}, ()
        metadata = ConsumerProtocolSubscription(version=1, topics=["orders"], user_data=None, owned_partitions=[])
        protocols = (("range", bytes(metadata.encode(header=True))),)
        fresh = f"{self.seed.chance.getrandbits(32):x}"
        name = f"client-{self.number}"
        timeouts = (SESSION_MS, REBALANCE_MS)
        named: dict[str, Any] = {"client_id": name, "requires_member_id": True, "skips_assignment": True}
        self.ask(Join(GROUP, self.member_id, fresh, "consumer", protocols, *timeouts, self.instance_id, **named))

    def sync(self) -> None:
        """The leader, if it leads, shares the partitions out."""
        self.ask(Sync(GROUP, self.generation, self.member_id, self.shares(), self.instance_id))

    def shares(self) -> Mapping[str, bytes]:
        if self.skips:
            return {}
        count = self.shared = self.seed.orders
        every = [frozenset(("orders", n) for n in range(i, count, len(self.leads))) for i in range(len(self.leads))]
        return {member: _CODEC.assignment(share) for member, share in zip(self.leads, every, strict=True)}

    def go_on(self) -> None:
        """A leader sees that the topic grew, and has the group rebalance."""
        if self.leads and self.shared != self.seed.orders:
            self.must_join = True
        else:
            super().go_on()

    def accepted(self, answer: Any) -> None:
        if hasattr(answer, "assignment"):
            found = _CODEC.assigned(answer.assignment)
            assert found is not None
            self.assigned(sorted(number for _, number in found))
        else:
            self.skips = isinstance(answer, Joined) and answer.skips_assignment
            super().accepted(answer)

    def heard(self, answer: Any) -> None:
        error = self.error_of(answer)
        if error is CoordinatorError.FENCED_INSTANCE_ID:
            self.member_id, self.must_join, self.generation, self.assigned_in = "", True, -1, -1
        elif error is CoordinatorError.INCONSISTENT_GROUP_PROTOCOL:
            assert isinstance(answer, Joined | OffsetErrors)
            self.must_join = True
        else:
            super().heard(answer)

    def leave(self, _: int) -> None:
        """It dies without a word."""
