"""`kedge store diff A B`: which keys two trees do not have alike, of stores or of files.

* Keys and values count alone: versions, checksums and times are each store's own, so that files of equal trees differ.
* Ephemeral keys and secrets are left out, as `dump` leaves them out.
* Exit code: 0 they are alike, 1 they differ, 2 one of them cannot be read. Nothing is written.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping
from typing import Final

import click

from controller.cli.printing import clean
from controller.cli.store.opening import SECRETS, dumped, is_url, opened, read_file
from stores import public_url

_SIGNS: Final = {"gone": "-", "new": "+", "other": "~"}


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def diff(before: str, after: str, *, as_json: bool) -> None:
    """Say which keys stand only in A (-), only in B (+), or hold another value there (~).

    A and B are urls of stores, or files as kedge store load takes them. Exit code 1 if they differ.
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
