"""Options of every command that connects to brokers, and the JSON files and broker lists that operators give.

Files have the messages of Kafka's tools, and are checked before the first request to a cluster: those functions raise
Failed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import click

from ...model import numerals
from ...model.values import TopicPartition
from ..options import CONNECTION, T, group, option
from ..printing import ids, one_line
from .errors import Failed

PROPERTIES: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_ADDRESS: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:,/\[\]]+):([0-9]{1,5})")


@attrs.frozen
class Endpoint:
    """What a command connects to. `servers`: HOST:PORT[,...]; `config_file`: properties with Java's names."""

    servers: str
    config_file: Path | None = None


def endpoint_options(command: T) -> T:
    """Adds --bootstrap-server and --command-config; arguments `bootstrap_server` and `command_config`."""
    return group(
        CONNECTION,
        option(
            "--bootstrap-server",
            metavar="HOST:PORT[,...]",
            callback=_checked,
            help="Brokers of `kedge serve` or Kafka to ask first. Required.",
        ),
        option("--command-config", type=PROPERTIES, help="Properties file for TLS, SASL and timeouts."),
    )(command)


def action(name: str, does: str) -> Callable[[T], T]:
    """Adds the option of an action; argument `action`, all that are given."""
    value = name.removeprefix("--").replace("-", "_")
    return option(name, "action", flag_value=value, multiple=True, group="Actions (give exactly one)", help=does)


def checked_servers(given: str) -> str:
    servers = numerals.items(given)
    for server in servers:
        found = _ADDRESS.fullmatch(server)
        if found is None or numerals.whole(found[1], 1, 65_535) is None:
            raise ValueError(f"{server!r} is not HOST:PORT")
    return ",".join(servers)


def _checked(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is None:
        return None
    try:
        return checked_servers(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


VERSION: Final = 1


def read_bytes(path: Path) -> bytes:
    from ....stores.reading import read_whole  # noqa: PLC0415 - stores are loaded where a file is read

    try:
        data = read_whole(path)
    except OSError as error:
        raise Failed(f"Unable to read file {path}: {error.strerror or one_line(error)}") from None
    if not data.strip():
        raise Failed("The input string shouldn't be empty")
    return data


def parse_object(data: str | bytes, source: object = "the text") -> dict[str, Any]:
    """The object in a text, of version 1 or without one. Raises Failed; of a duplicate name with `source`."""
    from ....stores.reading import TwiceError, parse_json  # noqa: PLC0415 - as above

    try:
        found = parse_json(data)
    except TwiceError as error:
        raise Failed(f"{source}: {error}") from None
    except ValueError as error:
        raise Failed(f"Failed to parse the JSON: {error}") from None
    if type(found) is not dict:
        raise Failed(f"Expected a JSON object, got {shown(found)}")
    version = found.get("version", VERSION)
    if type(version) is not int or version != VERSION:
        raise Failed(f"Not supported version field value {shown(version)}")
    return found


def items(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list that may be missing."""
    listed = found.get(name, [])
    if type(listed) is not list:
        raise Failed(f"{name}: expected a list, got {shown(listed)}")
    for item in listed:
        if type(item) is not dict:
            raise Failed(f"{name}: expected objects, got {shown(item)}")
    return listed


def string(raw: object, where: str) -> str:
    if type(raw) is not str or not raw:
        raise Failed(f"{where}: expected a string, got {shown(raw)}")
    return raw


def integer(raw: object, where: str) -> int:
    """The same, if it is an id of a broker or a partition."""
    if type(raw) is not int or not 0 <= raw <= numerals.INT_MAX:
        raise Failed(f"{where}: expected a number from 0 to {numerals.INT_MAX}, got {shown(raw)}")
    return raw


def partition_of(raw: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(string(raw.get("topic"), "topic"), integer(raw.get("partition"), "partition"))


def shown(raw: object) -> str:
    return json.dumps(raw)[:80]


def no_duplicates(names: Sequence[object], problem: str) -> None:
    if found := repeated(names):
        raise Failed(f"{problem}{ids(found)}")


def repeated(names: Sequence[object]) -> list[object]:
    return [item for item, times in Counter(names).items() if times > 1]


def parse_brokers(text: str) -> list[int]:
    """The ids of a `--broker-list`: 1,2,3. Raises Failed."""
    brokers = []
    for word in numerals.items(text):
        broker = numerals.whole(word, 0, numerals.INT_MAX)
        if broker is None:
            raise Failed(f"{word!r:.80} in the broker list is not a broker id")
        brokers.append(broker)
    if several := repeated(brokers):
        raise Failed(f"Broker list contains duplicate entries: [{', '.join(map(str, several))}]")
    return brokers
