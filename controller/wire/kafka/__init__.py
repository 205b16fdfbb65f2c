"""Stock Kafka brokers in ZooKeeper mode follow this controller.

host             what the controller orders, in the order and form that Kafka's brokers need
internal_topics  the topics of groups and transactions, which the controller creates before a broker does
coordinators     FindCoordinator: which broker coordinates a group or a transaction
producer_ids     AllocateProducerIds and InitProducerId: ids for brokers and producers

Brokers register in ZooKeeper themselves, so BrokerRegistration and BrokerHeartbeat are not offered.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.wire.apis import APIS
from controller.wire.apis.versions import table
from controller.wire.calls import Api
from controller.wire.kafka.coordinators import FIND_COORDINATOR
from controller.wire.kafka.host import KafkaHost
from controller.wire.kafka.internal_topics import InternalTopics
from controller.wire.kafka.producer_ids import ProducerIds
from controller.wire.remote.in_sync import IsrChanges
from controller.wire.remote.leaving import LEAVING


def with_kafka_brokers(base: Mapping[int, Api] = APIS) -> dict[int, Api]:
    """What a gateway answers (`Gateway(apis=...)`), with what Kafka's brokers ask of their controller. One table per
    gateway."""
    apis = {**base}
    for api in (IsrChanges().api, LEAVING, FIND_COORDINATOR, *ProducerIds().table()):
        apis[api.messages.api_key] = api
    apis.update((api.messages.api_key, api) for api in table(apis))
    return apis


__all__ = ["InternalTopics", "KafkaHost", "with_kafka_brokers"]
