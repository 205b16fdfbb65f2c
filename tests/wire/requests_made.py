"""Requests of every API, filled at random by their schemas, and what is made of them when they are read."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

from kedge.controller.wire.calls import Api
from kedge.controller.wire.protocol import build

TEXTS = ("", "orders", "bills", "ü" * 5, "x" * 200)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 17, "uint32": 33}
"""Of a signed number with the same limit above."""


def every_version(apis: dict[int, Api]) -> list[Any]:
    """(request class, version) of everything that is offered."""
    return [(api.messages.request, version) for api in apis.values() for version in api.messages.versions]


class AtLimits(Random):
    """Chooses numbers at the limits of their types."""


def frame(kind: Any, version: int, random: Random, least: int = 0, topic_id: uuid.UUID | None = None) -> bytes:
    """One request, header and body, without its size. Every list has at least so many elements; `topic_id`: of every
    topic that is named by its id."""
    request = build(kind, version, _fields(kind, version, random, least))
    for topic in getattr(request, "topics", None) or () if topic_id is not None else ():
        if hasattr(topic, "topic_id"):
            topic.topic_id = topic_id
    request.with_header(random.getrandbits(31), random.choice([None, "", "a client"]))
    return bytes(request.encode(header=True))


def _fields(kind: Any, version: int, random: Random, least: int) -> dict[str, Any]:
    """Tagged fields now and then, everything else always."""
    fields = [field for field in kind._struct.fields.values() if field.for_version_q(version)]  # noqa: SLF001 - as build
    sent = [field for field in fields if not field.tagged_field_q(version) or random.random() < 0.3]
    return {field.name: _value(field, version, random, least) for field in sent}


def _value(field: Any, version: int, random: Random, least: int) -> Any:
    if field.nullable_for_version_q(version) and random.random() < 0.3 and not (least and field.is_array()):
        return None
    if field.is_struct_array():
        return [_fields(field.data_class, version, random, least) for _ in range(random.randrange(least, 4))]
    if field.is_array():
        return [_simple(field.array_of.type_str, random) for _ in range(random.randrange(least, 4))]
    if field.is_struct():
        return _fields(field.data_class, version, random, least)
    if isinstance(random, AtLimits) and field.type_str in BITS:
        return _limit(field, random)
    return _simple(field.type_str, random)


def _limit(field: Any, random: Random) -> int:
    """Of times only those that are soon over: the server would wait, as it was asked to."""
    high = 1 << (BITS[field.type_str] - 1)
    low = 0 if field.type_str.startswith("u") else -high
    most = 1 if field.name.endswith("_ms") else high - 1
    return random.choice([low, max(low, -1), 0, 1, most, most - 1])


def _simple(kind: str, random: Random) -> Any:
    if kind == "string":
        return random.choice(TEXTS)
    if kind in {"bytes", "records"}:
        return random.randbytes(random.choice([0, 1, 300]))
    if kind == "uuid":
        return uuid.UUID(int=random.getrandbits(128))
    if kind == "bool":
        return random.random() < 0.5
    return 1.5 if kind == "float64" else random.randrange(100)


def made(value: Any, version: int) -> int:
    """How many elements the lists of what was read have, all together."""
    if isinstance(value, list):
        return len(value) + sum(made(each, version) for each in value)
    fields = getattr(value, "_struct", None)
    if fields is None:
        return 0
    return sum(
        made(getattr(value, name, None), version) for name, f in fields.fields.items() if f.for_version_q(version)
    )
