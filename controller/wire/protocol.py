"""Kafka's protocol: a frame to a request, an answer to a frame. The only place that knows how the codec is made.

The codec is kafka-python's: classes made from Kafka's own schemas. A request is an object with the fields of its schema
in snake case; an answer is made of plain values, dicts for structs and lists for arrays, with the same names. What an
answer leaves out has the schema's default.
"""

from __future__ import annotations

import functools
import io
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs
from kafka.protocol.api_header import RequestHeader

from controller.wire import bounds
from controller.wire.errors import Garbage

SIZE: Final = struct.Struct(">i")
API_VERSIONS: Final = 18
BRIEF: Final = 16 * 1024  # bytes of a frame that is read at once, in less than a millisecond or two
_CLIENT_AT: Final = 10  # where the client id begins: behind key, version, correlation id and its own length
_LONG: Final = 1000  # elements of an answer that takes longer
_compiling: Final = threading.Lock()

Request = Any
"""An instance of a request class of the codec."""

Frame: TypeAlias = "bytes | tuple[bytes, memoryview]"
"""Bytes to be sent, in one piece or two: of an answer that many get, each gets the second."""

Answer = Mapping[str, Any]
"""The fields of a response by name."""


@attrs.frozen
class Header:
    """What stands before every request. `version` may be one that the API does not have."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None


@attrs.frozen
class Messages:
    """An API of the codec: the classes of its request and its response, and which versions are offered."""

    request: Any
    response: Any
    versions: range

    @property
    def api_key(self) -> int:
        return int(self.request.API_KEY)

    @property
    def name(self) -> str:
        """`Metadata`, as Kafka calls the API."""
        return str(self.request.name).removesuffix("Request")


def read_header(frame: bytes) -> Header:
    """The header alone, which can be read whatever follows. Garbage where the frame has none."""
    try:
        read = RequestHeader.decode(io.BytesIO(frame), flexible=False)
        return Header(read.request_api_key, read.request_api_version, read.correlation_id, read.client_id)
    except Exception as error:
        raise Garbage(f"no header of a request: {error!r:.200}") from error


def elements(messages: Messages, header: Header, frame: bytes, most: int) -> int:
    """How many elements its lists have, all together: what `read_request` will make. Garbage, or TooLarge for more than
    `most`. To be asked before that: the codec itself has no bounds."""
    return bounds.elements(messages.request, header.version, frame, most)


def read_request(messages: Messages, header: Header, frame: bytes) -> Request:
    """The whole request. Garbage where the frame is none. Bytes behind it are let be: librdkafka sends some."""
    try:
        return _decoded(messages.request, header.version, frame)
    except Exception as error:
        raise Garbage(f"no {messages.name} request, version {header.version}: {error!r:.200}") from error


def _decoded(kind: Any, version: int, frame: bytes) -> Any:
    flexible = kind.flexible_version_q(version)
    with _compiling:  # the codec makes its decoder at the first use, and not so that two threads might
        kind._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=kind)  # noqa: SLF001
    return kind.decode(frame, version=version, header=True)


def write_answer(messages: Messages, version: int, correlation_id: int, answer: Answer) -> bytes:
    """The frame, with its size before it. ValueError for a field that the schema does not have: a mistake of ours."""
    response = build(messages.response, version, answer)
    response.with_header(correlation_id)
    return bytes(response.encode(header=True, framed=True))


def questioned(header: Header, frame: bytes) -> tuple[bytes, bytes]:
    """What of a request says what is asked: two that differ in who asks, or how often, have the same."""
    client = 0 if header.client_id is None else len(header.client_id.encode())
    return frame[:4], frame[_CLIENT_AT + client :]


def readdressed(answer: bytes, correlation_id: int) -> Frame:
    """The answer to another request than it was written for."""
    return answer[: SIZE.size] + SIZE.pack(correlation_id), memoryview(answer)[2 * SIZE.size :]


def whole(frame: Frame | None) -> bytes | None:
    """In one piece."""
    return b"".join(frame) if isinstance(frame, tuple) else frame


def write_request(messages: Messages, header: Header, fields: Answer) -> bytes:
    """The frame, with its size before it. ValueError for a field that the schema does not have: a mistake of ours."""
    request = build(messages.request, header.version, fields)
    request.with_header(header.correlation_id, header.client_id)
    return bytes(request.encode(header=True, framed=True))


def read_answer(messages: Messages, header: Header, frame: bytes) -> Any:
    """The response to the request that had this header. Garbage where the frame is none, or one to another request."""
    try:
        response = _decoded(messages.response, header.version, frame)
    except Exception as error:
        raise Garbage(f"no {messages.name} response, version {header.version}: {error!r:.200}") from error
    if response.header.correlation_id != header.correlation_id:
        raise Garbage(f"a {messages.name} response to {response.header.correlation_id}, not {header.correlation_id}")
    return response


def write_again(response: Any) -> bytes:
    """What `read_answer` gave, whatever was changed of it, with its size before it."""
    return bytes(response.encode(header=True, framed=True))


def is_long(answer: Any, room: int = _LONG) -> bool:
    """Whether there are more elements in it than are written in a moment."""
    waiting = [answer]
    while waiting and room >= 0:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [each for each in value.values() if isinstance(each, list | tuple | Mapping)]
        elif isinstance(value, list | tuple):
            room -= len(value)
            waiting += [each for each in value[: max(room, 0)] if isinstance(each, list | tuple | Mapping)]
    return room < 0


def build(kind: Any, version: int, fields: Mapping[str, Any]) -> Any:
    """An object of the codec, from plain values. Fields that a version does not have are left out of it."""
    makers = _makers(kind, version)
    try:
        made = {name: make(value) for name, value in fields.items() if (make := makers[name]) is not None}
    except KeyError as error:
        raise ValueError(f"{kind.__name__} has no field {error}") from error
    return kind(version=version, **made)


@functools.cache
def _makers(kind: Any, version: int) -> dict[str, Callable[[Any], Any] | None]:
    """What makes the value of each field, by its name; None for a field that the version does not have."""
    fields: dict[str, Any] = kind._struct.fields  # noqa: SLF001 - the codec says nowhere else what a struct is made of
    return {name: _maker(field, version) if field.for_version_q(version) else None for name, field in fields.items()}


def _maker(field: Any, version: int) -> Callable[[Any], Any]:
    def struct_of(value: Any) -> Any:
        return None if value is None else build(field.data_class, version, value)

    def structs_of(value: Any) -> Any:
        return None if value is None else [build(field.data_class, version, each) for each in value]

    if field.is_struct_array():
        return structs_of
    return struct_of if field.is_struct() else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value
