"""kafka-python's codec, as far as it makes no promise to keep: the only module that names its private parts.

Its messages (`kafka.protocol.admin`, `.consumer`, ...) and `kafka.errors` are public, and imported where they are used.
All else is imported from here, so that only this module depends on the release, which `setup.cfg` bounds.
`tests/house/test_codec.py` holds the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.api_data import ApiData
from kafka.protocol.api_header import RequestHeader, ResponseClassRegistry
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.codecs import UnsignedVarInt32
from kafka.record import MemoryRecords, MemoryRecordsBuilder
from kafka.record.util import calc_crc32c, decode_varint

__all__ = [
    "ApiData",
    "ApiMessage",
    "MemoryRecords",
    "MemoryRecordsBuilder",
    "RequestHeader",
    "ResponseClassRegistry",
    "UnsignedVarInt32",
    "calc_crc32c",
    "compile_decoder",
    "decode_varint",
    "fields_of",
    "schema_of",
    "size_of",
    "tagged_of",
]

# ruff: noqa: SLF001


def schema_of(kind: Any) -> Any:
    """The schema of a message or of a row of it: `kind` is the class or an object of it."""
    return kind._struct


def fields_of(kind: Any) -> Mapping[str, Any]:
    """The fields of all versions of a message or of a row of it, by name."""
    fields: Mapping[str, Any] = kind._struct.fields
    return fields


def tagged_of(field: Any, version: int) -> Mapping[int, Any]:
    tags: Mapping[int, Any] = field.tagged_fields(version)._tags
    return tags


def size_of(field: Any) -> Any:
    """How many bytes a value takes; no int if that is not fixed."""
    return field._type.size


def compile_decoder(kind: Any, version: int) -> None:
    """The decoder of this version is compiled. Not thread-safe."""
    flexible = kind.flexible_version_q(version)
    kind._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=kind)
