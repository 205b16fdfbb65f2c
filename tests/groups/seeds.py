"""Groups in virtual time: members that come and die, coordinators that move, brokers and controllers that fail.

Invariants
* An offset that a member got acknowledged is never followed by a lower one.
* In each generation every partition has one member at most, whichever coordinator gave it out.
* A member is in one generation at a time: those that assign it something go up, as long as it has the same id. One
  that assigned nothing yet is lost with its coordinator, as in Kafka, and its number is given again.
* Nothing waits for ever: once all is healed, the group gets stable and commits go on.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Final

import attrs

from kedge.controller.coordinators import OFFSETS_TOPIC, CoordinatorError, partition_of
from kedge.controller.coordinators.turn import Answered
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import FetchedOffsets, Joined, OffsetErrors, Synced
from kedge.controller.groups.requests import Commit, FetchOffsets, GroupRequest, Heartbeat, Join, Sync
from kedge.controller.model.values import TopicPartition
from tests.coordinators.world import CLUSTER_MISHAPS, INTERNAL_PARTITIONS, World

GROUP: Final = "g"
ORDERS: Final = 6
HEARTBEAT_MS: Final = 500
PATIENCE_MS: Final = 3_000  # after that a request counts as lost
_ELSEWHERE: Final = {CoordinatorError.NOT_COORDINATOR, CoordinatorError.COORDINATOR_NOT_AVAILABLE}
_LATER: Final = {
    CoordinatorError.COORDINATOR_LOAD_IN_PROGRESS,
    CoordinatorError.REQUEST_TIMED_OUT,
    CoordinatorError.UNKNOWN_TOPIC_OR_PARTITION,  # where all brokers that are up have just started
}


class Seed(World):
    """The members of one group, and what they heard."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, "groups", {"orders": ORDERS})
        self.tp = TopicPartition(OFFSETS_TOPIC, partition_of(GROUP, INTERNAL_PARTITIONS))
        self.acknowledged: dict[TopicPartition, int] = {}
        self.given: dict[tuple[int, TopicPartition], str] = {}
        self.commits = 0
        self.members = [Client(self, number) for number in range(3)]

    def step(self) -> None:
        """A tick: all do what is due."""
        self.tick()
        for member in self.members:
            member.step()
        self.drain()

    @property
    def counts(self) -> tuple[int, int]:
        """Commits, and partitions with some."""
        return self.commits, len(self.acknowledged)

    # --- what befalls them

    def any_mishap(self) -> None:
        """One of many, by chance."""
        kind = self.chance.choice((*CLUSTER_MISHAPS, "die", "come"))
        if kind == "die":
            self.members.pop(self.chance.randrange(len(self.members))) if len(self.members) > 1 else None
        elif kind == "come":
            self.members.append(Client(self, self.now_ms))
        else:
            self.mishap(kind, self.tp)

    def run(self, mishaps: int) -> None:
        """So many, a few ticks between two; then all is healed, and the group has to go on."""
        for _ in range(mishaps):
            for _ in range(self.chance.randint(1, 60)):
                self.step()
            self.any_mishap()
        self.rig.mishaps.heal()
        end_ms = self.now_ms + 200_000
        while not self._is_whole():
            assert self.now_ms < end_ms, [
                attrs.asdict(m, recurse=False, filter=lambda a, _: a.name != "seed") for m in self.members
            ]
            self.step()
        before = self.commits
        while self.commits < before + 10:
            assert self.now_ms < end_ms, "no commits go on"
            self.step()

    @property
    def orders(self) -> int:
        """How many partitions the topic has."""
        return ORDERS

    def _is_whole(self) -> bool:
        """Whether the members that there are have all partitions between them, in one generation."""
        held = [tp for member in self.members for tp in member.positions]
        return len(held) == self.orders and len({member.generation for member in self.members}) == 1


