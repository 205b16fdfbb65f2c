"""Requests that no release of Kafka has, under private keys from 20000 up: ReassignPartitions (20000),
AlterInterbrokerThrottledRates (20001) and AlterInterbrokerThrottledReplicas (20002) of KIP-179, DeletePartitions
(20003) of KIP-694, and ReportLogs (20004), by which a broker reports the state of its logs.

Those of KIP-179 are older than flexible versions and have none. `throttle`, `leader_rate` and `follower_rate` are bytes
per second. Version 1 of AlterInterbrokerThrottledRates adds `family`: 0 `replication.throttled` (KIP-73, the meaning of
version 0), 1 `reassignment.throttled` (KIP-542). `leaders` and `followers` None: every broker of the cluster.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from controller.wire.messages.schemas import SCHEMAS


class ReassignPartitionsRequest(ApiMessage, load_json=SCHEMAS):
    pass


class ReassignPartitionsResponse(ApiMessage, load_json=SCHEMAS):
    pass


class AlterInterbrokerThrottledRatesRequest(ApiMessage, load_json=SCHEMAS):
    pass


class AlterInterbrokerThrottledRatesResponse(ApiMessage, load_json=SCHEMAS):
    pass


class AlterInterbrokerThrottledReplicasRequest(ApiMessage, load_json=SCHEMAS):
    pass


class AlterInterbrokerThrottledReplicasResponse(ApiMessage, load_json=SCHEMAS):
    pass


class DeletePartitionsRequest(ApiMessage, load_json=SCHEMAS):
    pass


class DeletePartitionsResponse(ApiMessage, load_json=SCHEMAS):
    pass


class ReportLogsRequest(ApiMessage, load_json=SCHEMAS):
    pass


class ReportLogsResponse(ApiMessage, load_json=SCHEMAS):
    pass
