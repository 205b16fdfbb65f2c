"""SaslHandshake and SaslAuthenticate: the first requests of a client where logins are required."""

from __future__ import annotations

from typing import Final

from ..calls import OPEN, Api, Call
from ..errors import LoginRefused
from ..messages import messages_of
from ..protocol import Answer, Request
from ..security.sasl import ILLEGAL_STATE, MECHANISMS, LoginFailed


async def handshake(call: Call, request: Request) -> Answer:
    if call.login is None or not call.login.may_begin:
        return {"error_code": ILLEGAL_STATE, "mechanisms": []}
    try:
        call.login.handshake(request.mechanism, call.version)
    except LoginFailed as failed:
        raise LoginRefused(failed.message, {"error_code": failed.code, "mechanisms": MECHANISMS}) from failed
    return {"error_code": 0, "mechanisms": MECHANISMS}


async def authenticate(call: Call, request: Request) -> Answer:
    """A session lasts as long as its connection (`session_lifetime_ms` 0), or as the limits say."""
    if call.login is None or not call.login.is_running:
        return {"error_code": ILLEGAL_STATE, "error_message": "a login is not required here, or was completed before"}
    try:
        token = await call.login.step(bytes(request.auth_bytes))
    except LoginFailed as failed:
        answer = {"error_code": failed.code, "error_message": failed.message}
        raise LoginRefused(failed.message, answer) from failed
    return {"error_code": 0, "auth_bytes": token, "session_lifetime_ms": call.login.lifetime_ms}


TABLE: Final = (
    Api(messages_of("SaslHandshake", range(2)), handshake, OPEN, before_login=True, never_waits=True),
    Api(messages_of("SaslAuthenticate", range(3)), authenticate, OPEN, before_login=True, never_waits=True),
)
