"""Checks that every backend makes before it sends anything: keys, prefixes, ops against its limits, seconds in its url.

`kedge.stores.base` defines which keys and ops are valid.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Final

from .base import ABSENT, PRESENT, Capabilities, Check, Delete, Invalid, InvalidKey, Op, Put, TooLarge

_SEGMENTS: Final = re.compile(r"(?:/[A-Za-z0-9._<>-]+)+")
_KEY_CHARACTERS_MAX: Final = 1024
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SECONDS_CHARACTERS_MAX: Final = 100


def check_key(key: str) -> None:
    """Raise InvalidKey unless `key` is a key as the contract defines it."""
    if not isinstance(key, str) or len(key) > _KEY_CHARACTERS_MAX or _SEGMENTS.fullmatch(key) is None:
        raise InvalidKey(f"not a key: {key!r:.200}", key=key if isinstance(key, str) else None)
    if "/." in key and ("/./" in f"{key}/" or "/../" in f"{key}/"):
        raise InvalidKey(f"a segment of a key must not be '.' or '..': {key}", key=key)


def check_prefix(prefix: str) -> None:
    """Raise InvalidKey unless `prefix` is a key or the root "/"."""
    if prefix != "/":
        check_key(prefix)


def below(prefix: str) -> str:
    """The beginning of all keys below `prefix`."""
    return "/" if prefix == "/" else prefix + "/"


def parent(key: str) -> str:
    """The key one level up; "/" for a key of one segment."""
    return key.rpartition("/")[0] or "/"


def seconds_of(text: str) -> float | None:
    """A number in a url, such as 10 or 0.5; None for any other text: float() also reads 1_0, +3 and digits of other
    scripts. The commands have this grammar in `kedge.controller.model.numerals`, which a store does not import."""
    known = len(text) <= _SECONDS_CHARACTERS_MAX and _SECONDS.fullmatch(text) is not None
    return float(text) if known else None


OP_BYTES_FIXED: Final = 64  # an upper bound, for all backends, of what an op takes beside its key and value


def op_bytes(op: Op) -> int:
    """The size of `op` for `commit_bytes_max`: an upper bound of its bytes in the protocol of any backend."""
    value_bytes = len(op.value) if isinstance(op, Put) else 0
    return OP_BYTES_FIXED + len(op.key) + value_bytes


def check_ops(ops: Sequence[Op], capabilities: Capabilities, known: Container[str] = ()) -> None:  # noqa: C901, PLR0912 - one loop, for speed
    """Raise InvalidKey, Invalid or TooLarge if a backend with `capabilities` does not accept `ops`. `known`: keys that
    were checked before; checking their characters again would be half of the cost."""
    if len(ops) > capabilities.commit_ops_max:
        raise TooLarge(f"a commit of {len(ops)} ops exceeds the store's limit of {capabilities.commit_ops_max}")
    value_bytes_max = capabilities.value_bytes_max
    total_bytes = OP_BYTES_FIXED * len(ops)
    for op in ops:  # 0.8 us an op; a function per kind of op took 1.4
        kind = type(op)
        if kind is not Put and kind is not Check and kind is not Delete:
            raise Invalid(f"not an op: {op!r:.200}")
        key = op.key
        if type(key) is not str or key not in known:
            check_key(key)
        total_bytes += len(key)
        expect = op.expect
        if expect is not ABSENT and expect is not PRESENT and (type(expect) is not int or expect < 1):
            raise Invalid(f"{key}: expect must be ABSENT, PRESENT or a Version, not {expect!r}", key=key)
        if type(op) is Put:
            if type(op.value) is not bytes:
                raise Invalid(f"{key}: a value must be bytes, not {type(op.value).__name__}", key=key)
            value_bytes = len(op.value)
            if value_bytes > value_bytes_max:
                raise TooLarge(f"{key}: a value of {value_bytes} bytes exceeds the limit of {value_bytes_max}", key=key)
            total_bytes += value_bytes
        elif expect is ABSENT and kind is Delete:
            raise Invalid(f"{key}: a Delete cannot expect ABSENT", key=key)
    if total_bytes > capabilities.commit_bytes_max:
        raise TooLarge(f"a commit of {total_bytes} bytes exceeds the store's limit of {capabilities.commit_bytes_max}")
    if len({op.key for op in ops}) != len(ops):
        raise _duplicate(ops)


def _duplicate(ops: Sequence[Op]) -> Invalid:
    keys = [op.key for op in ops]
    key = next(key for index, key in enumerate(keys) if key in keys[:index])
    return Invalid(f"a commit has two ops for {key}", key=key)
