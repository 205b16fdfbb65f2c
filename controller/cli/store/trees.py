"""`kedge store dump`, `load` and `diff`: all keys of a store, as a file, from a file, and compared.

* `dump` writes the format of the memory store's snapshot. The file is the old one or the new one, never a part.
  Ephemeral keys and secrets (`public`) are left out. Whether the keys are an atomic snapshot is printed, and stored
  in the file.
* `load` checks the file to its end, and reads the store, before the first write. Nothing is overwritten. No store takes
  that many keys in one commit; --resume continues a load that broke off, if what is there equals the file.
* `diff` compares keys and values alone, not versions and times, which each store has of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import attrs
import click

from ....stores import MetadataStore, StoreError, public_url, transfer
from ....stores.memory.file import Image, encode_image, write_image
from ....stores.memory.lock import locked
from ...model.plural import counted
from ..options import command, json_option, option, plain_option, quiet_option
from ..printing import clean, compact, fail, is_quiet, say, without_place
from .opening import CALL_S, bar, dumped, is_url, opened, read_file, uncollected
from .public import public

_NAMED_MAX: Final = 5  # sensitive configs
_SIGNS: Final = {"gone": "-", "new": "+", "other": "~"}


@command("dump", example="kedge store dump etcd://localhost:2379/kedge backup.json")
@click.argument("url", metavar="URL")
@click.argument("file", metavar="FILE")
@json_option("Print what was done as one JSON object.")
@plain_option
@quiet_option
def dump(url: str, file: str, *, as_json: bool, plain: bool) -> None:
    """Write all keys of a store to a JSON file.

    FILE is replaced if it exists; "-" is stdout. `kedge store load` puts the keys into another store, and memory:FILE
    opens the file as a store. Ephemeral keys, the secret of gateways and sensitive configs such as passwords are left
    out. The store is not changed.

    Exit code: 0 written; 2 the store cannot be read, or FILE cannot be written.
    """
    if file != "-" and not Path(file).absolute().parent.is_dir():
        fail(f"{file}: no such folder")
    with uncollected():
        with opened(url) as store, bar("reading", shown=not plain):
            found = dumped(url, store)
        values, hidden = public({key: row[0] for key, row in found.image.rows.items()})
        rows = {key: (values[key], *row[1:]) for key, row in found.image.rows.items() if key in values}
        _write(file, attrs.evolve(found.image, rows=rows))
    _say_dumped({
        "store": public_url(url),
        "file": file,
        "keys": len(rows),
        "ephemerals_left_out": found.ephemerals,
        "sensitive_left_out": hidden,
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


def _say_dumped(done: dict[str, Any], *, as_json: bool, to_stderr: bool) -> None:
    if as_json:
        click.echo(compact(done), err=to_stderr)
        return
    atomic = "an atomic snapshot" if done["consistent"] else "NOT an atomic snapshot, because keys changed meanwhile"
    ephemerals, hidden = done["ephemerals_left_out"], done["sensitive_left_out"]
    left = [counted(ephemerals, "ephemeral key")] if ephemerals else []
    left += [f"{counted(len(hidden), 'sensitive config')} ({_some(hidden)})"] if hidden else []
    left_out = f"; {', '.join(left)} left out" if left else ""
    to = "stdout" if to_stderr else done["file"]
    if not done["consistent"] or hidden or not is_quiet():
        held = f"{counted(done['keys'], 'key')} of {done['store']}"
        click.echo(clean(f"{held} written to {to}, {atomic}{left_out}"), err=to_stderr)
    sys.stdout.flush()


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


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
    with uncollected():
        tree = read_file(file)
        _look_into_file(url, tree, resume=resume)
        with opened(url, read_only=False) as store, bar("loading", shown=not plain) as told:
            put = _load(store, url, tree, resume=resume, told=told)
    _say_loaded(file, url, tree, put, as_json=as_json)


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
        doubt = f", {error.unknown} more may be written" if error.unknown else ""
        _broken_off(url, f"{stand} of {counted(len(tree.values), 'key')} written{doubt}: {without_place(error)}")
    except StoreError as error:
        _refused(url, error)
    except KeyboardInterrupt:
        _broken_off(url, f"interrupted; {stand} or more of {counted(len(tree.values), 'key')} written")


def _refused(url: str, error: StoreError) -> NoReturn:
    fail(f"{public_url(url)}: {without_place(error)}; nothing was written")


def _broken_off(url: str, what: str) -> NoReturn:
    say(f"{public_url(url)}: broke off: {what}; --resume continues")
    sys.exit(1)


def _say_loaded(file: str, url: str, tree: transfer.Tree, put: int, *, as_json: bool) -> None:
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
        click.echo(compact(done))
        return
    left = [counted(tree.ephemerals, "ephemeral key")] if tree.ephemerals else []
    left += [f"{counted(tree.hollow, 'parent')} without data"] if tree.hollow else []
    told = ", ".join(f"{what} left out" for what in left)
    before = "" if put == len(tree.values) else f", {len(tree.values) - put} were there before"
    instant = "; the file is NOT an atomic snapshot" if tree.consistent is False else ""
    line = f"{counted(put, 'key')} put into {public_url(url)}{before}{f'; {told}' if told else ''}{instant}"
    if instant or not is_quiet():
        click.echo(clean(line))


@command("diff", example="kedge store diff zookeeper://localhost:2181/kedge backup.json")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@json_option()
def diff(before: str, after: str, *, as_json: bool) -> None:
    """Print the keys that only one of two stores has, or that differ.

    A and B are URLs of stores, or files that `kedge store load` reads. A key is marked "-" if only A has it, "+" if
    only B has it, and "~" if the values differ. Nothing is written.

    Exit code: 0 equal; 1 different; 2 A or B cannot be read.
    """
    with uncollected():
        one, other = _values(before), _values(after)
        found = _differing(one, other)
    differing = sum(map(len, found.values()))
    if as_json:
        shown = {"a": public_url(before), "b": public_url(after), "keys": [len(one), len(other)], **found}
        click.echo(compact(shown))
    else:
        for key, what in sorted((key, what) for what, keys in found.items() for key in keys):
            click.echo(f"{_SIGNS[what]} {clean(key)}")
        count = "1 differs" if differing == 1 else f"{differing or 'none'} differ"
        click.echo(f"{len(one)} and {counted(len(other), 'key')}, {count}")
    sys.exit(1 if differing else 0)


def _differing(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> dict[str, list[str]]:
    return {
        "gone": sorted(one.keys() - other.keys()),
        "new": sorted(other.keys() - one.keys()),
        "other": sorted(key for key in one.keys() & other.keys() if one[key] != other[key]),
    }


def _values(place: str) -> Mapping[str, bytes]:
    if not is_url(place):
        return public(read_file(place).values)[0]
    with opened(place) as store:
        return public({key: row[0] for key, row in dumped(place, store).image.rows.items()})[0]
