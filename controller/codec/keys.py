"""Key paths, the same on every backend: built and taken apart here."""

from __future__ import annotations

import re
from typing import Final

BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
CONFIG_TOPICS: Final = "/config/topics"
CONFIG_BROKERS: Final = "/config/brokers"
CONFIG_USERS: Final = "/config/users"
CONFIG_CLIENTS: Final = "/config/clients"
USERS: Final = "users"  # the kind of configs of Kafka's users
BROKER_DEFAULTS: Final = "/config/brokers/<default>"
REPLICA_DELETIONS: Final = "/admin/replica_deletions"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
ADMITTED: Final = "/kedge/brokers"
GATEWAYS: Final = "/kedge/gateways"
GATEWAYS_SECRET: Final = "/kedge/gateways_secret"  # noqa: S105 - a path, not the secret
BROKER_SEQUENCE: Final = "/brokers/seqid"
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
CONFIG_CHANGES: Final = "/config/changes"
CONFIG_CHANGE: Final = "config_change_"  # the name of a child, before its number
ISR_CHANGES: Final = "/isr_change_notification"
LOG_DIR_EVENTS: Final = "/log_dir_event_notification"
DELETE_TOPICS: Final = "/admin/delete_topics"
DELETE_PARTITIONS: Final = "/admin/delete_topic_partitions"
REPLICAS_REMOVAL: Final = "/admin/throttled_replicas_removal"
RATES_REMOVAL: Final = "/admin/throttled_rates_removal"
OLD_REPLICAS_REMOVAL: Final = "/admin/remove_throttled_replicas"  # KIP-179 uses two names for each
OLD_RATES_REMOVAL: Final = "/admin/remove_throttled_rates"
CLUSTER_ID: Final = "/cluster/id"
PRODUCER_IDS: Final = "/latest_producer_id_block"
HANDED_BACK: Final = "/kedge/handed_back"
MIGRATION: Final = "/kedge/migration"
_PARTITION: Final = re.compile("0|[1-9][0-9]{0,9}")  # 01 is not partition 1: two keys would mean one partition


def broker(broker_id: int) -> str:
    return f"/brokers/ids/{broker_id}"


def admitted(broker_id: int) -> str:
    return f"/kedge/brokers/{broker_id}"


def gateway(controller_id: int) -> str:
    return f"/kedge/gateways/{controller_id}"


def topic(name: str) -> str:
    return f"/brokers/topics/{name}"


def state(topic_name: str, partition: int) -> str:
    return f"/brokers/topics/{topic_name}/partitions/{partition}/state"


def topic_config(name: str) -> str:
    return config("topics", name)


def broker_config(name: str) -> str:
    return config("brokers", name)


def config(kind: str, name: str) -> str:
    """`kind`: topics, brokers, users, clients."""
    return f"/config/{kind}/{name}"


def delete_topic(name: str) -> str:
    return f"/admin/delete_topics/{name}"


def delete_partitions(name: str) -> str:
    return f"/admin/delete_topic_partitions/{name}"


def partition(topic_name: str, partition: int) -> str:
    """Has no value; only a store that needs parents has it."""
    return f"/brokers/topics/{topic_name}/partitions/{partition}"


def partitions(topic_name: str) -> str:
    """Has no value, like `partition`."""
    return f"/brokers/topics/{topic_name}/partitions"


def replica_deletions(broker_id: int, seq: int) -> str:
    return f"/admin/replica_deletions/{broker_id}/{seq}"


def topic_of(key: str) -> str | None:
    """The topic whose topic key `key` is; None for any other key."""
    parts = key.split("/")
    return parts[3] if len(parts) == 4 and key.startswith(TOPICS + "/") else None


def partition_of(key: str) -> tuple[str, int] | None:
    """Topic and partition whose state key `key` is; None for any other key."""
    parts = key.split("/")
    if len(parts) != 7 or parts[1:3] != ["brokers", "topics"] or parts[4] != "partitions" or parts[6] != "state":
        return None
    return (parts[3], int(parts[5])) if _PARTITION.fullmatch(parts[5]) else None
