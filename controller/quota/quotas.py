"""The quotas of one broker: its four limits, and which replicas they apply to.

Rules
* As a leader: `reassignment` applies to a follower in T and not in the ISR (KIP-542), and `replication` to a follower
  that is not in the ISR if the topic's leader list names the partition on this broker, the leader (KIP-73).
* As a follower: the same for this broker, with the follower list.
* Configs of other brokers are ignored. If the broker has no `replication` rate of its own, `<default>` applies; rates
  of `reassignment` exist only per broker.
* An invalid value is ignored, and the former one stays in force; `config_changed` returns it with the reason.
* A missing name counts as deleted: unlimited, or no list, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from ..model.throttle_configs import (
    FAMILIES,
    SIDES,
    UNLIMITED,
    Family,
    ListedReplicas,
    Side,
    parse_rate,
    parse_throttled_replicas,
    rate_setting,
    replicas_setting,
)
from ..model.values import ALL_BROKERS
from .bound import Bound
from .limit import ReplicationQuota

_NONE: Final[ListedReplicas] = frozenset()


class ReplicationQuotas:
    """The quotas of the broker `broker_id`. `clock_ms`: a monotonic clock in milliseconds. `is_limited`: whether any of
    the four has a limit; if not, a host need not ask for bounds. `names_replicas`: whether some topic has a list."""

    def __init__(self, broker_id: int, clock_ms: Callable[[], int]) -> None:
        self.broker_id = broker_id
        self._quotas = {(side, family): ReplicationQuota(clock_ms) for side in SIDES for family in FAMILIES}
        self._rates: dict[str, dict[tuple[Side, Family], int]] = {}  # "<default>" and the broker's own
        self._lists: dict[Side, dict[str, ListedReplicas]] = {side: {} for side in SIDES}
        self.is_limited = self.names_replicas = False
        self._bounds = {
            side: {families: Bound(tuple(self._quotas[side, f] for f in families)) for families in _COMBINATIONS}
            for side in SIDES
        }

    # --- configs

    def config_changed(self, kind: str, name: str, configs: Mapping[str, str]) -> Mapping[str, str]:
        """`configs` are all configs of an entity from now on, as the host's `config_changed` gets them: `kind`
        "brokers" with an id or "<default>", or "topics" with a name; others are ignored. Returns invalid ones: name ->
        reason."""
        if kind == "topics":
            return self._topic_changed(name, configs)
        if kind == "brokers" and name in {ALL_BROKERS, str(self.broker_id)}:
            return self._rates_changed(name, configs)
        return {}

    def _topic_changed(self, topic: str, configs: Mapping[str, str]) -> dict[str, str]:
        refused = {}
        for side in SIDES:
            setting = replicas_setting(side)
            try:
                named = parse_throttled_replicas(configs.get(setting, ""))
            except ValueError as error:
                refused[setting] = str(error)
                continue
            if named:
                self._lists[side][topic] = named
            else:
                self._lists[side].pop(topic, None)
        self.names_replicas = any(self._lists.values())
        return refused

    def _rates_changed(self, name: str, configs: Mapping[str, str]) -> dict[str, str]:
        refused, before, rates = {}, self._rates.get(name, {}), {}
        for place in self._quotas:
            setting = rate_setting(*place)
            if setting not in configs or (name == ALL_BROKERS and place[1] == "reassignment"):
                continue
            try:
                rates[place] = parse_rate(configs[setting])
            except ValueError as error:
                refused[setting] = str(error)
                if place in before:
                    rates[place] = before[place]
        self._rates[name] = rates
        self._apply()
        return refused

    def _apply(self) -> None:
        rates = {**self._rates.get(ALL_BROKERS, {}), **self._rates.get(str(self.broker_id), {})}
        for place, quota in self._quotas.items():
            if quota.limit != (limit := rates.get(place, UNLIMITED)):
                quota.limit = limit
        self.is_limited = any(quota.is_limited for quota in self._quotas.values())

    # --- limits

    def of(self, side: Side, family: Family) -> ReplicationQuota:
        """One of the four quotas; its limit is that of the configs."""
        return self._quotas[side, family]

    # --- bounds

    def leader_side(
        self, topic: str, partition: int, follower: int, *, isr: Collection[int], target: Collection[int] | None
    ) -> Bound:
        """The bound of what this broker, the leader, sends to `follower`. `isr`, `target`: as the leader knows them;
        `target` None if the partition does not move."""
        return self.bound("leader", self.families("leader", topic, partition, follower, isr=isr, target=target))

    def follower_side(
        self, topic: str, partition: int, *, isr: Collection[int], target: Collection[int] | None
    ) -> Bound:
        """The bound of what this broker, a follower, fetches. `isr`: the newest that it knows; a follower may know it
        from metadata."""
        held = self.families("follower", topic, partition, self.broker_id, isr=isr, target=target)
        return self.bound("follower", held)

    def bound(self, side: Side, families: tuple[Family, ...]) -> Bound:
        """The limits of families, which have the order of FAMILIES."""
        return self._bounds[side][families]

    def families(
        self,
        side: Side,
        topic: str,
        partition: int,
        follower: int,
        *,
        isr: Collection[int],
        target: Collection[int] | None,
    ) -> tuple[Family, ...]:
        """The families that apply to `follower`, limited or not."""
        if follower in isr:
            return ()
        moves = target is not None and follower in target
        named = self._lists[side].get(topic, _NONE)
        listed = isinstance(named, str) or (partition, self.broker_id) in named
        return _COMBINATIONS[listed + 2 * moves]


_COMBINATIONS: Final[tuple[tuple[Family, ...], ...]] = ((), ("replication",), ("reassignment",), FAMILIES)
