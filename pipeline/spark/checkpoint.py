"""The checkpoint of a stream: a folder of Spark's, with a file that holds the stream's id and the version."""

from __future__ import annotations

import json
from typing import Final
from uuid import uuid4

from ..audit.kept import VERSION
from ..errors import BadInput
from ..tables.location import Location

MARK: Final = "kedge-audit.json"


def claimed(folder: Location) -> str:
    """The id of the stream whose checkpoint the folder is; for an empty or missing folder a new one, which is written.
    Raises BadInput, without a change, if the folder is no checkpoint, or one of another version."""
    names = folder.names("")
    if MARK not in names:
        if names:
            raise BadInput(f"{folder}: the folder is neither empty nor a checkpoint of kedge journal audit --follow")
        identity = uuid4().hex
        folder.write(MARK, json.dumps({"version": VERSION, "id": identity}).encode())
        return identity
    try:
        mark = json.loads(folder.bytes_of(MARK))
        version, identity = mark["version"], str(mark["id"])
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{folder.where(MARK)}: the file cannot be read") from None
    if version != VERSION:
        text = f"the checkpoint has version {version}, this kedge version {VERSION}: begin with an empty folder"
        raise BadInput(f"{folder}: {text}")
    return identity
