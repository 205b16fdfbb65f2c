"""Messages that kafka-python's `kafka.protocol` lacks, declared to the same codec.

Importing this package adds them to the codec's own registry of responses, so that `kafka.protocol.parser` reads their
answers, too. A gateway takes from here:

* `requests()`: API key to request class;
* `RESPONSES`: API key to response class; besides those of `requests()` it has Metadata's, with status of partitions;
* `VERSIONS`: API key to (lowest, highest) version that is offered.

The private APIs are listed for a client with `KEDGE` as `client_software_name` in its ApiVersions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from .brokers import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from .groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from .metadata import MetadataResponse
from .private import (
    AlterInterbrokerThrottledRatesRequest,
    AlterInterbrokerThrottledRatesResponse,
    AlterInterbrokerThrottledReplicasRequest,
    AlterInterbrokerThrottledReplicasResponse,
    DeletePartitionsRequest,
    DeletePartitionsResponse,
    ReassignPartitionsRequest,
    ReassignPartitionsResponse,
    ReportLogsRequest,
    ReportLogsResponse,
)

KEDGE: Final = "kedge"
NO_LOG_DIR: Final = "none"
"""The only log directory of a node without a disk: a controller that Kafka's brokers list as a node."""
_PAIRS: Final = (
    (LeaderAndIsrRequest, LeaderAndIsrResponse),
    (StopReplicaRequest, StopReplicaResponse),
    (UpdateMetadataRequest, UpdateMetadataResponse),
    (ControlledShutdownRequest, ControlledShutdownResponse),
    (AlterPartitionRequest, AlterPartitionResponse),
    (BrokerRegistrationRequest, BrokerRegistrationResponse),
    (BrokerHeartbeatRequest, BrokerHeartbeatResponse),
    (AllocateProducerIdsRequest, AllocateProducerIdsResponse),
    (ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
    (ReassignPartitionsRequest, ReassignPartitionsResponse),
    (AlterInterbrokerThrottledRatesRequest, AlterInterbrokerThrottledRatesResponse),
    (AlterInterbrokerThrottledReplicasRequest, AlterInterbrokerThrottledReplicasResponse),
    (DeletePartitionsRequest, DeletePartitionsResponse),
    (ReportLogsRequest, ReportLogsResponse),
)

# The header of version 0 has no client id, and readers of headers do not support that.
_LOWEST: Final = {ControlledShutdownRequest.API_KEY: 1}


def requests() -> dict[int, Any]:
    """API key to request class, of every API that is declared here completely; a new dict with each call."""
    return {request.API_KEY: request for request, _ in _PAIRS}


RESPONSES: Final[Mapping[int, Any]] = MappingProxyType(
    {response.API_KEY: response for _, response in _PAIRS} | {MetadataResponse.API_KEY: MetadataResponse}
)
VERSIONS: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {request.API_KEY: (_LOWEST.get(request.API_KEY, 0), request.max_version) for request, _ in _PAIRS}
)

__all__ = [
    "KEDGE",
    "NO_LOG_DIR",
    "RESPONSES",
    "VERSIONS",
    "AllocateProducerIdsRequest",
    "AllocateProducerIdsResponse",
    "AlterInterbrokerThrottledRatesRequest",
    "AlterInterbrokerThrottledRatesResponse",
    "AlterInterbrokerThrottledReplicasRequest",
    "AlterInterbrokerThrottledReplicasResponse",
    "AlterPartitionRequest",
    "AlterPartitionResponse",
    "BrokerHeartbeatRequest",
    "BrokerHeartbeatResponse",
    "BrokerRegistrationRequest",
    "BrokerRegistrationResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
    "DeletePartitionsRequest",
    "DeletePartitionsResponse",
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
    "MetadataResponse",
    "ReassignPartitionsRequest",
    "ReassignPartitionsResponse",
    "ReportLogsRequest",
    "ReportLogsResponse",
    "StopReplicaRequest",
    "StopReplicaResponse",
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
    "requests",
]
