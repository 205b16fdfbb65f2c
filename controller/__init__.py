"""Kedge: an embeddable controller for Kafka-style clusters, over a pluggable metadata store.

Names are offered lazily, so that `import controller.model` pulls in no runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from controller.admin import ALL, Admin, Results
    from controller.host import Controller, Description, WrongMode
    from controller.model.errors import ApiError, ControllerError, ErrorCode, NotController
    from controller.model.host import Host, HostResponse
    from controller.model.requests import (
        AlterReassignmentsOptions,
        ElectionType,
        NewPartitionReassignment,
        NewPartitions,
        NewTopic,
    )
    from controller.model.values import BrokerRegistration, Endpoint, Settings, TopicPartition
    from controller.runtime.journal import Journal
    from controller.runtime.progress import LogReport

_HOMES: Final = {
    "ALL": "controller.admin",
    "Admin": "controller.admin",
    "AlterReassignmentsOptions": "controller.model.requests",
    "ApiError": "controller.model.errors",
    "BrokerRegistration": "controller.model.values",
    "Controller": "controller.host",
    "ControllerError": "controller.model.errors",
    "Description": "controller.host",
    "ElectionType": "controller.model.requests",
    "Endpoint": "controller.model.values",
    "ErrorCode": "controller.model.errors",
    "Host": "controller.model.host",
    "HostResponse": "controller.model.host",
    "Journal": "controller.runtime.journal",
    "LogReport": "controller.runtime.progress",
    "NewPartitionReassignment": "controller.model.requests",
    "NewPartitions": "controller.model.requests",
    "NewTopic": "controller.model.requests",
    "NotController": "controller.model.errors",
    "Results": "controller.admin",
    "Settings": "controller.model.values",
    "TopicPartition": "controller.model.values",
    "WrongMode": "controller.host",
}

__all__ = [
    "ALL",
    "Admin",
    "AlterReassignmentsOptions",
    "ApiError",
    "BrokerRegistration",
    "Controller",
    "ControllerError",
    "Description",
    "ElectionType",
    "Endpoint",
    "ErrorCode",
    "Host",
    "HostResponse",
    "Journal",
    "LogReport",
    "NewPartitionReassignment",
    "NewPartitions",
    "NewTopic",
    "NotController",
    "Results",
    "Settings",
    "TopicPartition",
    "WrongMode",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'controller' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
