"""Kafka's protocol: a frame to a request, an answer to a frame.

The codec is kafka-python's (`codec`): classes made from Kafka's own schemas. A request is an object with the fields of
its schema in snake case; an answer is built from plain values, dicts for structs and lists for arrays, with the same
names. Fields that an answer leaves out have the schema's default.
"""

from __future__ import annotations

import functools
import io
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from .codec import RequestHeader, compile_decoder, fields_of
from .errors import Garbage

SIZE: Final = struct.Struct(">i")
API_VERSIONS: Final = 18
BRIEF: Final = 16 * 1024  # bytes of a frame that is read in a millisecond or two
_CLIENT_AT: Final = 10  # where the client id begins: behind key, version, correlation id and its own length
LONG: Final = 1000  # elements of an answer that takes longer
_compiling: Final = threading.Lock()

Request = Any
"""An instance of a request class of the codec."""

Frame: TypeAlias = "bytes | tuple[bytes, memoryview]"
"""Bytes to send, in one piece or two: clients of a shared answer have the second piece in common."""

Answer = Mapping[str, Any]
"""The fields of a response by name."""


@attrs.frozen
class Header:
    """The header of every request. `version` may be one that the API does not have."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None


@attrs.frozen
class Messages:
    """An API of the codec: the classes of its request and its response, and the offered versions."""

    request: Any
    response: Any
    versions: range

    @property
    def api_key(self) -> int:
        return int(self.request.API_KEY)

    @property
    def name(self) -> str:
        """`Metadata`: Kafka's name of the API."""
        return str(self.request.name).removesuffix("Request")


def read_header(frame: bytes) -> Header:
    """The header alone, which can be read whatever follows. Raises Garbage where the frame has none."""
    try:
        read = RequestHeader.decode(io.BytesIO(frame), flexible=False)
        return Header(read.request_api_key, read.request_api_version, read.correlation_id, read.client_id)
    except Exception as error:
        raise Garbage(f"no header of a request: {error!r:.200}") from error


def read_request(messages: Messages, header: Header, frame: bytes) -> Request:
    """The whole request, whose `bounds.elements` were counted before, because the codec has no limits. Raises Garbage
    where the frame is none. Bytes after it are ignored: librdkafka sends some."""
    try:
        return _decoded(messages.request, header.version, frame)
    except Exception as error:
        raise Garbage(f"no {messages.name} request, version {header.version}: {error!r:.200}") from error


def _decoded(kind: Any, version: int, frame: bytes) -> Any:
    with _compiling:  # the codec compiles its decoder at the first use, which is not safe in two threads
        compile_decoder(kind, version)
    return kind.decode(frame, version=version, header=True)


def write_answer(messages: Messages, version: int, correlation_id: int, answer: Answer) -> bytes:
    """The frame, with its size first. Raises ValueError for a field that the schema does not have: a defect here."""
    response = build(messages.response, version, answer)
    response.with_header(correlation_id)
    return bytes(response.encode(header=True, framed=True))


def questioned(header: Header, frame: bytes) -> tuple[bytes, bytes]:
    """The part of a request that says what is requested: equal for requests that differ in client and number only."""
    client = 0 if header.client_id is None else len(header.client_id.encode())
    return frame[:4], frame[_CLIENT_AT + client :]


def readdressed(answer: bytes, correlation_id: int) -> Frame:
    """The answer with the correlation id of another request than it was written for."""
    return answer[: SIZE.size] + SIZE.pack(correlation_id), memoryview(answer)[2 * SIZE.size :]


def whole(frame: Frame | None) -> bytes | None:
    return b"".join(frame) if isinstance(frame, tuple) else frame


def write_request(messages: Messages, header: Header, fields: Answer) -> bytes:
    """The frame, with its size first. Raises ValueError for a field that the schema does not have: a defect here."""
    request = build(messages.request, header.version, fields)
    request.with_header(header.correlation_id, header.client_id)
    return bytes(request.encode(header=True, framed=True))


def body_behind(
    messages: Messages, version: int, fields: Answer, field: str, instead: tuple[str, bytes] | None = None
) -> bytes:
    """The bytes of a request behind a field of 8 bytes; all of them where the version does not have the field.
    `instead`: the bytes of a list behind it, which `fields` leaves out, for versions in which lists are compact."""
    end, _ = _around(messages.request, version, field)
    body = _body(messages.request, version, fields)
    if instead is None:
        return body[end:]
    at = _place(messages.request, version, instead[0])
    return b"".join((body[end:at], instead[1], body[at + 1 :]))


