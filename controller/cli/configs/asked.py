"""Whose settings are meant: options with Kafka's rules, and the value that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import click

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
LOGGERS: Final = "broker-loggers"
TYPES: Final = (TOPICS, BROKERS, LOGGERS)
DEFAULT: Final = ""
_FLAGS: Final = {"topic": TOPICS, "broker": BROKERS, "broker_logger": LOGGERS}
_INT32_MAX: Final = 2**31 - 1


@attrs.frozen
class Entities:
    """`name`: None is all of that type, DEFAULT what holds for all brokers."""

    type: str
    name: str | None

    @property
    def one(self) -> str:
        """The type, of one."""
        return self.type.removesuffix("s")


def entities(given: Mapping[str, Any], *, altered: bool) -> Entities:
    """Whose settings the options name. Raises UsageError, in Kafka's words where it has some."""
    by_flag = [Entities(type_, given[option]) for option, type_ in _FLAGS.items() if given[option] is not None]
    if any(found.name == "" for found in by_flag):
        raise click.UsageError("An entity name must not be empty")
    by_flag += [Entities(BROKERS, DEFAULT)] if given["broker_defaults"] else []
    general = given["entity_type"] or given["entity_name"] is not None or given["entity_default"]
    if by_flag and general:
        raise click.UsageError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    found = _one(by_flag, "At least one entity type must be specified") if by_flag else _general(given)
    _check_name(found)
    if altered and found.name is None:
        needed = "name or default entity" if found.type == BROKERS else "name"
        raise click.UsageError(f"An entity {needed} must be specified with --alter of {found.type}")
    if found.type == LOGGERS and found.name is None:
        raise click.UsageError(f"An entity name must be specified with --describe of {found.type}")
    return found


def _general(given: Mapping[str, Any]) -> Entities:
    type_ = _one(given["entity_type"], "At least one entity type must be specified")
    if type_ not in TYPES:
        known = ", ".join(TYPES)
        raise click.UsageError(
            f"Invalid entity type {type_}, the entity type must be one of {known} with a --bootstrap-server argument"
        )
    if given["entity_default"]:
        if given["entity_name"] is not None:
            raise click.UsageError("Only one of --entity-name and --entity-default can be given")
        return Entities(type_, DEFAULT)
    if given["entity_name"] == "":
        raise click.UsageError("An entity name must not be empty")
    return Entities(type_, given["entity_name"])


def _one(found: Sequence[Any], none: str) -> Any:
    if not found:
        raise click.UsageError(none)
    if len(found) > 1:
        raise click.UsageError("Only one entity type can be given")
    return found[0]


def _check_name(found: Entities) -> None:
    name = found.name
    if name is None:
        return
    if name == DEFAULT:
        if found.type != BROKERS:
            raise click.UsageError(f"There is no default of {found.type}: an entity name must be specified")
    elif found.type != TOPICS and not (name.isascii() and name.isdigit() and int(name[:11]) <= _INT32_MAX):
        raise click.UsageError(
            f"The entity name for {found.type} must be a valid integer broker id, but it is: {name:.80}"
        )
