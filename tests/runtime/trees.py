"""Trees that others wrote, for a takeover to load."""

from __future__ import annotations

from tests.runtime.world import Cluster

TOPIC = "/brokers/topics/t"
STATE = f"{TOPIC}/partitions/0/state"


def planted(keys: dict[str, object], *brokers: int) -> Cluster:
    """A controller that takes over a tree that others wrote."""
    cluster = Cluster(start=False)
    cluster.join(*brokers or (1, 2, 3))
    tree: dict[str, object] = {
        "/brokers/topics/good": {"version": 1, "partitions": {"0": [1, 2]}},
        "/brokers/topics/good/partitions/0/state": state(1, [1, 2]),
    }
    for key, value in (tree | keys).items():
        cluster.put(key, value)
    cluster.another(1)
    cluster.run()
    return cluster


def state(leader: int, isr: list[int], **more: object) -> dict[str, object]:
    return {"controller_epoch": 3, "leader": leader, "version": 1, "leader_epoch": 5, "isr": isr, **more}


def works(cluster: Cluster, topic: str = "good") -> bool:
    """Whether a partition can be moved to other brokers, there and back."""
    for target in ([2, 3], [1, 2]):
        cluster.done(cluster.move(target, topic))
        cluster.done(cluster.isr([1, 2, 3], topic))
    return bool(cluster.state(topic)["isr"] == [1, 2])
