"""`kedge store dump URL FILE`: the whole tree as one JSON file, in the format of the memory store's snapshot.

* The file is the old one or the new one, never a part; without a word on stdout when it is stdout itself (`-`).
* Ephemeral keys are left out and counted, and secrets are left out (`opening.SECRETS`). Whether the keys are of one
  instant is said, and stands in the file.
* Exit code: 0 written, 2 the store cannot be read, or the file not be written.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import click

from controller.cli.printing import clean, fail, without_place
from controller.cli.store.opening import bar, dumped, opened
from stores import public_url
from stores.memory.file import Image, encode_image, write_image
from stores.memory.lock import locked


@click.command()
@click.argument("url", metavar="URL")
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Say what was done as one JSON object.")
@click.option("--plain", is_flag=True, help="No progress bar; so it is, too, where stderr is no terminal.")
def dump(url: str, file: str, *, as_json: bool, plain: bool) -> None:
    """Write the whole tree of a store to FILE ("-": stdout), as JSON. A FILE that exists is replaced.

    The format is that of the memory store's snapshot: memory:FILE opens it, kedge store load puts it into another
    store. Nothing is written to the store. Ephemeral keys, and the secret of its gateways, are left out.
    """
    if file != "-" and not Path(file).absolute().parent.is_dir():
        fail(f"{file}: there is no such folder")
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
    instant = "of one instant" if done["consistent"] else "NOT of one instant: the tree changed while it was read"
    left = done["ephemerals_left_out"]
    left_out = f"; {left} ephemeral {'key' if left == 1 else 'keys'} left out" if left else ""
    to = "stdout" if to_stderr else done["file"]
    line = f"{done['keys']} keys of {done['store']} written to {to}, {instant}{left_out}"
    click.echo(clean(line), err=to_stderr)
    sys.stdout.flush()
