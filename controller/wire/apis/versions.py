"""ApiVersions: which APIs are offered, in which versions.

* Of private APIs only those hear who ask as Kedge does, by the name of the client's software (from version 3 on): stock
  clients may know no such keys, and kafka-python ends its own list of versions at the first one.
* Of orders to brokers only gateways hear that logged in as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafka.protocol.metadata.api_versions import ApiVersionsRequest, ApiVersionsResponse

from controller.wire.calls import OPEN, Api, Call
from controller.wire.messages import KEDGE
from controller.wire.protocol import Answer, Messages, Request

UNSUPPORTED_VERSION: Final = 35
PRIVATE_KEYS: Final = 20_000
"""From here on up keys are ours."""


def table(apis: Mapping[int, Api]) -> Iterator[Api]:
    """The row of ApiVersions itself, over the table that it tells of, itself included."""

    async def api_versions(call: Call, request: Request) -> Answer:
        asks = request.client_software_name == KEDGE  # empty before version 3
        return {"error_code": 0, **_offered(apis, with_private=asks or call.is_gateway, with_orders=call.is_gateway)}

    yield Api(
        Messages(ApiVersionsRequest, ApiVersionsResponse, range(5)),
        api_versions,
        OPEN,
        before_login=True,
        never_waits=True,
    )


def unsupported(apis: Mapping[int, Api]) -> Answer:
    """To an ApiVersions that is newer than ours: in the form of version 0, so that the client can ask again."""
    return {"error_code": UNSUPPORTED_VERSION, **_offered(apis)}


def _offered(apis: Mapping[int, Api], *, with_private: bool = False, with_orders: bool = False) -> Answer:
    rows = sorted(
        (key, api.messages.versions)
        for key, api in apis.items()
        if (with_private or key < PRIVATE_KEYS) and (with_orders or not api.is_for_gateways)
    )
    return {"api_keys": [{"api_key": key, "min_version": v.start, "max_version": v[-1]} for key, v in rows]}
