"""ApiVersions: the offered APIs and their versions.

* Private APIs are listed only for clients with Kedge's software name (from version 3 on): stock clients may not know
  such keys, and kafka-python ends its own list of versions at the first one.
* The controller's requests to brokers are listed only for gateways that logged in as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..calls import OPEN, Api, Call
from ..messages import KEDGE, messages_of
from ..protocol import Answer, Request

UNSUPPORTED_VERSION: Final = 35
PRIVATE_KEYS: Final = 20_000
"""The lowest key of Kedge's private APIs."""


def with_apis(base: Mapping[int, Api], rows: Iterable[Api]) -> dict[int, Api]:
    """The table of `base` and these rows, by API key, with an ApiVersions that describes it."""
    apis = {**base, **{api.messages.api_key: api for api in rows}}

    async def api_versions(call: Call, request: Request) -> Answer:
        asks = request.client_software_name == KEDGE  # empty before version 3
        return {"error_code": 0, **_offered(apis, with_private=asks or call.is_gateway, with_orders=call.is_gateway)}

    own = Api(messages_of("ApiVersions", range(5)), api_versions, OPEN, before_login=True, never_waits=True)
    apis[own.messages.api_key] = own
    return apis


def unsupported(apis: Mapping[int, Api]) -> Answer:
    """The answer to an ApiVersions of an unknown newer version: in the form of version 0, so that the client repeats
    it."""
    return {"error_code": UNSUPPORTED_VERSION, **_offered(apis)}


def _offered(apis: Mapping[int, Api], *, with_private: bool = False, with_orders: bool = False) -> Answer:
    rows = sorted(
        (key, api.messages.versions)
        for key, api in apis.items()
        if (with_private or key < PRIVATE_KEYS) and (with_orders or not api.is_for_gateways)
    )
    return {"api_keys": [{"api_key": key, "min_version": v.start, "max_version": v[-1]} for key, v in rows]}
