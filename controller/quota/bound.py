"""What binds one replica: none, one or several limits at once, asked as if they were one."""

from __future__ import annotations

import attrs

from controller.model.throttle_configs import UNLIMITED
from controller.quota.limit import ReplicationQuota


@attrs.define(eq=False, weakref_slot=False)  # no value: what it holds goes on
class Bound:
    """All of `quotas` hold; false where there are none. `+`: the limits of both, as of a leader and a follower that
    one host has. It is asked for anew for each fetch: who is bound changes with T and I."""

    quotas: tuple[ReplicationQuota, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.quotas)

    def __add__(self, other: Bound) -> Bound:
        return Bound(self.quotas + other.quotas) if self.quotas and other.quotas else self or other

    def is_exceeded(self) -> bool:
        """Whether any of them is: the replica is left out of the fetch."""
        return any(quota.is_exceeded() for quota in self.quotas)

    def delay_ms(self) -> int:
        """In how many milliseconds none of them is."""
        return max((quota.delay_ms() for quota in self.quotas), default=0)

    def delay(self) -> float:
        """As `delay_ms`, in seconds."""
        return self.delay_ms() / 1000

    def allowance(self) -> int:
        """How many bytes may go now: what the one gives that gives least; UNLIMITED where nothing limits."""
        return min((quota.allowance() for quota in self.quotas), default=UNLIMITED)

    def record(self, count: int) -> None:
        """`count` bytes went: they count in each."""
        for quota in self.quotas:
            quota.record(count)
