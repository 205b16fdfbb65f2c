"""What crosses the API never changes: every value that public methods and callbacks take or give.

The walk begins at the signatures, so a value of a new method is held to it without a change here.
"""

from __future__ import annotations

import copy
import enum
import inspect
import json
import pickle
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest

from kedge import (
    Admin,
    BrokerRegistration,
    Controller,
    Description,
    ErrorCode,
    HostResponse,
    Journal,
    MemoryStore,
    NewTopic,
    Results,
    TopicPartition,
)
from kedge.controller.admin import AlterConfigPolicy, AlterPolicy, CreatePolicy
from kedge.controller.metrics.snapshot import Snapshot
from kedge.controller.model.frozen import FrozenDict
from kedge.controller.model.host import Host
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
    """Nor deleted, nor one added."""
    value: Any = object.__new__(kind)
    for name in (*VALUES[kind], "more"):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
        with pytest.raises(AttributeError):
            delattr(value, name)
    assert getattr(kind, "__setattr__") is not getattr(object, "__setattr__")  # noqa: B009 - mypy thinks they differ


@pytest.mark.parametrize("kind", VALUES, ids=named)
def test_no_field_is_of_a_kind_that_changes(kind: type[Any]) -> None:
    """Tuples, frozen sets and mappings; what is in a mapping's field is seen below."""
    found = {name: CHANGING & set(of_hint(hint)) for name, hint in VALUES[kind].items()}
    assert not any(found.values()), found


def described() -> Description:
    controller = Controller(MemoryStore(), 1, Silent())
    with controller:
        return controller.describe()


def measured() -> Snapshot:
    with Controller(MemoryStore(), 1, Silent()) as controller:
        controller.poll_once()
        return controller.metrics()


class Silent:
    """A host."""

    leader_and_isr = update_metadata = stop_replica = lambda self, request: HostResponse()  # noqa: ARG005


MADE: dict[str, Callable[[], Any]] = {
    "NewTopic": lambda: NewTopic(configs={"a": "1"}),
    "HostResponse": lambda: HostResponse(errors={TopicPartition("t", 0): ErrorCode.KAFKA_STORAGE_ERROR}),
    "BrokerRegistration": lambda: BrokerRegistration(1, extra={"a": 1}, endpoints=[]),
    "Description": described,
    "Snapshot": measured,
}


def test_every_value_with_a_mapping_is_made_below() -> None:
    has_mapping = {kind.__name__ for kind in VALUES if any(map(_may_be_mapping, VALUES[kind].values()))}
    assert has_mapping == set(MADE)


def _may_be_mapping(hint: Any) -> bool:
    """A function of mappings is none."""
    of_union = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    kinds = [typing.get_origin(one) or one for one in of_union]
    return any(isinstance(kind, type) and issubclass(kind, Mapping) for kind in kinds)


@pytest.mark.parametrize("name", MADE)
def test_no_mapping_in_a_value_can_be_changed(name: str) -> None:
    """Nor does it change with the one that it was made of."""
    value = MADE[name]()
    mappings = [getattr(value, field.name) for field in attrs.fields(type(value))]
    mappings = [one for one in mappings if isinstance(one, Mapping)]
    assert mappings
    assert {type(one) for one in mappings} == {FrozenDict}


def test_a_value_keeps_a_copy_of_what_it_was_made_of() -> None:
    configs, errors = {"a": "1"}, {TopicPartition("t", 0): ErrorCode.NONE}
    endpoints: list[Any] = []
    new, answer = NewTopic(configs=configs), HostResponse(errors=errors)
    registration = BrokerRegistration(1, endpoints=endpoints)
    configs["b"] = "2"
    errors.clear()
    endpoints.append("no endpoint")
    assert (new.configs, len(answer.errors), registration.endpoints) == ({"a": "1"}, 1, ())


CHANGES: list[Callable[[Any], object]] = [
    lambda it: it.update(b=2),
    lambda it: it.clear(),
    lambda it: it.pop("a"),
    lambda it: it.popitem(),
    lambda it: it.setdefault("b", 2),
    lambda it: it.__setitem__("b", 2),
    lambda it: it.__delitem__("a"),
    lambda it: it.__ior__({"b": 2}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_frozen_dict_refuses_every_change(change: Callable[[Any], object]) -> None:
    """It behaves as a dict in reads, JSON, copies and pickles."""
    frozen = FrozenDict(a=1)
    with pytest.raises(TypeError, match="frozen value"):
        change(frozen)
    copied = pickle.loads(pickle.dumps(frozen))  # noqa: S301 - our own
    assert frozen == {"a": 1} == copied == copy.deepcopy(frozen)
    assert type(copied) is FrozenDict
    assert (json.dumps(frozen), frozen | {"b": 2}) == ('{"a": 1}', {"a": 1, "b": 2})


def test_a_sealed_value_can_be_copied_pickled_and_evolved() -> None:
    """As any value of attrs; what comes of it is sealed as well."""
    tp = TopicPartition("t", 1)
    again = pickle.loads(pickle.dumps(tp))  # noqa: S301 - our own
    for other in (copy.copy(tp), copy.deepcopy(tp), again, attrs.evolve(tp)):
        assert (other, hash(other), repr(other), type(other)) == (tp, hash(tp), repr(tp), TopicPartition)
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(other, "topic", "u")  # noqa: B010 - mypy knows that it cannot be
    assert attrs.evolve(tp, partition=0) < tp
