"""ACLs: the cluster keeps none, so each request about them is answered with SECURITY_DISABLED, as by Kafka's brokers
without an authorizer. The rights of clients are in a file of the gateway (`kedge.controller.wire.security.acls`)."""

from __future__ import annotations

from typing import Final

from ..calls import Api, Call, on_cluster
from ..codec import fields_of
from ..messages import messages_of
from ..mirrored import mirrored
from ..protocol import Answer, Request

SECURITY_DISABLED: Final = 54
NO_ACLS: Final = "the cluster keeps no ACLs: rights of clients are in the file of --acls, at the gateway"
_VERSIONS: Final = range(1, 4)


async def no_acls(call: Call, request: Request) -> Answer:
    """The error of the whole, or of each row of the request."""
    fields = fields_of(call.messages.response)
    return await mirrored(fields, call.version, request, SECURITY_DISABLED, NO_ACLS)


TABLE: Final = (
    Api(messages_of("DescribeAcls", _VERSIONS), no_acls, on_cluster("DESCRIBE"), reads=True),
    Api(messages_of("CreateAcls", _VERSIONS), no_acls, on_cluster("ALTER", "creations", "results")),
    Api(messages_of("DeleteAcls", _VERSIONS), no_acls, on_cluster("ALTER", "filters", "filter_results")),
)
