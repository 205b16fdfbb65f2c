"""What tests of settings ask and look at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from kedge.controller.codec import keys
from tests.runtime.world import Cluster

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "1")
ALL = ConfigResource(ConfigResourceType.BROKER, "")
KEY = "/config/topics/t"
BROKER_KEY = "/config/brokers/1"
RATE = "leader.reassignment.throttled.rate"
OLD_RATE = "leader.replication.throttled.rate"
LIST = "leader.replication.throttled.replicas"
UNLIMITED = str(2**63 - 1)
UNCLEAN = "unclean.leader.election.enable"


def change(name: str, value: str | None = None, op: OpType = OpType.SET) -> AlterConfigOp:
    return AlterConfigOp(name, value, op)


def alter(cluster: Cluster, resource: ConfigResource, *ops: AlterConfigOp, **more: Any) -> Any:
    return cluster.controller.admin.incremental_alter_configs({resource: ops}, **more)[resource]


def described(cluster: Cluster, resource: ConfigResource = TOPIC) -> Mapping[str, Any]:
    found: Mapping[str, Any] = cluster.done(cluster.controller.admin.describe_configs([resource])[resource])
    return found


def code(error: BaseException | None) -> object:
    return getattr(error, "code", None)


def changes(cluster: Cluster) -> dict[int, str]:
    """The notifications that stand there: number -> whose settings."""
    below = cluster.keys(keys.CONFIG_CHANGES)
    return {int(key[-10:]): json.loads(value)["entity_path"] for key, value in below.items()}
