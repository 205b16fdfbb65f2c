"""How many requests are worked on at a time.

Each API has turns of its own: what waits for the controller, or for records, keeps nobody waiting who asks for
something else.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from controller.wire.calls import Api
from controller.wire.limits import Limits
from controller.wire.protocol import API_VERSIONS

NEVER_WAITS: Final = frozenset({API_VERSIONS, 17, 36, 63})
"""With SaslHandshake and SaslAuthenticate, since nobody is served before these, and BrokerHeartbeat: a broker that is
not heard is dead."""
_SHARED: Final = 16
"""Answers that many may share, in the making at a time: large ones wait for room when they are made, so few may."""


def turns(api: Api, limits: Limits) -> AbstractAsyncContextManager[object]:
    """Held while a request of this API is worked on."""
    if api.messages.api_key in NEVER_WAITS:
        return nullcontext()
    if api.is_of_logs:
        return asyncio.Semaphore(limits.log_requests_in_flight)
    return asyncio.Semaphore(min(limits.requests_in_flight, _SHARED) if api.is_shared else limits.requests_in_flight)
