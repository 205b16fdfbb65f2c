"""Who holds new partitions, where that is said on this side: by hand, or with no regard to racks."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from controller.cli.topics.choosing import failure
from controller.rules.placement import assign_replicas, continue_rotation

if TYPE_CHECKING:  # options are checked where kafka-python is not installed
    from controller.cli.kafka.cluster import Cluster

_PLACED_MAX: Final = 100_000  # servers take 10,000 of a request, and a topic's key holds some 17,000
_IDS: Final = re.compile(r"\s*[0-9]{1,9}\s*(?::\s*[0-9]{1,9}\s*)*")


def parse_assignment(text: str) -> list[list[int]]:
    """`1:2,2:3`: the replicas of partition 0, of partition 1 and so on. ValueError says what is wrong, in Kafka's
    words."""
    found: list[list[int]] = []
    for part in text.split(","):
        if _IDS.fullmatch(part) is None:
            raise ValueError(f"{part!r:.80} is no list of broker ids, as 1:2:3 is")
        replicas = [int(broker) for broker in part.split(":")]
        twice = sorted({broker for broker in replicas if replicas.count(broker) > 1})
        if twice:
            raise ValueError(f"Partition replica lists may not contain duplicate entries: {_joined(twice)}")
        if found and len(replicas) != len(found[0]):
            raise ValueError(f"Partition {len(found)} has different replication factor: {replicas}")
        found.append(replicas)
    return found


def check_racks(cluster: Cluster) -> None:
    """Raises Failed where some brokers have racks and some have none: a server would spread without a look at them."""
    racks = [broker.rack for broker in cluster.brokers().values()]
    if any(racks) and not all(racks):
        raise failure(
            "Not all brokers have rack information. Add --ignore-racks in command line to make replica assignment "
            "without rack information."
        )


def without_racks(
    cluster: Cluster, partitions: int, replication_factor: int, *, first: int = 0, beside: int | None = None
) -> list[list[int]] | None:
    """Replicas of `partitions` new ones from id `first` on, spread as if no broker had a rack. `beside`: the first
    replica of partition 0, whose rotation goes on. None: there are too few brokers, which the server says better.
    Failed for more partitions than a topic can have."""
    if partitions > _PLACED_MAX:
        raise failure(f"Without regard to racks at most {_PLACED_MAX} partitions are placed at once, not {partitions}.")
    brokers: dict[int, str | None] = dict.fromkeys(cluster.brokers())
    if not 1 <= replication_factor <= len(brokers):
        return None
    if beside is None:
        start, shift = secrets.randbelow(len(brokers)), secrets.randbelow(len(brokers))
    else:
        start = shift = continue_rotation(brokers, beside)
    placed = assign_replicas(brokers, partitions, replication_factor, start=start, shift=shift, first_partition=first)
    return [list(replicas) for replicas in placed]


def _joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
