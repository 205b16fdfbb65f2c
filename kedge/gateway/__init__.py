"""Kafka's protocol over a controller: stock Kafka clients, brokers elsewhere, and records.

    Gateway(controller)            serves clients; `apis=` says which APIs, `users=`, `acls=`, `tls=` who may do what
    Peers                          several gateways of one cluster, any of which a client may ask
    with_records(logs, groups)     the APIs of a cluster whose brokers keep records
    RemoteHost, with_remote_brokers()     brokers in processes of their own, which register by TCP
    LiveCluster(LiveServer(), ...)        controllers and brokers in this process, in real time: what `kedge serve` runs
    messages                       the requests that kafka-python's codec lacks, those of Kedge's own among them

Raises ImportError with the `pip install` that is missing, where the extra `wire` is not installed.
"""

from __future__ import annotations

from ..controller.groups import Coordinator
from ..controller.groups.requests import GroupSettings
from ..controller.server import LiveCluster, LiveServer
from ..controller.transactions import Coordinator as TransactionCoordinator
from ..controller.transactions.requests import TransactionSettings
from ..controller.wire import Acls, Authorizer, Gateway, Limits, Peers, Tls, Users, allow_all, messages
from ..controller.wire.cluster_id import gateways_secret
from ..controller.wire.data import Logs, with_logs
from ..controller.wire.groups import GroupRecords, Groups, with_groups
from ..controller.wire.records import with_records
from ..controller.wire.remote import Credentials, RemoteHost, with_remote_brokers
from ..controller.wire.security.users import salted
from ..controller.wire.transactions import TransactionRecords, Transactions, with_transactions

__all__ = [
    "Acls",
    "Authorizer",
    "Coordinator",
    "Credentials",
    "Gateway",
    "GroupRecords",
    "GroupSettings",
    "Groups",
    "Limits",
    "LiveCluster",
    "LiveServer",
    "Logs",
    "Peers",
    "RemoteHost",
    "Tls",
    "TransactionCoordinator",
    "TransactionRecords",
    "TransactionSettings",
    "Transactions",
    "Users",
    "allow_all",
    "gateways_secret",
    "messages",
    "salted",
    "with_groups",
    "with_logs",
    "with_records",
    "with_remote_brokers",
    "with_transactions",
]
