"""All messages by their names: those of kafka-python's `kafka.protocol`, and those that it lacks, declared to the same
codec.

Each file of `schemas` becomes a class of its name here (`messages.LeaderAndIsrRequest`). Importing this package adds
the responses to the codec's own registry, so that `kafka.protocol.parser` reads answers, too.

Requests between brokers and a controller are those of Kafka 3.9, with all fields that have no tag:

* KIP-455 gives version 3 of LeaderAndIsr a nullable TargetReplicas; Kafka's version 3 has AddingReplicas and
  RemovingReplicas instead. So version 3 is Kafka's, and `target_replicas` is a tagged field of the flexible versions
  (from 4 up), None where nothing moves: an absent tag.
* `status_code` (KIP-694) is a tagged field of the flexible versions of LeaderAndIsr and UpdateMetadata, 0 (online)
  where it is absent. `topic_id` is one of StopReplica's topics from version 3 up: Kafka's StopReplica has names only,
  and a late one must not affect a new topic with the name of a deleted one.
* `request_type` of LeaderAndIsr (from 5 up) and UpdateMetadata (from 8 up): 1 incremental, 2 full, 0 unknown.
* ConsumerGroupHeartbeat and ConsumerGroupDescribe (68, 69, KIP-848): their version 1 is Kafka 4's.

Keys and values of the records that coordinators write into `__consumer_offsets`: a key begins with its version, which
also says its kind: 0 and 1 an offset, 2 a group. Kafka writes keys 1 and 2, and values 3. Of the records of the
consumer protocol, values alone are declared, as of Kafka 4.1; MetadataVersion is Version in Kafka, which the codec
takes for that of the message.

Requests that no release of Kafka has have private keys from 20000 up. They are listed for a client with `KEDGE` as
`client_software_name` in its ApiVersions. Those of KIP-179 are older than flexible versions and have none. Version 1 of
AlterInterbrokerThrottledRates adds `family`: 0 `replication.throttled` (KIP-73, the meaning of version 0), 1
`reassignment.throttled` (KIP-542). `leaders` and `followers` None: every broker of the cluster.

Relay (20010) is a client's request, forwarded from the gateway of a standby to that of the active controller
(`kedge.controller.wire.peers`). It is not listed for clients. `principal`: the client. `broker_id`: the broker whose
address was called, -1 for the common one. `frame`: the request as it came; `answer`: the answer to send, with its size,
null where there is none. Errors: NOT_CONTROLLER (nothing was done), INVALID_REQUEST (the client's connection must be
closed, after `answer`), UNKNOWN_SERVER_ERROR (the same).
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

from kafka.protocol import admin, consumer, metadata, producer, sasl

from ..codec import ApiData, ApiMessage
from ..protocol import Messages
from .patched import PATCHED
from .schemas import SCHEMAS

KEDGE: Final = "kedge"
NO_LOG_DIR: Final = "none"
"""The only log directory of a node without a disk: a controller that Kafka's brokers list as a node."""


def _declared(name: str) -> Any:
    """The class of a schema. Requests and responses have headers, records have none."""
    base = ApiMessage if name.endswith(("Request", "Response")) else ApiData
    return types.new_class(name, (base,), {"load_json": SCHEMAS}, lambda body: body.update(__module__=__name__))


_NAMES: Final = sorted(
    file.name.removesuffix(".json") for file in resources.files(SCHEMAS).iterdir() if file.name.endswith(".json")
)
_DECLARED: Final = {name: _declared(name) for name in _NAMES}
_KAFKAS: Final = {
    name: kind
    for package in (admin, consumer, metadata, producer, sasl)
    for name, kind in vars(package).items()
    if name.endswith(("Request", "Response"))
}
MESSAGES: Final[Mapping[str, Any]] = MappingProxyType(_KAFKAS | PATCHED | _DECLARED)
"""Name to class."""
_RELAY: Final = "RelayRequest"  # which gateways alone send to each other
_REQUESTS: Final[Mapping[int, Any]] = {
    kind.API_KEY: kind for name, kind in _DECLARED.items() if name.endswith("Request") and name != _RELAY
}
_LOWEST: Final = {7: 1}  # of ControlledShutdown: the header of version 0 has no client id, which readers do not support


def __getattr__(name: str) -> Any:
    try:
        return MESSAGES[name]
    except KeyError:
        raise AttributeError(f"{__name__} has no message {name!r}") from None


def messages_of(api: str, versions: range | None = None) -> Messages:
    """The request and the response of an API by Kafka's name of it (`Metadata`). `versions`: those that are offered;
    required for an API that is not declared here."""
    request = MESSAGES[f"{api}Request"]
    if versions is None:
        lowest, highest = VERSIONS[request.API_KEY]
        versions = range(lowest, highest + 1)
    return Messages(request, MESSAGES[f"{api}Response"], versions)


def requests() -> dict[int, Any]:
    """API key to request class, of every API that is declared here completely; a new dict with each call."""
    return dict(_REQUESTS)


RESPONSES: Final[Mapping[int, Any]] = MappingProxyType(
    {key: MESSAGES[kind.__name__.replace("Request", "Response")] for key, kind in _REQUESTS.items()}
    | {kind.API_KEY: kind for name, kind in PATCHED.items() if name.endswith("Response")}
)
VERSIONS: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {key: (_LOWEST.get(key, 0), kind.max_version) for key, kind in _REQUESTS.items()}
)

__all__ = ["KEDGE", "MESSAGES", "NO_LOG_DIR", "RESPONSES", "VERSIONS", "messages_of", "requests"]
