"""A live cluster of simulated brokers behind a gateway: what clients produce to and consume from."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Self

from kafka.record.memory_records import MemoryRecordsBuilder

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, NewTopic, OpType, TopicPartition
from kedge.controller.server import LiveCluster, LiveServer
from kedge.controller.wire import Gateway, Limits, allow_all
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.records import with_records
from kedge.controller.wire.security.acls import Authorizer
from tests.kit.waiting import until
from tests.wire.served import DEADLINE_S, RACKS

TIME_MS: Final = 1_700_000_000_000


class Living:
    """`with Living() as living:` three brokers in racks a, b and c that keep records. `limits` are the gateway's,
    options the cluster's, `groups` those of `with_records`. `keys`: the keys of APIs that are offered beside those of
    records and groups, such as those of Kafka alone."""

    def __init__(
        self,
        racks: Mapping[int, str] = RACKS,
        limits: Limits | None = None,
        keys: Container[int] = range(2**15),
        *,
        groups: Mapping[str, Any] | None = None,
        authorizer: Authorizer = allow_all,
        creates: bool = False,
        **options: Any,
    ) -> None:
        self._racks, self._limits, self._options = racks, limits, options
        self._base = {key: api for key, api in APIS.items() if key in keys}
        self._groups, self._authorizer = groups or {}, authorizer
        self._creates = creates
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        server = LiveServer()
        self.cluster = self._stack.enter_context(LiveCluster(server, self._racks, seed=1, **self._options))
        self.cluster.until_ready(DEADLINE_S)
        named: dict[str, Any] = {"creates_topics": self._creates, "transactions": self.cluster.transactions}
        apis = with_records(self.cluster.logs, self.cluster.groups, self._base, **named, **self._groups)
        self.apis = apis
        named = {"cluster_id": "kedge-under-test", "apis": apis, "limits": self._limits}
        named["authorizer"] = self._authorizer
        self.gateway = self._stack.enter_context(Gateway(self.cluster.controller, **named))
        self.address = self.gateway.address
        self.bootstrap = f"{self.address.host}:{self.address.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def topic(self, name: str, replicas: Sequence[Sequence[int]], **configs: str) -> list[TopicPartition]:
        """A topic that is led; its partitions."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        new = NewTopic(-1, -1, replicas, named)
        self.cluster.controller.admin.create_topics({name: new}).all().result(DEADLINE_S)
        tps = [TopicPartition(name, partition) for partition in range(len(replicas))]
        logs = self.cluster.logs
        until(lambda: not any(logs.bounds(None, tp).result(DEADLINE_S).error for tp in tps))
        return tps

    def move(self, tp: TopicPartition, target: Sequence[int] | None) -> None:
        """The target is accepted."""
        self.cluster.controller.admin.alter_partition_reassignments({tp: target}).all().result(DEADLINE_S)

    def throttle(self, rate_bytes_s: int | None) -> None:
        """So much may a reassignment take of each broker, which all know that; None: as much as there is."""
        names = ("leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate")
        ops = [
            AlterConfigOp(name, op=OpType.DELETE) if rate_bytes_s is None else AlterConfigOp(name, str(rate_bytes_s))
            for name in names
        ]
        brokers = {ConfigResource(ConfigResourceType.BROKER, str(broker)): ops for broker in self._racks}
        self.cluster.controller.admin.incremental_alter_configs(brokers).all().result(DEADLINE_S)
        quotas = [broker.quotas for broker in self.cluster.brokers.values()]
        # They hear of it a moment after the answer.
        until(lambda: all(each.is_limited == (rate_bytes_s is not None) for each in quotas))

    @property
    def is_moving(self) -> bool:
        return self.cluster.controller.describe().reassigning_partitions > 0


def records(
    *values: bytes | None,
    key: bytes | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    first_ms: int = TIME_MS,
    step_ms: int = 1,
) -> bytes:
    """A batch with these values, `step_ms` between two; `producer`: id, epoch and first sequence."""
    names = dict(zip(("producer_id", "producer_epoch", "base_sequence"), producer, strict=True))
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1_000_000, **names)
    for place, value in enumerate(values):
        assert builder.append(timestamp=first_ms + place * step_ms, key=key, value=value) is not None
    builder.close()
    return bytes(builder.buffer())
