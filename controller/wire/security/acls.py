"""Who may do what, of a file: Kafka's ACLs.

A resource is `CLUSTER`, `TOPIC:<name>` or `GROUP:<id>`, an operation is one of Kafka's names. What nothing allows is
not allowed; what something denies is not, whatever allows it. READ, WRITE, DELETE and ALTER allow DESCRIBE too, and
ALTER_CONFIGS allows DESCRIBE_CONFIGS, as in Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

import attrs

from controller.wire.security.files import Reread

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
"""With Kafka's numbers."""

CLUSTER: Final = "CLUSTER"
TOPIC: Final = "TOPIC:"
GROUP: Final = "GROUP:"
EVERYBODY: Final = "User:*"
_ALL: Final = "ALL"
_NAMED: Final = re.compile(f"(?:{TOPIC}|{GROUP}).")
_IMPLIED: Final = {
    "DESCRIBE": frozenset({"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}),
}


class Authorizer(Protocol):
    """Asked on the loop of the gateway, so it must not wait; for every request, so it should be quick. One that raises
    ends the connection of whom it was asked about."""

    def __call__(self, principal: str, operation: str, resource: str, /) -> bool:
        """Whether the principal (`User:alice`) may do this (`ALTER`) to that (`CLUSTER`, `TOPIC:orders`)."""


def allow_all(principal: str, operation: str, resource: str, /) -> bool:  # noqa: ARG001 - as every authorizer
    """Everybody who came in may do everything."""
    return True


@attrs.frozen
class Acl:
    """A row. `resources` end in `*` for every name that begins like that."""

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
    """An `Authorizer` of a file, read again when it changes; one that is broken changes nothing, and is logged
    (`docs/security.md` has its format). BrokenFile where it is broken from the beginning."""

    def __init__(self, rules: Reread[_Rules]) -> None:
        self._rules = rules

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Self:
        return cls(Reread(path, _parse))

    def __call__(self, principal: str, operation: str, resource: str, /) -> bool:
        rules = self._rules()
        if principal in rules.super_users:
            return True
        rows = [row for name in (principal, EVERYBODY) for row in rules.rows.get(name, ()) if row.is_about(resource)]
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
            raise ValueError(f"a resource is CLUSTER, TOPIC:<name> or GROUP:<id>, not {each!r:.200}")
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
