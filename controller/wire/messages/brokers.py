"""Requests from a broker to a controller: BrokerRegistration (62), BrokerHeartbeat (63), AlterPartition (56),
ControlledShutdown (7) and AllocateProducerIds (67), as brokers of Kafka 3.9 send them, without additions.

Version 0 of ControlledShutdown has a special request header without a client id. Its body is declared here; no broker
since 0.9 sends it, and it is not offered (`VERSIONS`).

Requests from a controller to a broker: LeaderAndIsr (4), StopReplica (5), UpdateMetadata (6), as brokers of Kafka
3.9 read them.

* Untagged fields are Kafka's, in every version. KIP-455 gives version 3 of LeaderAndIsr a nullable TargetReplicas;
  Kafka's version 3 has AddingReplicas and RemovingReplicas instead. So version 3 is Kafka's, and `target_replicas` is a
  tagged field of the flexible versions (from 4 up), None where nothing moves: an absent tag.
* `status_code` (KIP-694) is a tagged field of the flexible versions of LeaderAndIsr and UpdateMetadata, 0 (online)
  where it is absent. `topic_id` is one of StopReplica's topics from version 3 up: Kafka's StopReplica has names only,
  and a late one must not affect a new topic with the name of a deleted one.
* `request_type` of LeaderAndIsr (from 5 up) and UpdateMetadata (from 8 up): 1 incremental, 2 full, 0 unknown.
"""

from __future__ import annotations

from ..codec import ApiMessage
from .schemas import SCHEMAS


class BrokerRegistrationRequest(ApiMessage, load_json=SCHEMAS): ...


class BrokerRegistrationResponse(ApiMessage, load_json=SCHEMAS): ...


class BrokerHeartbeatRequest(ApiMessage, load_json=SCHEMAS): ...


class BrokerHeartbeatResponse(ApiMessage, load_json=SCHEMAS): ...


class AlterPartitionRequest(ApiMessage, load_json=SCHEMAS): ...


class AlterPartitionResponse(ApiMessage, load_json=SCHEMAS): ...


class ControlledShutdownRequest(ApiMessage, load_json=SCHEMAS): ...


class ControlledShutdownResponse(ApiMessage, load_json=SCHEMAS): ...


class AllocateProducerIdsRequest(ApiMessage, load_json=SCHEMAS): ...


class AllocateProducerIdsResponse(ApiMessage, load_json=SCHEMAS): ...


class LeaderAndIsrRequest(ApiMessage, load_json=SCHEMAS): ...


class LeaderAndIsrResponse(ApiMessage, load_json=SCHEMAS): ...


class StopReplicaRequest(ApiMessage, load_json=SCHEMAS): ...


class StopReplicaResponse(ApiMessage, load_json=SCHEMAS): ...


class UpdateMetadataRequest(ApiMessage, load_json=SCHEMAS): ...


class UpdateMetadataResponse(ApiMessage, load_json=SCHEMAS): ...