@attrs.define(eq=False)
class Client:
    """A member, as a stock consumer: joins, syncs, sends heartbeats, reads on and commits where it is."""

    seed: Seed = attrs.field(repr=False)
    number: int
    member_id: str = ""
    generation: int = -1
    assigned_in: int = -1
    coordinator: int | None = None
    positions: dict[TopicPartition, int] = attrs.field(factory=dict)
    must_join: bool = True
    asked: GroupRequest | None = None
    future: Future[Any] | None = None
    asked_ms: int = 0
    beat_ms: int = 0
    leads: tuple[str, ...] = ()
    unread: tuple[TopicPartition, ...] = ()

    def step(self) -> None:
        """Hears what was answered, or asks what is next."""
        now_ms = self.seed.now_ms
        if self.future is not None:
            waits_long = isinstance(self.asked, Join | Sync)
            if self.future.done():
                future, self.future = self.future, None
                self.heard(future.result())
            elif now_ms - self.asked_ms > (60_000 if waits_long else PATIENCE_MS):
                self.lost()
            return
        if self.coordinator is None:
            self.coordinator = self.seed.leader(self.seed.tp)
        elif self.must_join:
            self.join()
        elif self.unread:
            self.ask(self.fetch())
        elif now_ms - self.beat_ms >= HEARTBEAT_MS:
            self.beat_ms = now_ms
            self.go_on()

    def lost(self) -> None:
        """No answer came."""
        self.future, self.coordinator = None, None

    def ask(self, asked: GroupRequest) -> None:
        """At the coordinator, as far as it knows."""
        self.asked, self.asked_ms = asked, self.seed.now_ms
        self.future = self.seed.groups.ask(self.coordinator, asked)

    def join(self) -> None:
        """With the id that it has; what it read and did not commit will be read again."""
        self.positions, self.unread = {}, ()
        fresh = f"{self.seed.chance.getrandbits(32):x}"
        protocols = (("range", b""),)
        name = f"client-{self.number}"
        self.ask(Join(GROUP, self.member_id, fresh, "consumer", protocols, 6_000, 6_000, None, name, "", True))

    def fetch(self) -> FetchOffsets:
        """Asks where the group is in what it has and did not read yet."""
        return FetchOffsets(GROUP, self.unread)

    def go_on(self) -> None:
        """A heartbeat, or a commit of some more."""
        if self.positions and self.seed.chance.random() < 0.7:
            for tp in self.positions:
                self.positions[tp] += self.seed.chance.randint(0, 3)
            offsets = {tp: Committed(position) for tp, position in self.positions.items()}
            self.ask(Commit(GROUP, offsets, self.generation, self.member_id))
        else:
            self.ask(Heartbeat(GROUP, self.generation, self.member_id))

    # --- what it hears

    def heard(self, answer: Any) -> None:
        error = self.error_of(answer)
        if error in _ELSEWHERE:
            self.coordinator = None
        elif error is CoordinatorError.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif error is CoordinatorError.UNKNOWN_MEMBER_ID:
            self.member_id, self.must_join, self.generation, self.assigned_in = "", True, -1, -1
        elif error in {CoordinatorError.REBALANCE_IN_PROGRESS, CoordinatorError.ILLEGAL_GENERATION}:
            self.must_join = True
        elif error is CoordinatorError.NONE:
            self.accepted(answer)
        else:
            assert error in _LATER, (self.asked, answer)

    @staticmethod
    def error_of(answer: Any) -> CoordinatorError:
        if isinstance(answer, OffsetErrors):
            return next(iter(answer.errors.values()))
        return CoordinatorError.NONE if isinstance(answer, FetchedOffsets) else CoordinatorError(answer.error)

    def accepted(self, answer: Any) -> None:
        if isinstance(answer, Joined):
            self.member_id, self.generation = answer.member_id, answer.generation
            self.leads = tuple(member.member_id for member in answer.members)
            self.sync()
        elif isinstance(answer, Synced):
            self.assigned([int(number) for number in answer.assignment.decode().split()])
        elif isinstance(answer, FetchedOffsets):
            self.begin(answer)
        elif isinstance(self.asked, Commit):
            self.committed(self.asked)
        else:
            assert isinstance(answer, Answered)

    def sync(self) -> None:
        """The leader shares the partitions out."""
        shares = {m: " ".join(str(n) for n in range(i, ORDERS, len(self.leads))) for i, m in enumerate(self.leads)}
        assignments = {member: share.encode() for member, share in shares.items()}
        self.ask(Sync(GROUP, self.generation, self.member_id, assignments))

    @property
    def name(self) -> str:
        """By which it is the same member, whichever coordinator it asks."""
        return self.member_id

    def assigned(self, numbers: list[int]) -> None:
        self.must_join = False
        assert self.generation >= self.assigned_in
        self.assigned_in = self.generation
        for number in numbers:
            place = (self.generation, TopicPartition("orders", number))
            assert self.seed.given.setdefault(place, self.name) == self.name, place
        self.unread = tuple(TopicPartition("orders", number) for number in numbers)

    def begin(self, fetched: FetchedOffsets) -> None:
        """Where the group is; not below what anybody got acknowledged."""
        self.unread = ()
        for tp, committed in fetched.offsets.items():
            position = 0 if committed is None else committed.offset
            assert position >= self.seed.acknowledged.get(tp, 0), tp
            self.positions[tp] = position

    def committed(self, asked: Commit) -> None:
        self.seed.commits += 1
        for tp, committed in asked.offsets.items():
            assert committed.offset >= self.seed.acknowledged.get(tp, 0), tp
            self.seed.acknowledged[tp] = committed.offset
