"""Name of an action -> what is done with a cluster and what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from controller.cli.kafka.cluster import Cluster
from controller.cli.topics.altering import alter
from controller.cli.topics.asked import Asked
from controller.cli.topics.creating import create, delete
from controller.cli.topics.describing import describe, list_topics

ACTIONS: Final[Mapping[str, Callable[[Cluster, Asked], None]]] = {
    "create": create,
    "alter": alter,
    "delete": delete,
    "list": list_topics,
    "describe": describe,
}
