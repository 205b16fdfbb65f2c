"""Quotas of clients, described and altered (KIP-546), with Kafka's errors.

The cluster keeps no SCRAM credentials. They are described all the same: `kafka-configs.sh` asks for them when it
describes the quotas of a user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ...model.config_requests import AlterConfigOp, ConfigResource, ConfigResourceType, OpType
from ...model.errors import ErrorCode
from ...model.throttle_configs import LONG_MAX
from ...quota.clients import NAME_MAX, names_of, owner, quotas_in
from ..calls import Api, Call, on_cluster
from ..messages import messages_of
from ..protocol import Answer, Request
from ..slices import sliced
from .answering import Outcome, beside, outcome, outcomes

USER, CLIENT_ID = "user", "client-id"
EXACT, DEFAULT, ANY = range(3)
UNSUPPORTED_VERSION, NO_CREDENTIAL = 35, 91
CHANGES_MAX: Final = 10_000
"""Changes of one request, as in Kafka."""


def _refuse(message: str, code: int = ErrorCode.INVALID_REQUEST) -> Outcome:
    return Outcome(None, code, message)


async def alter_client_quotas(call: Call, request: Request) -> Answer:
    """A row per entity. What is wrong with one does not affect the others."""
    if sum(max(1, len(entry.ops)) for entry in request.entries) > CHANGES_MAX:
        refused = _refuse("There are too many changes in the request.", ErrorCode.POLICY_VIOLATION)
        return {"entries": [_altered(entry, refused) async for entry in sliced(request.entries)]}
    rows = [(entry, _resource(entry)) async for entry in sliced(request.entries)]
    times = Counter(one for _, one in rows)
    wanted = {
        one: [_op(op) for op in entry.ops] for entry, one in rows if not isinstance(one, Outcome) and times[one] == 1
    }

    def begin() -> Any:
        return call.admin.incremental_alter_configs(wanted, validate_only=request.validate_only)

    done = await outcomes(await beside(call, begin, len(wanted)))
    twice = _refuse("Each entity must appear at most once.")
    answered = ((entry, one if isinstance(one, Outcome) else done.get(one, twice)) for entry, one in rows)
    return {"entries": [_altered(entry, one) async for entry, one in sliced(answered)]}


def _resource(entry: Any) -> ConfigResource | Outcome:
    """Whose quotas are altered, or what is wrong with the entity."""
    names = {part.entity_type: part.entity_name for part in entry.entity}
    if not names or len(names) < len(entry.entity):
        return _refuse("An entity must have each type at most once, and at least one.")
    if unknown := names.keys() - {USER, CLIENT_ID}:
        return _refuse(f"Unhandled client quota entity type: {min(unknown):.80}")
    if not all(name is None or 0 < len(name) <= NAME_MAX for name in names.values()):
        return _refuse(f"A user or client-id must have 1..{NAME_MAX} characters.")
    kind, name = owner(*(names[each] or "" if each in names else None for each in (USER, CLIENT_ID)))
    return ConfigResource(ConfigResourceType(kind), name)


def _op(op: Any) -> AlterConfigOp:
    """A double cannot hold the highest long, 2^63-1: clients send 2^63 in its place."""
    whole = LONG_MAX if op.value == 2.0**63 else int(op.value) if op.value.is_integer() else op.value
    return AlterConfigOp(op.key, op=OpType.DELETE) if op.remove else AlterConfigOp(op.key, str(whole))


def _altered(entry: Any, done: Outcome) -> dict[str, Any]:
    code = ErrorCode.INVALID_REQUEST if done.error_code == ErrorCode.INVALID_CONFIG else done.error_code
    return {**done.fields, "error_code": code, "entity": [part.to_dict() for part in entry.entity]}


async def describe_client_quotas(call: Call, request: Request) -> Answer:
    """The quotas of all entities that match each component."""
    wanted = {one.entity_type: one for one in request.components}
    found = _problem(request, wanted) or await outcome(call.query(lambda view: view.client_configs()))
    if found.error_code:
        return {**found.fields, "entries": None}
    rows = [
        {
            "entity": [{"entity_type": kind, "entity_name": name or None} for kind, name in entity.items()],
            "values": [{"key": key, "value": value} for key, value in sorted(quotas.items())],
        }
        async for of, configs in sliced(found.value.items())
        if (quotas := quotas_in(configs))
        and (entity := _entity(names_of(of.kind, of.name)))
        and _matches(entity, wanted, strict=request.strict)
    ]
    return {**found.fields, "entries": rows}


def _entity(names: tuple[str | None, str | None] | None) -> dict[str, str]:
    """A name per type, empty for the default."""
    named = zip((USER, CLIENT_ID), names or (), strict=False)
    return {kind: name for kind, name in named if name is not None}


def _matches(entity: Mapping[str, str], wanted: Mapping[str, Any], *, strict: bool) -> bool:
    """An empty name in the request matches nothing, as in Kafka."""
    names = {kind: "" if one.match_type == DEFAULT else one.match or None for kind, one in wanted.items()}
    is_each = (k in entity and (one.match_type == ANY or entity[k] == names[k]) for k, one in wanted.items())
    return all(is_each) and not (strict and entity.keys() != wanted.keys())


def _problem(request: Request, wanted: Mapping[str, Any]) -> Outcome | None:
    if unknown := wanted.keys() - {USER, CLIENT_ID}:
        return _refuse(f"Unsupported entity type {min(unknown):.80}", UNSUPPORTED_VERSION)
    if len(wanted) < len(request.components):
        return _refuse("An entity type cannot appear more than once in the filter.")
    for one in wanted.values():
        if one.match_type not in {EXACT, DEFAULT, ANY} or (one.match is None) == (one.match_type == EXACT):
            return _refuse("The match type is unknown, or it needs a name, or it takes none.")
    return None


async def describe_credentials(_: Call, request: Request) -> Answer:
    """No user has any: those of the gateway are in its file."""
    rows = ({"user": user.name, "error_code": NO_CREDENTIAL} async for user in sliced(request.users or ()))
    return {"error_code": 0, "results": [row async for row in rows]}


_DESCRIBED: Final = messages_of("DescribeClientQuotas", range(2))
_ALTERED: Final = messages_of("AlterClientQuotas", range(2))
_CREDENTIALS: Final = messages_of("DescribeUserScramCredentials", range(1))
TABLE: Final = (
    Api(_DESCRIBED, describe_client_quotas, on_cluster("DESCRIBE_CONFIGS"), reads=True),
    Api(_ALTERED, alter_client_quotas, on_cluster("ALTER_CONFIGS", "entries", "entries")),
    Api(_CREDENTIALS, describe_credentials, on_cluster("DESCRIBE"), reads=True),
)
