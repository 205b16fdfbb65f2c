"""`kedge store dump URL FILE`: writes all keys as one JSON file, in the format of the memory store's snapshot.

The file is the old one or the new one, never a part. Ephemeral keys and secrets (`opening.SECRETS`) are left out.
Whether the keys are an atomic snapshot is printed, and stored in the file.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import click

from controller.cli.options import command, json_option, plain_option, quiet_option
from controller.cli.printing import clean, fail, is_quiet, without_place
from controller.cli.store.opening import bar, dumped, opened
from stores import public_url
from stores.memory.file import Image, encode_image, write_image
from stores.memory.lock import locked


@command("dump", example="kedge store dump etcd://localhost:2379/kedge backup.json")
@click.argument("url", metavar="URL")
@click.argument("file", metavar="FILE")
@json_option("Print what was done as one JSON object.")
@plain_option
@quiet_option
def dump(url: str, file: str, *, as_json: bool, plain: bool) -> None:
    """Write all keys of a store to a JSON file.

    FILE is replaced if it exists; "-" is stdout. `kedge store load` puts the keys into another store, and memory:FILE
    opens the file as a store. Ephemeral keys and the secret of gateways are left out. The store is not changed.

    Exit code: 0 written; 2 the store cannot be read, or FILE cannot be written.
    """
    if file != "-" and not Path(file).absolute().parent.is_dir():
        fail(f"{file}: no such folder")
    gc.disable()  # hundreds of thousands of values are made, and all of them stay until the end
    try:
        with opened(url) as store, bar("reading", shown=not plain):
            found = dumped(url, store)
        _write(file, found.image)
    finally:
        gc.enable()
    _say({
        "store": public_url(url),
        "file": file,
        "keys": len(found.image.rows),
        "ephemerals_left_out": found.ephemerals,
        "consistent": found.image.consistent,
    }, as_json=as_json, to_stderr=file == "-")  # fmt: skip


def _write(file: str, image: Image) -> None:
    path = Path(file)
    try:
        if file == "-":
            out = sys.stdout.buffer
            out.write(encode_image(image))
            out.flush()
        elif path.exists() and not path.is_file():  # a pipe, a terminal: there is nothing to replace
            path.write_bytes(encode_image(image))
        else:
            unlock = locked(path, image)  # a process that has it open as its store would overwrite it
            try:
                write_image(path, image)
            finally:
                unlock()
    except OSError as error:
        fail(f"{'stdout' if file == '-' else file}: {without_place(error)}")


def _say(done: dict[str, Any], *, as_json: bool, to_stderr: bool) -> None:
    if as_json:
        click.echo(json.dumps(done, separators=(",", ":")), err=to_stderr)
        return
    atomic = "an atomic snapshot" if done["consistent"] else "NOT an atomic snapshot, because keys changed meanwhile"
    left = done["ephemerals_left_out"]
    left_out = f"; {left} ephemeral {'key' if left == 1 else 'keys'} left out" if left else ""
    to = "stdout" if to_stderr else done["file"]
    if not done["consistent"] or not is_quiet():
        click.echo(clean(f"{done['keys']} keys of {done['store']} written to {to}, {atomic}{left_out}"), err=to_stderr)
    sys.stdout.flush()
