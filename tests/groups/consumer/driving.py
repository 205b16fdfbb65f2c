"""A coordinator with topics, and clients of both protocols that behave as Kafka's: a client says what it owns, stops
using what it has to give back, and joins again when the coordinator says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from kedge.controller.coordinators import Append, CoordinatorError
from kedge.controller.groups.consumer.state import ConsumerGroup, ConsumerMember
from kedge.controller.groups.consumer.values import NONE, Partitions, Topic, Topics
from kedge.controller.groups.group import Group
from kedge.controller.groups.records import Record
from kedge.controller.groups.requests import ConsumerHeartbeat, DescribeConsumers, Heartbeat, Leave, Leaving, Sync
from tests.groups.driving import REBALANCE_MS, Driven

ORDERS: Final = frozenset({"orders"})
OK: Final = CoordinatorError.NONE


def of(topic: str, *numbers: int) -> Partitions:
    """Partitions of a topic whose id is that of `Consumers.create`."""
    return frozenset((f"{topic}-id", number) for number in numbers)


class Consumers(Driven):
    """Everything is about the group `g`. `topics`: how many partitions each has. `ends`: of each append in the log."""

    def __init__(
        self, records: Sequence[Record] = (), topics: Mapping[str, int] | None = None, **settings: int
    ) -> None:
        self.ends: list[int] = []
        super().__init__(records, **settings)
        self.create(**(topics or {"orders": 4}))

    def create(self, *, again: Any = (), **counts: int) -> None:
        """The cluster has these topics from now on. `again`: those that were deleted and created again."""
        topics = {name: Topic(f"{name}-{'new' if name in again else 'id'}", count) for name, count in counts.items()}
        self.coordinator.topics = Topics(topics)

    @property
    def group(self) -> Group:
        return self.coordinator.groups["g"]

    @property
    def consumer(self) -> ConsumerGroup:
        assert self.group.consumer is not None
        return self.group.consumer

    def __getitem__(self, member_id: str) -> ConsumerMember:
        return self.consumer.members[member_id]

    def ended(self, append: Append, error: CoordinatorError) -> None:
        super().ended(append, error)
        self.ends.append(len(self.log))

    def heartbeat(self, member_id: str, epoch: int, ticket: Any = "", **fields: Any) -> Any:
        """A member that joins sends all that it has to."""
        if epoch == 0:
            fields = {"rebalance_timeout_ms": REBALANCE_MS, "topics": ORDERS, "owned": NONE, **fields}
        return self.ask(ConsumerHeartbeat("g", member_id, epoch, **fields), ticket)

    def described(self) -> Any:
        return self.ask(DescribeConsumers("g"))

    def client(self, member_id: str, **fields: Any) -> Client:
        """A client that has joined. `fields`: of its first request."""
        client = Client(self, member_id, fields.pop("instance_id", None))
        client.beat(**fields)
        return client

    def clients(self, *member_ids: str, **fields: Any) -> list[Client]:
        """Clients that have all that they shall have."""
        clients = [self.client(member_id, **fields) for member_id in member_ids]
        self.reconcile(*clients)
        return clients

    def classics(self, *names: str, **fields: Any) -> list[Classic]:
        """Clients in a stable group of the classic protocol. Their leader deals the partitions out in turn."""
        clients = [Classic(self, name, **fields) for name in names]
        for client in (*clients, *(clients[:1] if len(clients) > 1 else ())):
            client.join()
        for client in clients:
            client.joined(self.heard[client.name])
        numbers = range(self.coordinator.topics.by_name["orders"].partitions)
        shares = [frozenset(("orders", n) for n in numbers[place :: len(clients)]) for place in range(len(clients))]
        encoded = [self.coordinator.codec.assignment(share) for share in shares]
        for client in clients:
            ids = (each.member_id for each in clients)
            client.sync(dict(zip(ids, encoded, strict=True)) if client is clients[0] else None)
        return clients

    def mixed(self) -> tuple[Client, Classic]:
        """The member `a` of the consumer protocol and the classic member `c-id1`, in epoch 2, with three partitions
        each."""
        self.create(orders=6)
        a, c = self.client("a"), Classic(self, "c")
        c.join()
        c.sync()
        self.reconcile(a, c)
        assert (a.owned, c.owned, c.member_id) == (of("orders", 0, 1, 2), of("orders", 3, 4, 5), "c-id1")
        return a, c

    def reconcile(self, *clients: Client | Classic) -> None:
        """They send heartbeats until nothing changes any more."""
        for _ in range(10):
            before = [(client.epoch, client.owned) for client in clients]
            for client in clients:
                client.beat()
            if before == [(client.epoch, client.owned) for client in clients]:
                return
        raise AssertionError("the members do not come to rest")


@attrs.define(eq=False)
class Client:
    """A client of the consumer protocol. `owned`: the partitions that it uses. `is_unsure`: its last request failed, so
    that it sends everything again."""

    driven: Consumers
    member_id: str
    instance_id: str | None = None
    epoch: int = 0
    owned: Partitions = NONE
    is_unsure: bool = False

    def beat(self, **fields: Any) -> Any:
        """A heartbeat, after which it uses what it got. A client that is fenced joins again with the next one."""
        again = {"rebalance_timeout_ms": REBALANCE_MS, "topics": ORDERS} if self.is_unsure else {}
        named = {"instance_id": self.instance_id, "owned": self.owned, **again, **fields}
        answer = self.driven.heartbeat(self.member_id, self.epoch, self.member_id, **named)
        if answer is not None:
            self.took(answer)
        return answer

    def took(self, answer: Any) -> None:
        self.is_unsure = answer.error is not OK
        if answer.error is OK:
            self.epoch = answer.epoch
            self.owned = self.owned if answer.assigned is None else answer.assigned
        elif answer.error in {CoordinatorError.FENCED_MEMBER_EPOCH, CoordinatorError.UNKNOWN_MEMBER_ID}:
            self.epoch, self.owned = 0, NONE

    def leave(self, epoch: int = -1) -> Any:
        self.epoch, self.owned = 0, NONE
        return self.driven.heartbeat(self.member_id, epoch, instance_id=self.instance_id)


@attrs.define(eq=False)
class Classic:
    """A client of the classic protocol. `epoch`: its generation. `owned`: the partitions that it uses."""

    driven: Consumers
    name: str
    instance_id: str | None = None
    topics: str = "orders"
    member_id: str = ""
    epoch: int = -1
    owned: Partitions = NONE

    def join(self, **fields: Any) -> Any:
        """JoinGroup, with what it owns."""
        names = sorted(self.driven.coordinator.topics.named(self.owned))
        brought = f"{self.topics}|{','.join(f'{topic}-{number}' for topic, number in names)}".encode()
        named = {"protocols": (("range", brought),), "instance_id": self.instance_id, **fields}
        answer = self.driven.join(self.name, self.member_id, **named)
        if answer is not None:
            self.joined(answer)
        return answer

    def joined(self, answer: Any) -> None:
        if answer.error is OK:
            self.member_id, self.epoch = answer.member_id, answer.generation

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> Any:
        """SyncGroup, after which it uses what it got."""
        asked = Sync("g", self.epoch, self.member_id, assignments or {}, self.instance_id, "consumer", "range")
        answer = self.driven.ask(asked, self.name)
        if answer is not None and answer.error is OK:
            named = self.driven.coordinator.codec.assigned(answer.assignment)
            self.owned = self.driven.coordinator.topics.by_names(named or NONE)
        return answer

    def heartbeat(self) -> Any:
        return self.driven.ask(Heartbeat("g", self.epoch, self.member_id, self.instance_id)).error

    def beat(self) -> None:
        """A heartbeat. If the group rebalances, it joins again and gets its assignment."""
        if self.heartbeat() is CoordinatorError.REBALANCE_IN_PROGRESS and self.join().error is OK:
            self.sync()

    def leave(self) -> Any:
        return self.driven.ask(Leave("g", (Leaving(self.member_id, self.instance_id),))).members[0][1]
