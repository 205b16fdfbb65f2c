"""What becomes of the records of a topic, by its config `cleanup.policy`, and the replicas that decide about it.

Only what is set for the topic itself counts. `__consumer_offsets` is compacted whatever is set, because its
coordinators rely on that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..coordinators import INTERNAL_TOPICS
from ..model.values import TOPICS
from ..simulated.broker import Broker
from ..simulated.replica import Replica, Role

COMPACT: Final = "compact"
DELETE: Final = "delete"
Configs = Mapping[tuple[str, str], Mapping[str, str]]
"""The settings of topics and brokers, by kind and name."""


def policies(topic: str, settings: Configs) -> frozenset[str]:
    """COMPACT, DELETE, or both."""
    if topic in INTERNAL_TOPICS:
        return frozenset({COMPACT})
    said = settings.get((TOPICS, topic), {}).get("cleanup.policy", DELETE)
    return frozenset(policy.strip() for policy in said.split(","))


def led(brokers: Mapping[int, Broker], is_wanted: Callable[[str], bool]) -> Iterator[Replica]:
    """The leaders of the partitions of wanted topics."""
    up = [broker for broker in brokers.values() if broker.is_up]
    return (r for broker in up for r in list(broker.serving(Role.LEADER)) if is_wanted(r.topic))
