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

from ..apis import APIS
from ..apis.versions import with_apis
from ..calls import Api
from ..remote import RemoteHost
from ..remote.in_sync import IsrChanges
from ..remote.leaving import LEAVING
from . import coordinators
from .any_broker import AnyBroker
from .credentials import CREDENTIALS
from .host import KafkaHost as KafkaHost
from .internal_topics import InternalTopics as InternalTopics
from .producer_ids import ProducerIds


def with_kafka_brokers(base: Mapping[int, Api] = APIS, *, brokers: RemoteHost | None = None) -> dict[int, Api]:
    """What a gateway answers (`Gateway(apis=...)`), with what Kafka's brokers ask of their controller, and with what
    clients ask any node. One table per gateway. `brokers`: connects to brokers for requests about ACLs and client
    quotas, which a broker answers; None: these are answered as by `base`, or not at all."""
    asked_on = () if brokers is None else AnyBroker(brokers).table()
    rows = (IsrChanges().api, LEAVING, CREDENTIALS, *coordinators.TABLE, *ProducerIds().table(), *asked_on)
    return with_apis(base, rows)
