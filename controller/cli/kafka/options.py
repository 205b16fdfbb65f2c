"""Options of every command that connects to brokers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs
import click

from controller.cli.options import CONNECTION, T, group, option

PROPERTIES: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_ADDRESS: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:,/\[\]]+):([0-9]{1,5})")


class Whole(click.IntRange):
    """A whole number within a range. An error names it so, where click says "not a valid integer range"."""

    name = "whole number"


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
            help="Brokers to connect to first: of `kedge serve` or of Kafka. Required.",
        ),
        option("--command-config", type=PROPERTIES, help="Properties file for TLS, SASL and timeouts."),
    )(command)


def action(name: str, does: str) -> Callable[[T], T]:
    """Adds the option of an action; argument `action`, all that are given."""
    value = name.removeprefix("--").replace("-", "_")
    return option(name, "action", flag_value=value, multiple=True, group="Actions (give exactly one)", help=does)


def checked_servers(given: str) -> str:
    """The list without blanks. ValueError names what is not HOST:PORT."""
    servers = [server.strip() for server in given.split(",")]
    for server in servers:
        found = _ADDRESS.fullmatch(server)
        if found is None or not 0 < int(found[1]) < 65536:
            raise ValueError(f"{server!r} is not HOST:PORT")
    return ",".join(servers)


def _checked(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is None:
        return None
    try:
        return checked_servers(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
