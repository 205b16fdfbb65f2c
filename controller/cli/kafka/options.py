"""Options of every command that speaks to brokers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import click

_F = TypeVar("_F", bound=Callable[..., Any])
_ADDRESS: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:,/\[\]]+):([0-9]{1,5})")


class Whole(click.IntRange):
    """A whole number within a range; what is none is told in words, not in click's "not a valid integer range"."""

    name = "whole number"


@attrs.frozen
class Endpoint:
    """Where a command goes. `servers`: HOST:PORT[,...]; `config_file`: properties with Java's names (security.py)."""

    servers: str
    config_file: Path | None = None


def endpoint_options(command: _F) -> _F:
    """Adds --bootstrap-server and --command-config; arguments `bootstrap_server` and `command_config`."""
    command = click.option(
        "--command-config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Properties of the connection, with the names that Kafka's tools take: TLS, SASL, timeouts.",
    )(command)
    return click.option(
        "--bootstrap-server",
        metavar="HOST:PORT[,...]",
        callback=_checked,
        help="Brokers to connect to first: of Kedge's gateway or of a Kafka cluster.",
    )(command)


def json_option(command: _F) -> _F:
    """Adds --json; argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")(command)


def checked_servers(given: str) -> str:
    """The list without blanks. ValueError names what is no HOST:PORT."""
    servers = [server.strip() for server in given.split(",")]
    for server in servers:
        found = _ADDRESS.fullmatch(server)
        if found is None or not 0 < int(found[1]) < 65536:
            raise ValueError(f"{server!r} is no HOST:PORT")
    return ",".join(servers)


def _checked(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is None:
        return None
    try:
        return checked_servers(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
