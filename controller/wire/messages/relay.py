"""Relay (20010): what a client asked, passed on from the gateway of a stand-by to that of the active controller
(`controller.wire.peers`). Not told to clients: it is no part of what a gateway offers.

`principal`: who asked. `broker_id`: whose address was called, -1 for the common one. `frame`: the request as it came,
`answer`: the answer as it goes, with its size, null where there is none. Errors: NOT_CONTROLLER (nothing was done),
INVALID_REQUEST (the client is to be hung up on, `answer` being its last words), UNKNOWN_SERVER_ERROR (the same).
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from controller.wire.messages.schemas import SCHEMAS


class RelayRequest(ApiMessage, load_json=SCHEMAS):
    pass


class RelayResponse(ApiMessage, load_json=SCHEMAS):
    pass
