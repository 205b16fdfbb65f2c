"""Stock Kafka brokers in ZooKeeper mode follow this controller.

host            what the controller orders, in the order and form that Kafka's brokers need
producer_ids    AllocateProducerIds: blocks of producer ids for brokers

Brokers register in ZooKeeper themselves, so BrokerRegistration and BrokerHeartbeat are not offered.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.wire.apis import APIS
from controller.wire.apis.versions import table
from controller.wire.calls import Api
from controller.wire.kafka.host import KafkaHost
from controller.wire.kafka.producer_ids import ProducerIds
from controller.wire.remote.in_sync import IsrChanges
from controller.wire.remote.leaving import LEAVING


def with_kafka_brokers(base: Mapping[int, Api] = APIS) -> dict[int, Api]:
    """What a gateway answers (`Gateway(apis=...)`), with what Kafka's brokers ask of their controller. One table per
    gateway."""
    apis = {**base}
    for api in (IsrChanges().api, LEAVING, *ProducerIds().table()):
        apis[api.messages.api_key] = api
    apis.update((api.messages.api_key, api) for api in table(apis))
    return apis


__all__ = ["KafkaHost", "with_kafka_brokers"]
