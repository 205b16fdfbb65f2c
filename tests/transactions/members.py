"""Clients that process the inputs of the partitions that their group assigns them (KIP-447)."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.requests import Heartbeat, Join, Sync
from kedge.controller.model.values import TopicPartition
from tests.transactions.workers import INPUTS, SESSION_MS, Broken, Client, Work

SHARED: Final = tuple(TopicPartition("shared", partition) for partition in range(2))


@attrs.define(eq=False)
class Member(Client):
    """A member of a group. With each rebalance partitions move from one transactional id to another."""

    GROUP: ClassVar[str] = "members"
    HESITATES: ClassVar[float] = 0.06
    member_id: str = ""
    generation: int = -1
    assigned: tuple[TopicPartition, ...] = ()

    def _work(self) -> Work:
        yield from self._begin()
        while not self.is_done:
            try:
                if self.generation < 0:
                    yield from self._join()
                yield from self._process()
            except Broken as broken:
                if broken.error:
                    self.generation = -1
                if broken.error is CoordinatorError.UNKNOWN_MEMBER_ID:
                    self.member_id = ""
                yield from self._give_up()

    @property
    def sources(self) -> tuple[TopicPartition, ...]:
        return SHARED

    def _join(self) -> Work:
        """With partitions as the leader, which may be this one, gives them out."""
        chance = self.world.chance
        fresh = f"{chance.getrandbits(32):x}"
        asked = Join(self.GROUP, self.member_id, fresh, "consumer", (("range", b""),), SESSION_MS, SESSION_MS)
        joined = yield from self._until_done(lambda: self._group(asked))
        self.member_id, self.generation = joined.member_id, joined.generation
        members = [each.member_id for each in joined.members]
        chance.shuffle(members)
        shares = {
            m: b" ".join(b"%d" % tp.partition for tp in SHARED[at :: len(members)]) for at, m in enumerate(members)
        }
        sync = Sync(self.GROUP, self.generation, self.member_id, shares)
        synced = yield from self._until_done(lambda: self._group(sync))
        self.assigned = tuple(SHARED[int(number)] for number in synced.assignment.split())

    def _process(self) -> Work:
        """Until the group rebalances."""
        member = {"generation": self.generation, "member_id": self.member_id}
        places = (yield from self._committed(*self.assigned)) if self.assigned else {}
        while not self.is_done:
            yield from self._until_done(lambda: self._group(Heartbeat(self.GROUP, self.generation, self.member_id)))
            places = {tp: place for tp, place in places.items() if place < INPUTS}
            if places:
                places = yield from self._transaction(places, **member)
            yield None
