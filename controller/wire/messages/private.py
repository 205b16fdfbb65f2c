"""Requests that no release of Kafka has, under private keys from 20000 up: ReassignPartitions (20000),
AlterInterbrokerThrottledRates (20001) and AlterInterbrokerThrottledReplicas (20002) of KIP-179, DeletePartitions
(20003) of KIP-694, and ReportLogs (20004), by which a broker reports the state of its logs.

Those of KIP-179 are older than flexible versions and have none. `throttle`, `leader_rate` and `follower_rate` are bytes
per second. Version 1 of AlterInterbrokerThrottledRates adds `family`: 0 `replication.throttled` (KIP-73, the meaning of
version 0), 1 `reassignment.throttled` (KIP-542). `leaders` and `followers` None: every broker of the cluster.

Relay (20010): a client's request, forwarded from the gateway of a standby to that of the active controller
(`kedge.controller.wire.peers`). It is not listed for clients.

`principal`: the client. `broker_id`: the broker whose address was called, -1 for the common one. `frame`: the request
as it came; `answer`: the answer to send, with its size, null where there is none. Errors: NOT_CONTROLLER (nothing was
done), INVALID_REQUEST (the client's connection must be closed, after `answer`), UNKNOWN_SERVER_ERROR (the same).
"""

from __future__ import annotations

from ..codec import ApiMessage
from .schemas import SCHEMAS


class ReassignPartitionsRequest(ApiMessage, load_json=SCHEMAS): ...


class ReassignPartitionsResponse(ApiMessage, load_json=SCHEMAS): ...


class AlterInterbrokerThrottledRatesRequest(ApiMessage, load_json=SCHEMAS): ...


class AlterInterbrokerThrottledRatesResponse(ApiMessage, load_json=SCHEMAS): ...


class AlterInterbrokerThrottledReplicasRequest(ApiMessage, load_json=SCHEMAS): ...


class AlterInterbrokerThrottledReplicasResponse(ApiMessage, load_json=SCHEMAS): ...


class DeletePartitionsRequest(ApiMessage, load_json=SCHEMAS): ...


class DeletePartitionsResponse(ApiMessage, load_json=SCHEMAS): ...


class ReportLogsRequest(ApiMessage, load_json=SCHEMAS): ...


class ReportLogsResponse(ApiMessage, load_json=SCHEMAS): ...


class RelayRequest(ApiMessage, load_json=SCHEMAS): ...


class RelayResponse(ApiMessage, load_json=SCHEMAS): ...
