"""`kedge store diff A B`: the keys in which two stores or files differ.

Only keys and values are compared, not versions and times, which each store has of its own. Ephemeral keys and secrets
are left out, as `dump` leaves them out.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping
from typing import Final

import click

from controller.cli.options import command, json_option
from controller.cli.printing import clean
from controller.cli.store.opening import SECRETS, dumped, is_url, opened, read_file
from stores import public_url

_SIGNS: Final = {"gone": "-", "new": "+", "other": "~"}


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
    gc.disable()  # hundreds of thousands of values are made, and all of them stay until the end
    try:
        one, other = _values(before), _values(after)
        found = _differing(one, other)
    finally:
        gc.enable()
    differing = sum(map(len, found.values()))
    if as_json:
        shown = {"a": public_url(before), "b": public_url(after), "keys": [len(one), len(other)], **found}
        click.echo(json.dumps(shown, separators=(",", ":")))
    else:
        for key, what in sorted((key, what) for what, keys in found.items() for key in keys):
            click.echo(f"{_SIGNS[what]} {clean(key)}")
        click.echo(f"{len(one)} and {len(other)} keys, {differing or 'none'} differ")
    sys.exit(1 if differing else 0)


def _differing(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> dict[str, list[str]]:
    return {
        "gone": sorted(one.keys() - other.keys()),
        "new": sorted(other.keys() - one.keys()),
        "other": sorted(key for key in one.keys() & other.keys() if one[key] != other[key]),
    }


def _values(place: str) -> Mapping[str, bytes]:
    if not is_url(place):
        return {key: value for key, value in read_file(place).values.items() if key not in SECRETS}
    with opened(place) as store:
        return {key: row[0] for key, row in dumped(place, store).image.rows.items()}
