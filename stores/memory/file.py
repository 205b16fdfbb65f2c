"""The file that a memory server is saved to: a JSON tree.

    {"format": "kedge-memory-tree", "format_version": 1, "versioning": "global", "revision": 17, "sha256": "<64 hex>",
     "keys": {
      "/controller_epoch": {"value": "7", "version": 12, "generation": 6, "created": 1},
      "/some/bytes": {"value_base64": "/w==", "version": 17, "generation": 0, "created": 17}
     }}

Rules
* One key a line, sorted, so that two files can be compared with `diff`. Values are text where they are UTF-8, else
  base64. Ephemeral keys are not written: their sessions end with the process.
* `sha256` is taken over the compact JSON (sorted members, ASCII) of the whole object without that member, so that a
  file which was only laid out anew still loads, and one that was torn or edited does not.
* `"consistent"` may stand in the header: whether the keys were read from a store at one instant (`stores.transfer` says
  so). A server's own snapshot always is, and does not say it.
* `revision` is never below any version or `created`, so that what is written after a load is newer.
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

from stores.base import Corrupt, InvalidKey
from stores.checks import check_key
from stores.memory.table import Row
from stores.reading import parse_json, read_whole

_FORMAT: Final = "kedge-memory-tree"
_FORMAT_VERSION: Final = 1
_NUMBER_MAX: Final = 2**62
_HEADER: Final = {"format", "format_version", "versioning", "revision", "sha256", "keys"}
_MAY_STAND: Final = {"consistent"}


@attrs.frozen
class Image:
    """All that a file holds. `consistent`: whether it was one instant, None where the file does not say."""

    versioning: Literal["global", "per_key"]
    revision: int
    rows: dict[str, Row]
    consistent: bool | None = None


def write_image(path: Path, image: Image) -> None:
    """Replace `path` by a file that holds `image`, or leave it as it was and raise OSError, which names it."""
    try:
        _replace(path, image)
    except OSError as error:
        error.filename = str(path)  # not the temporary file, which is gone, nor none, as where a disk is full
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
    """What `write_image` wrote. Raises Corrupt for anything else, OSError if it cannot be read."""
    return parse_image(read_whole(path), str(path))


def parse_image(data: bytes, source: str) -> Image:
    """The image in `data`; `source` names it in the error. Raises Corrupt."""
    try:
        document = parse_json(data)
    except ValueError as error:
        raise Corrupt(f"{source}: not a whole JSON file: {error}") from error
    return image_of(document, source)


def image_of(document: Any, source: str) -> Image:
    """`parse_image`, of JSON that was read already. Raises Corrupt."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise Corrupt(f"{source}: not a snapshot of a memory store (no format {_FORMAT!r})")
    if document.get("format_version") != _FORMAT_VERSION:
        raise Corrupt(
            f"{source}: format_version {document.get('format_version')!r}, this library reads {_FORMAT_VERSION}"
        )
    if set(document) - _MAY_STAND != _HEADER:
        raise Corrupt(f"{source}: the members should be {sorted(_HEADER)}, found {sorted(document)}")
    document = dict(document)
    try:
        _demand(document.pop("sha256") == _digest(document), source, "the checksum does not fit: the file was changed")
    except RecursionError:  # it may be read to a greater depth than it can be written
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
    _demand(isinstance(fields, dict) and len(fields) == 4, source, f"{key}: an object of four members was expected")
    value = _value(key, fields, source)
    version, generation, created = fields.get("version"), fields.get("generation"), fields.get("created")
    _demand(_is_number(generation, 0), source, f"{key}: generation {generation!r}")
    # A per-key version may be above the revision only if generations were planted, so the bound is on numbers alone.
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
        raise Corrupt(f"{source}: {key}: a broken value: {error}", key=key) from error
    raise Corrupt(f"{source}: {key}: neither value nor value_base64 is a text", key=key)


def encode_image(image: Image) -> bytes:
    """The file's bytes. Rows that a session owns are left out."""
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
