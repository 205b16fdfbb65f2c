"""The registration of a broker, `/brokers/ids/<id>`: v1 to v5 are read, the requested version is written (KIP-36).

v1 host, port, jmx_port, timestamp (a string); v2 adds endpoints; v3 rack, left out where there is none; v4
listener_security_protocol_map; v5 features. Below v3 no rack is written, for rolling upgrades.
"""

from __future__ import annotations

import re
from typing import Final

from ..model.values import BrokerRegistration, Endpoint
from .text import bad, dump, fields, number, parse, text, unknown_fields

VERSIONS: Final = (1, 2, 3, 4, 5)
_PORT: Final = re.compile("[0-9]{1,5}")
_OURS: Final = "leader_and_isr_version"  # declared by the broker to Kedge; Kafka's readers ignore it
REGISTERED_BY: Final = (
    "registered_by"  # the node id of the controller whose process registered the broker; only Kedge knows the field
)
_KNOWN: Final = frozenset(
    {"version", "host", "port", "jmx_port", "timestamp", "endpoints", "rack", "listener_security_protocol_map", _OURS}
)


def decode(value: bytes, broker_id: int) -> BrokerRegistration:
    """The registration in `value`. Raises BadValue."""
    found = fields(parse(value), "registration")
    number(found.get("version", 1), "version", 1, 1000)
    protocols = fields(found.get("listener_security_protocol_map") or {}, "listener_security_protocol_map")
    endpoints = tuple(_endpoint(raw, protocols) for raw in _list(found.get("endpoints") or []))
    host, port = found.get("host"), found.get("port")
    if host is None and endpoints:  # brokers without a plaintext listener leave both out
        host, port = endpoints[0].host, endpoints[0].port
    rack = found.get("rack")
    return BrokerRegistration(
        broker_id,
        text(host, "host"),
        number(port, "port", -1, 65535),
        None if rack is None else text(rack, "rack"),
        endpoints,
        number(found.get(_OURS, 3), _OURS, 0, 1000),
        unknown_fields(found, _KNOWN),
    )


def has_features(registration: BrokerRegistration) -> bool:
    """Whether a Kafka broker wrote it whose inter-broker protocol is 2.7 or later (KIP-584)."""
    return "features" in (registration.extra or {})


def _list(raw: object) -> list[object]:
    if type(raw) is not list:
        bad("endpoints", "a list", raw)
    return raw


def _endpoint(raw: object, protocols: dict[str, object]) -> Endpoint:
    listener, _, address = text(raw, "endpoints").partition("://")
    host, colon, port = address.rpartition(":")
    if not listener or not colon or _PORT.fullmatch(port) is None:
        bad("endpoints", "LISTENER://host:port", raw)
    return Endpoint(listener, host, int(port), text(protocols.get(listener, listener), "protocol"))


def encode(registration: BrokerRegistration, version: int, now_ms: int) -> bytes:
    """The value of the registration key in `version` (1..5). Raises ValueError for another version."""
    if version not in VERSIONS:
        raise ValueError(f"registration_version must be one of {VERSIONS}, not {version!r}")
    value: dict[str, object] = {}
    if version >= 5:
        value["features"] = {}
    endpoints = registration.endpoints or (Endpoint("PLAINTEXT", registration.host, registration.port),)
    if version >= 4:
        value["listener_security_protocol_map"] = {e.listener: e.protocol for e in endpoints}
    if version >= 2:
        value["endpoints"] = [f"{e.listener}://{e.host}:{e.port}" for e in endpoints]
    if version >= 3 and registration.rack is not None:
        value["rack"] = registration.rack
    value |= {"jmx_port": -1, "port": registration.port, "host": registration.host}
    value |= {"version": version, "timestamp": str(now_ms)}
    if registration.leader_and_isr_version != 3:
        value[_OURS] = registration.leader_and_isr_version
    return dump(value | dict(registration.extra or {})).encode()
