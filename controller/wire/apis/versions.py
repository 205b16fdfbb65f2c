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
_OWN_KEY: Final = 18
_FEATURES: Final = (("group.version", 68, 1, 1), ("transaction.version", 26, 5, 2))
"""Name, API key with the version that shows it, and the feature's level: ConsumerGroupHeartbeat for KIP-848, EndTxn 5
for KIP-890."""
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
    """The answer to an ApiVersions of an unknown newer version: in the form of version 0, with the versions of this API
    alone (KIP-511), so that the client repeats it in one of them."""
    own = apis[_OWN_KEY].messages.versions
    return {
        "error_code": UNSUPPORTED_VERSION,
        "api_keys": [{"api_key": _OWN_KEY, "min_version": own.start, "max_version": own[-1]}],
    }


def _offered(apis: Mapping[int, Api], *, with_private: bool = False, with_orders: bool = False) -> Answer:
    rows = sorted(
        (key, api.messages.versions)
        for key, api in apis.items()
        if (with_private or key < PRIVATE_KEYS) and (with_orders or not api.is_for_gateways)
    )
    offered = {"api_keys": [{"api_key": key, "min_version": v.start, "max_version": v[-1]} for key, v in rows]}
    return {**offered, **_features(apis)}


def _features(apis: Mapping[int, Api]) -> Answer:
    """The features that clients look for; each is there with the API that it is about. Versions before 3 have none."""
    offered = {key: api.messages.versions for key, api in apis.items()}
    found = [(name, level) for name, key, version, level in _FEATURES if version in offered.get(key, ())]
    supported = [{"name": name, "min_version": 0, "max_version": level} for name, level in found]
    finalized = [{"name": name, "min_version_level": level, "max_version_level": level} for name, level in found]
    if not found:
        return {}
    return {"supported_features": supported, "finalized_features_epoch": 0, "finalized_features": finalized}
