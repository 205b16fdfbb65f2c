"""Stock Kafka brokers in ZooKeeper mode follow this controller.

host             what the controller orders, in the order and form that Kafka's brokers need
internal_topics  the topics of groups and transactions, which the controller creates before a broker does
coordinators     FindCoordinator: which broker coordinates a group or a transaction; the controller coordinates none
any_broker       ACLs, client quotas and the list of SCRAM credentials: a broker answers
credentials      AlterUserScramCredentials: the passwords of Kafka's users
producer_ids     AllocateProducerIds and InitProducerId: ids for brokers and producers

Brokers register in ZooKeeper themselves, so BrokerRegistration and BrokerHeartbeat are not offered.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.wire.apis import APIS
from controller.wire.apis.versions import table
from controller.wire.calls import Api
from controller.wire.kafka import coordinators
from controller.wire.kafka.any_broker import AnyBroker
from controller.wire.kafka.credentials import CREDENTIALS
from controller.wire.kafka.host import KafkaHost
from controller.wire.kafka.internal_topics import InternalTopics
from controller.wire.kafka.producer_ids import ProducerIds
from controller.wire.remote import RemoteHost
from controller.wire.remote.in_sync import IsrChanges
from controller.wire.remote.leaving import LEAVING


def with_kafka_brokers(base: Mapping[int, Api] = APIS, *, brokers: RemoteHost | None = None) -> dict[int, Api]:
    """What a gateway answers (`Gateway(apis=...)`), with what Kafka's brokers ask of their controller, and with what
    clients ask any node. One table per gateway. `brokers`: connects to brokers for requests about ACLs and client
    quotas, which a broker answers; None: these are answered as by `base`, or not at all."""
    apis = {**base}
    asked_on = () if brokers is None else AnyBroker(brokers).table()
    for api in (IsrChanges().api, LEAVING, CREDENTIALS, *coordinators.TABLE, *ProducerIds().table(), *asked_on):
        apis[api.messages.api_key] = api
    apis.update((api.messages.api_key, api) for api in table(apis))
    return apis


__all__ = ["InternalTopics", "KafkaHost", "with_kafka_brokers"]
