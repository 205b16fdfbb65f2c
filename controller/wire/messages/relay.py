"""Relay (20010): a client's request, forwarded from the gateway of a standby to that of the active controller
(`controller.wire.peers`). It is not listed for clients.

`principal`: the client. `broker_id`: the broker whose address was called, -1 for the common one. `frame`: the request
as it came; `answer`: the answer to send, with its size, null where there is none. Errors: NOT_CONTROLLER (nothing was
done), INVALID_REQUEST (the client's connection must be closed, after `answer`), UNKNOWN_SERVER_ERROR (the same).
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from controller.wire.messages.schemas import SCHEMAS


class RelayRequest(ApiMessage, load_json=SCHEMAS):
    pass


class RelayResponse(ApiMessage, load_json=SCHEMAS):
    pass
