"""The file that a memory server is saved to: a JSON tree.

    {"format": "kedge-memory-tree", "format_version": 1, "versioning": "global", "revision": 17, "sha256": "<64 hex>",
     "keys": {
      "/controller_epoch": {"value": "7", "version": 12, "generation": 6, "created": 1},
      "/some/bytes": {"value_base64": "/w==", "version": 17, "generation": 0, "created": 17}
     }}

Rules
* One key per line, sorted, so that `diff` can compare two files. Values are text if they are UTF-8, otherwise base64.
  Ephemeral keys are not written, since their sessions end with the process.
* `sha256` is computed over the compact JSON (sorted members, ASCII) of the whole object without that member. A file
  that was only reformatted still loads; a torn or edited one does not.
* The header may have `"consistent"`: whether the keys were read from a store at one instant (`kedge.stores.transfer`
  writes it). A server's own snapshot always is consistent and leaves it out.
* `revision` is at least every version and `created`, so that what is written after a load is newer.
* Writing is atomic: a temporary file in the same folder, fsync, rename, fsync of the folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final, Literal, cast

import attrs

from ..base import Corrupt, InvalidKey
from ..checks import check_key
from ..reading import parse_json, read_whole
from .table import Row

_FORMAT: Final = "kedge-memory-tree"
_FORMAT_VERSION: Final = 1
_NUMBER_MAX: Final = 2**62
_HEADER: Final = {"format", "format_version", "versioning", "revision", "sha256", "keys"}
_MAY_STAND: Final = {"consistent"}


@attrs.frozen
class Image:
    """The content of a file. `consistent`: whether it is of one instant, None if the file does not say."""

    versioning: Literal["global", "per_key"]
    revision: int
    rows: dict[str, Row]
    consistent: bool | None = None


def write_image(path: Path, image: Image) -> None:
    """Replace `path` by a file with `image`. If that fails, the old file stays, and OSError names `path`."""
    try:
        _replace(path, image)
    except OSError as error:
        error.filename = str(path)  # not the removed temporary file; on a full disk, the system names no file
        raise


def _replace(path: Path, image: Image) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode_image(image))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_image(path: Path) -> Image:
    """The content of a file by `write_image`. Raises Corrupt for other content, OSError if it cannot be read."""
    return parse_image(read_whole(path), str(path))


def parse_image(data: bytes, source: str) -> Image:
    """The image in `data`; errors name it as `source`. Raises Corrupt."""
    try:
        document = parse_json(data)
    except ValueError as error:
        raise Corrupt(f"{source}: not a whole JSON file: {error}") from error
    return image_of(document, source)


def image_of(document: Any, source: str) -> Image:
    """`parse_image` of JSON that was parsed already. Raises Corrupt."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise Corrupt(f"{source}: not a snapshot of a memory store (no format {_FORMAT!r})")
    if document.get("format_version") != _FORMAT_VERSION:
        raise Corrupt(f"{source}: format_version must be {_FORMAT_VERSION}, not {document.get('format_version')!r}")
    if set(document) - _MAY_STAND != _HEADER:
        raise Corrupt(f"{source}: the members must be {sorted(_HEADER)}, not {sorted(document)}")
    document = dict(document)
    try:
        _demand(document.pop("sha256") == _digest(document), source, "wrong checksum: the file was changed")
    except RecursionError:  # json reads deeper nesting than it writes
        raise Corrupt(f"{source}: lists or objects are nested too deeply in it") from None
    return _image(document, source)


def _image(document: dict[str, Any], source: str) -> Image:
    versioning, revision, keys = document["versioning"], document["revision"], document["keys"]
    _demand(versioning in ("global", "per_key"), source, f"versioning {versioning!r}")
    _demand(_is_number(revision, 0), source, f"revision {revision!r}")
    _demand(isinstance(keys, dict), source, "keys is not an object")
    consistent = document.get("consistent")
    _demand(isinstance(consistent, bool) or "consistent" not in document, source, f"consistent {consistent!r:.40}")
    rows = {key: _row(key, fields, revision, source) for key, fields in keys.items()}
    return Image(cast(Literal["global", "per_key"], versioning), revision, rows, consistent)


def _row(key: str, fields: Any, revision: int, source: str) -> Row:
    try:
        check_key(key)
    except InvalidKey as error:
        raise Corrupt(f"{source}: {error}") from error
    _demand(isinstance(fields, dict) and len(fields) == 4, source, f"{key}: expected an object of four members")
    value = _value(key, fields, source)
    version, generation, created = fields.get("version"), fields.get("generation"), fields.get("created")
    _demand(_is_number(generation, 0), source, f"{key}: generation {generation!r}")
    # With planted generations, a per-key version may exceed the revision, so only its range is checked.
    _demand(_is_number(version, 1), source, f"{key}: version {version!r}")
    _demand(_is_number(created, 1) and created <= revision, source, f"{key}: created {created!r}")
    return (value, version, generation, created, None)


def _value(key: str, fields: dict[str, Any], source: str) -> bytes:
    text, encoded = fields.get("value"), fields.get("value_base64")
    try:
        if isinstance(text, str):
            return text.encode()
        if isinstance(encoded, str):
            return base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise Corrupt(f"{source}: {key}: broken value: {error}", key=key) from error
    raise Corrupt(f"{source}: {key}: neither value nor value_base64 is a string", key=key)


def encode_image(image: Image) -> bytes:
    """The bytes of the file, without ephemeral keys."""
    keys = {key: _fields(row) for key, row in sorted(image.rows.items()) if row[4] is None}
    document: dict[str, Any] = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "versioning": image.versioning,
        "revision": image.revision,
        "keys": keys,
    }
    if image.consistent is not None:
        document["consistent"] = image.consistent
    header = {name: member for name, member in document.items() if name != "keys"} | {"sha256": _digest(document)}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(fields, ensure_ascii=False)}" for key, fields in keys.items())
    return f'{json.dumps(header)[:-1]},\n"keys": {{\n{lines}\n}}}}\n'.encode()


def _fields(row: Row) -> dict[str, Any]:
    value, version, generation, created, _ = row
    numbers = {"version": version, "generation": generation, "created": created}
    try:
        return {"value": value.decode(), **numbers}
    except UnicodeDecodeError:
        return {"value_base64": base64.b64encode(value).decode(), **numbers}


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _is_number(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= _NUMBER_MAX


def _demand(holds: object, source: str, what: str) -> None:
    if not holds:
        raise Corrupt(f"{source}: {what}")