def write_before(messages: Messages, header: Header, fields: Answer, field: str, behind: bytes) -> bytes:
    """The frame of a request whose bytes behind `field` are given, from `body_behind`. `fields`: those up to it."""
    request = build(messages.request, header.version, fields)
    request.with_header(header.correlation_id, header.client_id)
    encoded = bytes(request.encode(header=True))
    _, rest = _around(messages.request, header.version, field)
    head = encoded[: len(encoded) - rest]
    return b"".join((SIZE.pack(len(head) + len(behind)), head, behind))


def _body(kind: Any, version: int, fields: Answer) -> bytes:
    return bytes(build(kind, version, fields).encode())


@functools.cache
def _around(kind: Any, version: int, field: str) -> tuple[int, int]:
    """How many bytes a body has up to the end of a field of 8 bytes, and how many behind it if the fields there have
    their defaults. The codec tells no places, but all fields before it have a fixed length."""
    zeros, ones = _body(kind, version, {field: 0}), _body(kind, version, {field: -1})
    differs = [at for at, (zero, one) in enumerate(zip(zeros, ones, strict=True)) if zero != one]
    end = differs[-1] + 1 if differs else 0
    return end, len(zeros) - end


@functools.cache
def _place(kind: Any, version: int, array: str) -> int:
    """Where a list begins of which all fields before it have a fixed length: with its count, a byte if it is empty."""
    empty, one = _body(kind, version, {}), _body(kind, version, {array: [{}]})
    return next(at for at, (each, other) in enumerate(zip(empty, one, strict=False)) if each != other)


def read_answer(messages: Messages, header: Header, frame: bytes) -> Any:
    """The response to the request with this header. Raises Garbage where the frame is none, or belongs to another."""
    try:
        response = _decoded(messages.response, header.version, frame)
    except Exception as error:
        raise Garbage(f"no {messages.name} response, version {header.version}: {error!r:.200}") from error
    if response.header.correlation_id != header.correlation_id:
        raise Garbage(f"a {messages.name} response to {response.header.correlation_id}, not {header.correlation_id}")
    return response


def write_again(response: Any) -> bytes:
    """The frame of a response from `read_answer`, with all changes since, and its size first."""
    return bytes(response.encode(header=True, framed=True))


def length_of(answer: Any) -> int:
    """The elements of all its lists, counted until there are more than `LONG`."""
    waiting, length = [answer], 0
    while waiting and length <= LONG:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [each for each in value.values() if isinstance(each, list | tuple | Mapping)]
        elif isinstance(value, list | tuple):
            length += len(value)
            waiting += [each for each in value[: max(LONG - length, 0)] if isinstance(each, list | tuple | Mapping)]
    return length


def build(kind: Any, version: int, fields: Mapping[str, Any]) -> Any:
    """An object of the codec, from plain values. Fields that the version does not have are left out."""
    makers = _makers(kind, version)
    try:
        made = {name: make(value) for name, value in fields.items() if (make := makers[name]) is not None}
    except KeyError as error:
        raise ValueError(f"{kind.__name__} has no field {error}") from error
    return kind(version=version, **made)


@functools.cache
def _makers(kind: Any, version: int) -> dict[str, Callable[[Any], Any] | None]:
    """The function that builds the value of each field, by its name; None where the version does not have the field."""
    fields = fields_of(kind).items()
    return {name: _maker(field, version) if field.for_version_q(version) else None for name, field in fields}


def _maker(field: Any, version: int) -> Callable[[Any], Any]:
    def struct_of(value: Any) -> Any:
        return None if value is None else build(field.data_class, version, value)

    def structs_of(value: Any) -> Any:
        return None if value is None else [build(field.data_class, version, each) for each in value]

    if field.is_struct_array():
        return structs_of
    if field.is_struct():
        return struct_of
    return _TEXTS.get(field.type_str, _as_it_is)


def _as_it_is(value: Any) -> Any:
    return value


def _text(value: str | None) -> str | None:
    """As Kafka writes it: JSON of other programs may have half of a surrogate pair, which UTF-8 cannot hold."""
    return value if value is None or value.isascii() else value.encode(errors="replace").decode()


def _texts(values: Iterable[str] | None) -> list[str | None] | None:
    return None if values is None else [_text(each) for each in values]


_TEXTS: Final[Mapping[str, Callable[[Any], Any]]] = {"string": _text, "[]string": _texts}
