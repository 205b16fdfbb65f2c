"""A good value of every kind of key, and who reads it."""

from __future__ import annotations

from collections.abc import Callable

from kedge.controller.codec import (
    broker,
    handed_back,
    legacy,
    migration,
    notifications,
    orders,
    partition_state,
    producer_ids,
    small,
    topic,
)
from kedge.controller.codec.text import parse

READERS: dict[str, Callable[[bytes], object]] = {
    "state": lambda value: partition_state.decode(parse(value), "t", 0, (1, 2), 5),
    "topic": lambda value: topic.decode(value, "t"),
    "broker": lambda value: broker.decode(value, 1),
    "config": small.decode_config,
    "intents": lambda value: small.decode_intents(value, 1),
    "admitted": small.decode_admitted,
    "legacy": legacy.decode,
    "partitions": notifications.decode_partitions,
    "log dir event": notifications.decode_log_dir_event,
    "config change": notifications.decode_config_change,
    "gateway": small.decode_gateway,
    "gateways_secret": small.decode_gateways_secret,
    "handed_back": handed_back.decode,
    "marker": migration.decode_marker,
    "reduction": orders.decode_reduction,
    "throttled topics": orders.decode_throttled_topics,
    "throttled brokers": orders.decode_throttled_brokers,
    "cluster id": orders.decode_cluster_id,
    "format": orders.decode_format,
    "producer ids": producer_ids.decode,
}
GOOD: dict[str, dict[str, object]] = {
    "state": {
        "controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2], "targetReplicas": [3],
        "reassignment": {"origin": [1, 2], "started_ms": 5, "deadline_ms": 9}, "status_code": 0,
        "leader_recovery_state": 0,
    },
    "topic": {
        "version": 3, "partitions": {"0": [1, 2]}, "topic_id": "A" * 22, "adding_replicas": {"0": [2]},
        "removing_replicas": {"0": [1]}, "retired_epochs": {"3": 4},
    },
    "broker": {
        "version": 5, "host": "h", "port": 1, "rack": "r", "endpoints": ["A://h:1"],
        "listener_security_protocol_map": {"A": "SSL"}, "features": {}, "leader_and_isr_version": 3,
    },
    "config": {"version": 1, "config": {"a": "b"}},
    "intents": {"version": 1, "replicas": [{"topic": "t", "topic_id": "i", "partition": 0, "leader_epoch": 0}]},
    "admitted": {"broker_epoch": 5},
    "legacy": {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]},
    "partitions": {"version": 1, "partitions": [{"topic": "t", "partition": 0}]},
    "log dir event": {"version": 1, "broker": 1, "event": 1},
    "config change": {"version": 2, "entity_path": "topics/t"},
    "gateway": {"version": 1, "host": "h", "port": 9},
    "gateways_secret": {"version": 1, "secret": "s"},
    "handed_back": {"version": 1, "phase": "begun"},
    "marker": {"version": 1, "migration": "m", "moved_to": "etcd://h:1/p"},
    "reduction": {"version": 1, "partitions": {"3": {"timestamp": 5, "immediate": True}}},
    "throttled topics": {"version": 1, "topics": ["a"], "previous": {"a": {"c": {"set": ["w"], "was": "v"}}}},
    "throttled brokers": {"version": 1, "brokers": [3], "previous": {"3": {"c": {"set": [], "was": None}}}},
    "cluster id": {"version": "1", "id": "i"},
    "format": {"version": 1, "min_controller": 2},
    "producer ids": {"version": 1, "broker": 3, "block_start": "0", "block_end": "999"},
}  # fmt: skip
