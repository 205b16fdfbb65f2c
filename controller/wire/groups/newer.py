"""ConsumerGroupHeartbeat (KIP-848): listed, so that clients of that protocol get an error at once.

Without version 1 in ApiVersions, librdkafka would wait for a group without an error.
"""

from __future__ import annotations

from typing import Final

from ..calls import Api, Call, on_named
from ..messages import messages_of
from ..protocol import Answer, Request

UNSUPPORTED_VERSION: Final = 35
_MESSAGE: Final = "the consumer protocol of KIP-848 is not supported: set group.protocol=classic"


async def refuse(_: Call, __: Request) -> Answer:
    return {"error_code": UNSUPPORTED_VERSION, "error_message": _MESSAGE, "assignment": None}


TABLE: Final = (
    Api(messages_of("ConsumerGroupHeartbeat", range(2)), refuse, on_named("READ"), is_of_logs=True, never_waits=True),
)
