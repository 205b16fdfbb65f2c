"""The rights of clients, from a file: Kafka's ACLs.

A resource is `CLUSTER`, `TOPIC:<name>`, `GROUP:<id>`, `TRANSACTIONAL_ID:<id>` or `BROKER:<id>`, an operation is one of
Kafka's names. `TOPIC:` alone asks about some topic: for a producer id a producer needs the right to write to one of
them (KIP-679). Without a row that allows it an operation is refused; a row that denies it overrides all others. READ,
WRITE, DELETE and ALTER allow DESCRIBE, too, and ALTER_CONFIGS allows DESCRIBE_CONFIGS, as in Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

import attrs

from .files import Reread

OPERATIONS: Final = MappingProxyType(
    {
        "READ": 3,
        "WRITE": 4,
        "CREATE": 5,
        "DELETE": 6,
        "ALTER": 7,
        "DESCRIBE": 8,
        "CLUSTER_ACTION": 9,
        "DESCRIBE_CONFIGS": 10,
        "ALTER_CONFIGS": 11,
        "IDEMPOTENT_WRITE": 12,
    }
)
"""By Kafka's names and numbers."""

CLUSTER: Final = "CLUSTER"
TOPIC: Final = "TOPIC:"
GROUP: Final = "GROUP:"
TRANSACTIONAL_ID: Final = "TRANSACTIONAL_ID:"
BROKER: Final = "BROKER:"
"""A broker id, for which a client with CLUSTER_ACTION may register and send what a broker sends."""
EVERYBODY: Final = "User:*"
_ALL: Final = "ALL"
_KINDS: Final = "CLUSTER, TOPIC:<name>, GROUP:<id>, TRANSACTIONAL_ID:<id> or BROKER:<id>"
_NAMED: Final = re.compile(f"(?:{TOPIC}|{GROUP}|{TRANSACTIONAL_ID}|{BROKER}).")
_IMPLIED: Final = {
    "DESCRIBE": frozenset({"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}),
}


class Authorizer(Protocol):
    """Called on the loop of the gateway, so it must not wait; for every request, so it should be quick. If it raises,
    the connection of the client is closed."""

    def __call__(self, principal: str, operation: str, resource: str, /) -> bool:
        """Whether the principal (`User:alice`) may do this (`ALTER`) on that (`CLUSTER`, `TOPIC:orders`; `TOPIC:` alone
        for some topic)."""


def allow_all(principal: str, operation: str, resource: str, /) -> bool:  # noqa: ARG001 - as every authorizer
    """Every connected client may do everything."""
    return True


@attrs.frozen
class Acl:
    """A row. A resource may end in `*`, for all names with this beginning."""

    principal: str
    operations: frozenset[str]
    resources: tuple[str, ...]
    allows: bool

    def is_about(self, resource: str) -> bool:
        return any(
            resource.startswith(each[:-1]) if each.endswith("*") else resource == each for each in self.resources
        )


@attrs.frozen
class _Rules:
    super_users: frozenset[str]
    rows: Mapping[str, tuple[Acl, ...]]


class Acls:
    """An `Authorizer` from files (`docs/security.md` has the format), each read again when it changes. A broken file is
    logged and leaves its former rights in force. Raises BrokenFile where it is broken from the beginning."""

    def __init__(self, *sources: Callable[[], _Rules]) -> None:
        self._sources = sources

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """From rows as in the list `acls` of a file, which stay as they are. Raises ValueError."""
        rules = _parse({"acls": [*rows]})
        return cls(lambda: rules)

    @classmethod
    def from_file(cls, *paths: str | PathLike[str]) -> Self:
        """The rows of all these files count."""
        return cls(*(Reread(path, _parse) for path in paths))

    def __call__(self, principal: str, operation: str, resource: str, /) -> bool:
        all_rules = [source() for source in self._sources]
        if any(principal in rules.super_users for rules in all_rules):
            return True
        named = [row for rules in all_rules for name in (principal, EVERYBODY) for row in rules.rows.get(name, ())]
        if resource == TOPIC:
            topics = {each for row in named if row.allows for each in row.resources if each.startswith(TOPIC)}
            return any(self(principal, operation, each) for each in topics)
        rows = [row for row in named if row.is_about(resource)]
        if any(not row.allows and row.operations & {operation, _ALL} for row in rows):
            return False
        enough = _IMPLIED.get(operation, frozenset({operation})) | {_ALL}
        return any(row.allows and row.operations & enough for row in rows)


def _parse(said: Mapping[str, Any]) -> _Rules:
    if unknown := set(said) - {"version", "super_users", "acls"}:
        raise ValueError(f"unknown: {sorted(unknown)}")
    rows: dict[str, tuple[Acl, ...]] = {}
    for each in _list(said, "acls"):
        row = _row(each)
        rows[row.principal] = (*rows.get(row.principal, ()), row)
    return _Rules(frozenset(_principal(each) for each in _list(said, "super_users")), rows)


def _row(said: Any) -> Acl:
    names = {"principal", "operations", "resources", "permission"}
    if not isinstance(said, dict) or not {"principal", "operations", "resources"} <= set(said) <= names:
        raise ValueError(f"an acl is an object with {', '.join(sorted(names))}, not {said!r:.200}")
    operations, resources = frozenset(_list(said, "operations")), tuple(_list(said, "resources"))
    if not operations or not operations <= {*OPERATIONS, _ALL}:
        raise ValueError(f"operations are some of {', '.join(OPERATIONS)}, or ALL, not {said['operations']!r:.200}")
    for each in resources:
        if each != CLUSTER and not (isinstance(each, str) and _NAMED.match(each)):
            raise ValueError(f"a resource is {_KINDS}, not {each!r:.200}")
    permission = said.get("permission", "ALLOW")
    if not resources or permission not in {"ALLOW", "DENY"}:
        raise ValueError(f"an acl has resources, and a permission ALLOW or DENY: {said!r:.200}")
    return Acl(_principal(said["principal"]), operations, resources, permission == "ALLOW")


def _list(said: Mapping[str, Any], name: str) -> list[Any]:
    found = said.get(name, [])
    if not isinstance(found, list):
        raise TypeError(f"{name} must be a list, not {found!r:.200}")
    return found


def _principal(said: Any) -> str:
    if not isinstance(said, str) or not said.startswith("User:") or said == "User:":
        raise ValueError(f"a principal is User:<name>, not {said!r:.200}")
    return said
