"""What crosses the API never changes: every value that public methods and callbacks take or give.

The walk begins at the signatures, so a value of a new method is held to it without a change here.
"""

from __future__ import annotations

import copy
import enum
import inspect
import pickle
import typing
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from kedge import (
    Admin,
    BrokerRegistration,
    Controller,
    ErrorCode,
    Host,
    HostResponse,
    Journal,
    NewTopic,
    Results,
    TopicPartition,
)
from kedge.controller.admin import AlterConfigPolicy, AlterPolicy, CreatePolicy
from kedge.stores.base import MetadataStore

# Not values: what does something; nor is a protocol.
DOES_SOMETHING = (enum.Enum, BaseException, Admin, Controller, Results, Journal, MetadataStore)
SIGNED = (Admin, Controller, Host)
ALIASES = (AlterConfigPolicy, AlterPolicy, CreatePolicy)
CHANGING = {list, dict, set, bytearray}


def of_hint(hint: Any) -> Iterator[type[Any]]:
    """The classes that a type names."""
    if isinstance(hint, typing.ParamSpec | typing.TypeVar) or hint in (Any, ..., None):
        return
    if isinstance(hint, list):
        arguments: tuple[Any, ...] = tuple(hint)
    else:
        arguments = typing.get_args(hint)
        found = typing.get_origin(hint) or hint
        if isinstance(found, type):
            yield found
    if typing.get_origin(hint) is not typing.Literal:
        for argument in arguments:
            yield from of_hint(argument)


def signed() -> Iterator[type[Any]]:
    for owner in SIGNED:
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if name[0] != "_" or (owner, name) == (Controller, "__init__"):  # an Admin is made by the controller
                for hint in typing.get_type_hints(method).values():
                    yield from of_hint(hint)
        for _, member in inspect.getmembers(owner, lambda member: isinstance(member, property)):
            yield from of_hint(typing.get_type_hints(member.fget)["return"])
    for alias in ALIASES:
        yield from of_hint(alias)


def values() -> dict[type[Any], dict[str, Any]]:
    """Every value of ours that can be reached from a signature, and the types of its fields."""
    found: dict[type[Any], dict[str, Any]] = {}
    left = list(signed())
    while left:
        kind = left.pop()
        ours = kind.__module__.split(".")[0] == "kedge"
        if not ours or kind in found or getattr(kind, "_is_protocol", False) or issubclass(kind, DOES_SOMETHING):
            continue
        assert attrs.has(kind), f"{kind} is no value: say why it may cross the API"
        hints = typing.get_type_hints(kind)
        found[kind] = {field.name: hints[field.name] for field in attrs.fields(kind)}
        left += [one for hint in found[kind].values() for one in of_hint(hint)]
    return found


VALUES = values()


def named(kind: type[Any]) -> str:
    return kind.__name__


def test_walk_finds_the_known_modules() -> None:
    names = {kind.__name__ for kind in VALUES}
    assert {"TopicPartition", "LeaderAndIsrPartition", "UpdateMetadataRequest", "HostResponse", "WaitingOn"} <= names
    assert {"PartitionReassignment", "Description", "Snapshot", "LogReport", "NewTopic", "ConfigSynonym"} <= names
    assert len(names) > 30


@pytest.mark.parametrize("kind", VALUES, ids=named)
def test_no_field_can_be_written_to(kind: type[Any]) -> None:
    value: Any = object.__new__(kind)
    for name in (*VALUES[kind], "more"):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
        with pytest.raises(AttributeError):
            delattr(value, name)
    assert getattr(kind, "__setattr__") is not getattr(object, "__setattr__")  # noqa: B009 - mypy thinks they differ


@pytest.mark.parametrize("kind", VALUES, ids=named)
def test_no_field_is_of_a_kind_that_changes(kind: type[Any]) -> None:
    """Tuples, frozen sets and mappings; a mapping is a copy."""
    found = {name: CHANGING & set(of_hint(hint)) for name, hint in VALUES[kind].items()}
    assert not any(found.values()), found


def test_a_value_keeps_a_copy_of_what_it_was_made_of() -> None:
    configs, errors = {"a": "1"}, {TopicPartition("t", 0): ErrorCode.NONE}
    endpoints: list[Any] = []
    new, answer = NewTopic(configs=configs), HostResponse(errors=errors)
    registration = BrokerRegistration(1, endpoints=endpoints)
    configs["b"] = "2"
    errors.clear()
    endpoints.append("no endpoint")
    assert (new.configs, len(answer.errors), registration.endpoints) == ({"a": "1"}, 1, ())


def test_a_value_can_be_copied_pickled_and_evolved() -> None:
    """As any value of attrs; what comes of it is frozen as well."""
    tp = TopicPartition("t", 1)
    again = pickle.loads(pickle.dumps(tp))  # noqa: S301 - our own
    for other in (copy.copy(tp), copy.deepcopy(tp), again, attrs.evolve(tp)):
        assert (other, hash(other), repr(other), type(other)) == (tp, hash(tp), repr(tp), TopicPartition)
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(other, "topic", "u")  # noqa: B010 - mypy knows that it cannot be
    assert attrs.evolve(tp, partition=0) < tp
