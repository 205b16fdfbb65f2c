"""What tests of throttles ask and look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kedge import Hooks, ReassignPartitionsOptions, ThrottledRate, TopicPartition
from kedge.controller.admin import Admin
from kedge.controller.codec import keys
from kedge.controller.model.throttle_configs import LISTS, RATES
from tests.runtime.world import Cluster

T: Final = TopicPartition("t", 0)
RATE: Final = 10_000
LEADER_LIST, FOLLOWER_LIST = LISTS
LEADER_RATE, FOLLOWER_RATE = RATES["replication"]


def both(rate: int | str) -> dict[str, str]:
    """The configs of a broker whose replication has this rate on both sides."""
    return {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}


def small(**more: Any) -> Cluster:
    """Two topics, over a store that takes ten ops at once: owners get their throttles in several commits."""
    return cluster_with({"t": [[1, 2, 3]], "u": [[1, 2], [2, 3]]}, options={"commit_ops_max": 10}, **more)


def until(cluster: Cluster, is_so: Callable[[], bool]) -> None:
    """One pass of the controller at a time, until it is so."""
    for _ in range(500):
        if is_so():
            return
        cluster.clock.advance(10)
        cluster.controller.poll_once()
    raise AssertionError("500 passes, and it is not so")


def cluster_with(topics: Mapping[str, Sequence[Sequence[int]]] | None = None, **more: Any) -> Cluster:
    """Brokers 1 to 6, and topics by their assignments."""
    cluster = Cluster(**more)
    cluster.join(1, 2, 3, 4, 5, 6)
    for name, assignments in (topics or {"t": [[1, 2, 3]]}).items():
        cluster.create(name, *assignments)
    return cluster


def reassign(cluster: Cluster, targets: Any, throttle: int | None = RATE, **options: Any) -> dict[TopicPartition, Any]:
    """Ask, and let time stand still until it is answered: per partition None or the error."""
    given = ReassignPartitionsOptions(throttle=throttle, **options)
    results = cluster.controller.admin.reassign_partitions(targets, given)
    return {tp: cluster.error(future) for tp, future in results.items()}


def alter_rates(cluster: Cluster, rates: Mapping[int, int], **options: Any) -> dict[int, Any]:
    """As `reassign`, for rates that are the same on both sides."""
    wanted = {broker: ThrottledRate(rate, rate) for broker, rate in rates.items()}
    results = cluster.controller.admin.alter_interbroker_throttled_rates(wanted, **options)
    cluster.run()
    return {broker: cluster.error(future) for broker, future in results.items()}


def nobody(cluster: Cluster) -> Admin:
    """An admin who may do nothing."""
    given = cluster.controller.admin
    hooks = Hooks(authorizer=lambda *_: False)
    return Admin(given._submitter, given._id_source, given._log_reports, principal="u", hooks=hooks)  # noqa: SLF001


def set_by_hand(cluster: Cluster, key: str, **configs: str) -> None:
    """Another client sets all that is set at `key`."""
    cluster.put(key, {"version": 1, "config": {name.replace("_", "."): value for name, value in configs.items()}})
    cluster.run()


def broker_config(cluster: Cluster, broker: int) -> dict[str, str]:
    """The own settings of a broker, by the store."""
    return _config(cluster, keys.broker_config(str(broker)))


def topic_config(cluster: Cluster, topic: str = "t") -> dict[str, str]:
    return _config(cluster, keys.topic_config(topic))


def _config(cluster: Cluster, key: str) -> dict[str, str]:
    found = cluster.get(key)
    return {} if found is None else dict(found["config"])


def marked(cluster: Cluster) -> tuple[list[str] | None, list[int] | None]:
    """The topics and the brokers that the removal keys name; None where there is no such key."""
    topics, brokers = cluster.get(keys.REPLICAS_REMOVAL), cluster.get(keys.RATES_REMOVAL)
    return topics and topics["topics"], brokers and brokers["brokers"]


def nothing_left(cluster: Cluster, brokers: Iterable[int] = range(1, 7)) -> None:
    """No throttle, no removal key, no legacy key."""
    assert marked(cluster) == (None, None)
    assert not cluster.has(keys.REASSIGN_PARTITIONS)
    for name in cluster.done(cluster.controller.query(lambda view: list(view.topic_names()))):
        assert not {LEADER_LIST, FOLLOWER_LIST} & topic_config(cluster, name).keys()
    for broker in brokers:
        assert broker_config(cluster, broker) == {}


def complete(cluster: Cluster, topic: str = "t", partition: int = 0) -> None:
    """Every target says that it is in sync, by its leader."""
    state = cluster.state(topic, partition)
    cluster.done(
        cluster.isr([*state["isr"], *(b for b in state["targetReplicas"] if b not in state["isr"])], topic, partition)
    )
    cluster.run()


def ended(cluster: Cluster, topic: str = "t") -> None:
    """The last move ends, and no throttle outlives it."""
    complete(cluster, topic)
    cluster.wait(2_000)
    nothing_left(cluster)
