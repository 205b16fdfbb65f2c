"""`kedge store load FILE URL`: writes the keys of a file into an empty store.

The file is checked to its end, and the store read, before the first write. Nothing is overwritten. No store takes that
many keys in one commit; --resume continues a load that broke off, if what is there equals the file.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import NoReturn

import click

from controller.cli.options import command, json_option, option, plain_option, quiet_option
from controller.cli.printing import clean, fail, is_quiet, say, without_place
from controller.cli.store.opening import CALL_S, bar, opened, read_file
from stores import MetadataStore, StoreError, public_url, transfer


@command("load", example="kedge store load backup.json etcd://localhost:2379/kedge")
@click.argument("file", metavar="FILE")
@click.argument("url", metavar="URL")
@option("--resume", is_flag=True, help="Continue a load of this file that broke off.")
@json_option("Print what was done as one JSON object.")
@plain_option
@quiet_option
def load(file: str, url: str, *, resume: bool, as_json: bool, plain: bool) -> None:
    """Write the keys of a JSON file into an empty store.

    FILE is the output of `kedge store dump`, the file of a memory store, or the recorded keys of a ZooKeeper; "-" is
    stdin. Ephemeral keys, and nodes without data above others, are left out. All versions start at 1.

    Exit code: 0 all keys are written; 1 the load broke off, --resume continues it; 2 nothing was written.
    """
    if url == "memory:":
        fail("memory: is lost when the command ends; use memory:FILE")
    gc.disable()  # hundreds of thousands of values are made, and all of them stay until the end
    try:
        tree = read_file(file)
        _look_into_file(url, tree, resume=resume)
        with opened(url, read_only=False) as store, bar("loading", shown=not plain) as told:
            put = _load(store, url, tree, resume=resume, told=told)
    finally:
        gc.enable()
    _say(file, url, tree, put, as_json=as_json)


def _look_into_file(url: str, tree: transfer.Tree, *, resume: bool) -> None:
    """A memory store writes its file when it is closed, whatever was done: so it is asked before it is opened for that,
    by one that does not."""
    if not url.startswith("memory:"):
        return
    there = Path(url.removeprefix("memory:")).exists()
    with opened(url if there else "memory:", read_only=there) as store:
        try:
            transfer.may_load(store, tree.values, resume=resume, timeout_s=CALL_S)
        except StoreError as error:
            _refused(url, error)


def _load(store: MetadataStore, url: str, tree: transfer.Tree, *, resume: bool, told: transfer.Told) -> int:
    stand = 0

    def hear(done: int, total: int) -> None:
        nonlocal stand
        stand = done
        told(done, total)

    try:
        return transfer.load(store, tree.values, resume=resume, timeout_s=CALL_S, told=hear)
    except transfer.BrokenOff as error:
        doubt = f", of {error.unknown} more it is not known" if error.unknown else ""
        _broken_off(url, f"{stand} of {len(tree.values)} keys stand there{doubt}: {without_place(error)}")
    except StoreError as error:
        _refused(url, error)
    except KeyboardInterrupt:
        _broken_off(url, f"interrupted; {stand} or more of {len(tree.values)} keys are written")


def _refused(url: str, error: StoreError) -> NoReturn:
    fail(f"{public_url(url)}: {without_place(error)}; nothing was written")


def _broken_off(url: str, what: str) -> NoReturn:
    say(f"{public_url(url)}: broke off: {what}; --resume continues")
    sys.exit(1)


def _say(file: str, url: str, tree: transfer.Tree, put: int, *, as_json: bool) -> None:
    if as_json:
        done = {
            "store": public_url(url),
            "file": file,
            "format": tree.format,
            "keys": len(tree.values),
            "put": put,
            "ephemerals_left_out": tree.ephemerals,
            "empty_nodes_left_out": tree.hollow,
            "consistent": tree.consistent,
        }
        click.echo(json.dumps(done, separators=(",", ":")))
        return
    left = [(tree.ephemerals, "ephemeral keys"), (tree.hollow, "parents without data")]
    told = ", ".join(f"{count} {what} left out" for count, what in left if count)
    before = "" if put == len(tree.values) else f", {len(tree.values) - put} were there before"
    instant = "; the file is NOT an atomic snapshot" if tree.consistent is False else ""
    line = f"{put} keys put into {public_url(url)}{before}{f'; {told}' if told else ''}{instant}"
    if instant or not is_quiet():
        click.echo(clean(line))
