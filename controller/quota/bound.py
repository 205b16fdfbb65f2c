"""The limits of one replica: none, one or several, used as one."""

from __future__ import annotations

import attrs

from ..model.throttle_configs import UNLIMITED
from .limit import ReplicationQuota


@attrs.define(eq=False, weakref_slot=False)  # not a value: its quotas keep changing
class Bound:
    """All of `quotas` apply; false if there are none. `+` combines limits, as of a leader and a follower in one host.
    Get a new one for each fetch: the limits of a replica change with T and the ISR."""

    quotas: tuple[ReplicationQuota, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.quotas)

    def __add__(self, other: Bound) -> Bound:
        return Bound(self.quotas + other.quotas) if self.quotas and other.quotas else self or other

    def is_exceeded(self) -> bool:
        """Whether any of them is exceeded: leave the replica out of the fetch."""
        return any(quota.is_exceeded() for quota in self.quotas)

    def delay_ms(self) -> int:
        """In how many milliseconds none of them is exceeded."""
        return max((quota.delay_ms() for quota in self.quotas), default=0)

    def delay(self) -> float:
        """As `delay_ms`, in seconds."""
        return self.delay_ms() / 1000

    def allowance(self) -> int:
        """How many bytes may be sent now: the least of all allowances; UNLIMITED without a limit."""
        return min((quota.allowance() for quota in self.quotas), default=UNLIMITED)

    def record(self, count: int) -> None:
        for quota in self.quotas:
            quota.record(count)
