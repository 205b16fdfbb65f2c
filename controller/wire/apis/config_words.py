"""Error messages about settings in Kafka's wording, because tools print them unchanged.

The rules decide, with messages of their own; here Kafka's message is built from the request. Errors for which Kafka has
no message keep that of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model.config_requests import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from ...model.configs import BROKER_CONFIGS, TOPIC_CONFIGS, AnyOf, ConfigKind, Definition, OneOf, Whole
from ...model.errors import ErrorCode
from ...model.requests import BROKER_ID_MAX
from ...model.throttle_configs import LIST_SEPARATOR, LISTS, LONG_MAX, list_elements, trimmed, whole_number
from ...rules.topics import misspelt
from .answering import Outcome

_INT_MAX: Final = 2**31 - 1
_ENDS: Final = {ConfigKind.INT: _INT_MAX, ConfigKind.LONG: LONG_MAX}
_PAIRS: Final = (
    "must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)


def as_kafka(said: Outcome, resource: ConfigResource, ops: Sequence[AlterConfigOp] = (), what: str = "Node") -> Outcome:
    """The outcome of a request about settings, with Kafka's message. `what`: Kafka's noun for a bad broker id."""
    words: str | None = None
    if said.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        if problem := misspelt(resource.name):
            return Outcome(None, ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
        words = f"The topic '{resource.name}' does not exist."
    elif said.error_code == ErrorCode.INVALID_CONFIG:
        words = next((words for op in ops if (words := _refused(resource, op))), None)
    elif said.error_code == ErrorCode.INVALID_REQUEST and resource.type is ConfigResourceType.BROKER:
        words = _no_broker(resource.name, what)
    return said if words is None else Outcome(None, said.error_code, words)


def unknown_topic_config(name: str) -> str:
    return f"Unknown topic config name: {name}"


def invalid_value(definition: Definition, value: str) -> str | None:
    """Why a setting may not have a value; None where it may."""
    if definition.check(value) is None:
        return None
    shown, why = _wrong(definition, value)
    return f"Invalid value {shown} for configuration {definition.name}: {why}"


def _refused(resource: ConfigResource, op: AlterConfigOp) -> str | None:
    """The error of one change, if it does not depend on the present settings."""
    is_topic = resource.type is ConfigResourceType.TOPIC
    definition = (TOPIC_CONFIGS if is_topic else BROKER_CONFIGS).get(op.name)
    if definition is None:
        return unknown_topic_config(op.name) if is_topic else None
    if op.value is None or op.op is OpType.DELETE:
        return None
    if op.op is not OpType.SET and definition.kind is not ConfigKind.LIST:
        if is_topic:
            return f"Can't {op.op.name} to key {op.name} because its type is not LIST."
        return f"Config value {op.op.value} is not allowed for config key: {op.name}"
    return invalid_value(definition, op.value)


def _wrong(definition: Definition, value: str) -> tuple[str, str]:
    """The invalid value, or the invalid element of it, and the reason."""
    kind, check = definition.kind, definition.check
    if kind is ConfigKind.BOOLEAN:
        return value, "Expected value to be either true or false"
    if isinstance(check, Whole):
        return value, _out_of_bounds(kind, whole_number(trimmed(value)), check)
    if kind is ConfigKind.DOUBLE:
        return _no_share(value)
    if isinstance(check, OneOf):
        return value, _one_of(check.choices)
    if isinstance(check, AnyOf):
        elements = [trimmed(part) for part in value.split(LIST_SEPARATOR)]
        return next(e for e in elements if e not in check.choices), _one_of(check.choices)
    if definition.name not in LISTS:
        return value, f"Expected {check(value)}"
    return f"[{', '.join(list_elements(value))}]", f"{definition.name} {_PAIRS}"


def _out_of_bounds(kind: ConfigKind, number: int | None, bounds: Whole) -> str:
    if number is None or not -_ENDS[kind] - 1 <= number <= _ENDS[kind]:
        return f"Not a number of type {kind.name}"
    return _beyond(bounds.low) if number < bounds.low else f"Value must be no more than {bounds.high}"


def _no_share(value: str) -> tuple[str, str]:
    """An invalid number is shown as it came, a valid one as a number."""
    try:
        number = float(value)
    except ValueError:
        return value, f"Not a number of type {ConfigKind.DOUBLE.name}"
    if 0 <= number <= 1 or number != number:  # noqa: PLR0124 - written in a way that Kafka does not read
        return value, f"Not a number of type {ConfigKind.DOUBLE.name}"
    return str(number), _beyond(0) if number < 0 else "Value must be no more than 1"


def _beyond(low: int) -> str:
    return f"Value must be at least {low}"


def _one_of(choices: tuple[str, ...]) -> str:
    return "String must be one of: " + ", ".join(choices)


def _no_broker(name: str, what: str) -> str | None:
    is_id = name.isascii() and name.isdigit() and len(name) <= 10 and int(name) <= BROKER_ID_MAX
    return None if is_id else f"{what} id must be an integer, but it is: {name}"
