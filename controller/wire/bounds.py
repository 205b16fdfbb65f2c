"""The number of elements in a request, found before any object is built from it.

The codec builds an object per element of a list, so a frame of 100 MiB can become many GiB of objects. Here the schema
is followed over the bytes, reading counts and lengths only. A frame that is no request, or is too large, is refused
first.

* Every value lies within the frame: the codec would truncate a string that does not.
* Null occurs only where the schema allows it, so handlers need not check for it elsewhere.
* All elements of all lists count together, numbers too: a handler makes an object of each. Tagged fields count, and
  much: for each section of them the codec copies the rest of the frame, which costs as much as an element per page.
* No string is longer than 32,767 bytes, as in Kafka. Otherwise one name could fill the frame, and the gateway keeps
  several copies of a name.
* Bytes after the request are ignored, as everywhere here: librdkafka sends some.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from .codec import schema_of, size_of, tagged_of
from .errors import Garbage, TooLarge

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_HEADER: Final = 8  # key, version and correlation id
_PAGE: Final = 4096  # bytes whose copy takes as long as building an element
_VARINT_MAX: Final = 5  # bytes
_STRING_MAX: Final = 0x7FFF  # bytes, also where the length could be more

Step = Callable[["Walk", int], int]
"""From the position of a value to the position after it."""


class Walk:
    """The state of the pass over one frame. `elements`: how many more are allowed."""

    __slots__ = ("data", "elements")

    def __init__(self, data: bytes, elements: int) -> None:
        self.data = data
        self.elements = elements

    def skip(self, pos: int, size: int) -> int:
        """The position after `size` bytes. Raises Garbage where the frame has fewer."""
        if size > len(self.data) - pos:
            raise Garbage(f"a value of {size} bytes at {pos}, in a frame of {len(self.data)}")
        return pos + size

    def take(self, count: int, pos: int, least: int = 1) -> None:
        """Announces `count` elements of at least `least` bytes each. Raises Garbage where the frame cannot hold them,
        TooLarge where they are too many."""
        if count * least > len(self.data) - pos:
            raise Garbage(f"a list of {count} at {pos}, in a frame of {len(self.data)} bytes")
        self.elements -= count
        if self.elements < 0:
            raise TooLarge("the lists of one request have too many elements")

    def fixed(self, pos: int, kind: struct.Struct) -> tuple[int, int]:
        end = self.skip(pos, kind.size)
        return kind.unpack_from(self.data, pos)[0], end

    def varint(self, pos: int) -> tuple[int, int]:
        """An unsigned varint of at most 31 bits: no valid length is larger."""
        value = 0
        for index in range(_VARINT_MAX):
            byte = self.data[pos + index] if pos + index < len(self.data) else 0x80
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80 and value < 1 << 31:
                return value, pos + index + 1
        raise Garbage(f"no length at {pos}")


def elements(request: Any, version: int, frame: bytes, most: int) -> int:
    """The number of elements in all lists of the request. `request`: its class. Raises Garbage where the frame is no
    such request, TooLarge where there are more than `most`."""
    flexible = request.flexible_version_q(version)
    walk = Walk(frame, most)
    length, pos = walk.fixed(walk.skip(0, _HEADER), _SHORT)
    pos = walk.skip(pos, max(length, 0))  # the client's id: a short string, in every version
    if flexible:
        pos = _tags({})(walk, pos)
    _body(request, version)(walk, pos)
    return most - walk.elements


@cache
def _body(request: Any, version: int) -> Step:
    """Cached, because the same few classes and versions are used again and again."""
    flexible = request.flexible_version_q(version)
    return _struct(schema_of(request), version, compact=flexible, tagged=flexible)


def _struct(field: Any, version: int, *, compact: bool, tagged: bool | None) -> Step:
    """`tagged` None: a struct within a tagged field, whose own section of tags is always empty."""
    steps = [_value(each, version, compact=compact, tagged=tagged) for each in field.untagged_fields(version)]
    if tagged:
        known = tagged_of(field, version)
        steps.append(_tags({tag: _value(each, version, compact=True, tagged=None) for tag, each in known.items()}))
    elif tagged is None:
        steps.append(_no_tags)

    def step(walk: Walk, pos: int) -> int:
        for each in steps:
            pos = each(walk, pos)
        return pos

    return step


def _value(field: Any, version: int, *, compact: bool, tagged: bool | None) -> Step:
    nullable = field.nullable_for_version_q(version)
    if field.is_array():
        return _array(field, version, compact=compact, tagged=tagged)
    if field.is_struct():
        inner = _struct(field, version, compact=compact, tagged=tagged)
        return _perhaps(inner) if nullable else inner
    size = size_of(field)
    if isinstance(size, int):
        return lambda walk, pos: walk.skip(pos, size)
    return _text(field, field.name, compact=compact, nullable=nullable)


def _array(field: Any, version: int, *, compact: bool, tagged: bool | None) -> Step:
    count = _length(compact=compact, short=False)
    nullable, name, inner = field.nullable_for_version_q(version), field.name, field.array_of
    size = None if inner.is_struct() else size_of(inner)
    if inner.is_struct():
        each = _struct(inner, version, compact=compact, tagged=tagged)
    elif not isinstance(size, int):
        each = _text(inner, name, compact=compact, nullable=False)

    def step(walk: Walk, pos: int) -> int:
        many, pos = count(walk, pos)
        if many < 0:
            return _null(pos, many, name, nullable=nullable)
        if isinstance(size, int):
            walk.take(many, pos, size)
            return pos + many * size
        walk.take(many, pos)
        for _ in range(many):
            pos = each(walk, pos)
        return pos

    return step


def _text(field: Any, name: str, *, compact: bool, nullable: bool) -> Step:
    """A string, or bytes."""
    is_string = field.type_str == "string"
    length = _length(compact=compact, short=is_string)

    def step(walk: Walk, pos: int) -> int:
        size, pos = length(walk, pos)
        if is_string and size > _STRING_MAX:
            raise Garbage(f"{name} has {size} bytes")
        return walk.skip(pos, size) if size >= 0 else _null(pos, size, name, nullable=nullable)

    return step


def _null(pos: int, length: int, name: str, *, nullable: bool) -> int:
    if length != -1 or not nullable:
        raise Garbage(f"{name} has a length of {length}")
    return pos


def _length(*, compact: bool, short: bool) -> Callable[[Walk, int], tuple[int, int]]:
    """Reads a length or a count; -1 is null."""
    if not compact:
        kind = _SHORT if short else _INT
        return lambda walk, pos: walk.fixed(pos, kind)

    def length(walk: Walk, pos: int) -> tuple[int, int]:
        value, pos = walk.varint(pos)
        return value - 1, pos

    return length


def _perhaps(inner: Step) -> Step:
    """A nullable struct, with a byte before it: 255 for null."""

    def step(walk: Walk, pos: int) -> int:
        end = walk.skip(pos, 1)
        return end if walk.data[pos] == 0xFF else inner(walk, end)

    return step


def _tags(known: dict[int, Step]) -> Step:
    def step(walk: Walk, pos: int) -> int:
        many, pos = walk.varint(pos)
        if many == 0:
            return pos
        walk.take(many + (len(walk.data) - pos) // _PAGE, pos, 0)
        for _ in range(many):
            tag, pos = walk.varint(pos)
            size, pos = walk.varint(pos)
            end = walk.skip(pos, size)
            if tag in known and known[tag](walk, pos) != end:
                raise Garbage(f"tagged field {tag} is not as long as it says")
            pos = end
        return pos

    return step


def _no_tags(walk: Walk, pos: int) -> int:
    many, pos = walk.varint(pos)
    if many:
        raise Garbage(f"{many} tagged fields where there are none")
    return pos
