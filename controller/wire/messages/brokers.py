"""Requests from a broker to a controller: BrokerRegistration (62), BrokerHeartbeat (63), AlterPartition (56),
ControlledShutdown (7) and AllocateProducerIds (67), as brokers of Kafka 3.9 send them, without additions.

Version 0 of ControlledShutdown has a special request header without a client id. Its body is declared here; no broker
since 0.9 sends it, and it is not offered (`VERSIONS`).
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from controller.wire.messages.schemas import SCHEMAS


class BrokerRegistrationRequest(ApiMessage, load_json=SCHEMAS):
    pass


class BrokerRegistrationResponse(ApiMessage, load_json=SCHEMAS):
    pass


class BrokerHeartbeatRequest(ApiMessage, load_json=SCHEMAS):
    pass


class BrokerHeartbeatResponse(ApiMessage, load_json=SCHEMAS):
    pass


class AlterPartitionRequest(ApiMessage, load_json=SCHEMAS):
    pass


class AlterPartitionResponse(ApiMessage, load_json=SCHEMAS):
    pass


class ControlledShutdownRequest(ApiMessage, load_json=SCHEMAS):
    pass


class ControlledShutdownResponse(ApiMessage, load_json=SCHEMAS):
    pass


class AllocateProducerIdsRequest(ApiMessage, load_json=SCHEMAS):
    pass


class AllocateProducerIdsResponse(ApiMessage, load_json=SCHEMAS):
    pass
