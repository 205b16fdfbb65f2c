"""Configs are altered: all changes of a request to one topic, broker, user or client id, or none.

The whole map is replaced, or single configs are set, deleted, appended to or subtracted from (Kafka's AlterConfigs and
IncrementalAlterConfigs, KIP-339). Only what a request sets is checked: values of other programs stay, under unknown
names too, until they are deleted. Unchanged configs are not written. Unreadable configs are not altered, since a
rewrite would drop them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ..model.config_requests import AlterConfigOp, OpType
from ..model.configs import ConfigKind
from ..model.errors import (
    ApiError,
    InvalidConfig,
    InvalidRequest,
    PolicyViolation,
    StorageError,
    UnknownTopicOrPartition,
)
from ..model.events import AlterConfigs, ChangesDue, Decision, refuse
from ..model.requests import BROKER_ID_MAX
from ..model.sensitive_configs import is_sensitive
from ..model.throttle_configs import LIST_SEPARATOR, list_elements
from ..model.values import ALL_BROKERS, BROKERS, TOPICS, ConfigEntity, UnreadConfigs, configs_after
from ..model.view import ClusterView
from ..records import ChangePurged, ConfigsAltered
from .configs import as_stored, check_config, check_size, definitions_of, unchangeable
from .foreign_writes import due_by_brokers, due_by_topic

_OWNER: Final = re.compile("[A-Za-z0-9._<>-]{1,1000}")
_BROKER: Final = re.compile("0|[1-9][0-9]{0,9}")  # 01 is not broker 1: otherwise two keys would mean one broker


def alter_configs(view: ClusterView, event: AlterConfigs) -> Decision:
    """Reply: None, also for `validate_only`, which changes nothing; or the error."""
    entity = event.entity
    if error := check_entity(view, entity):
        return refuse(error)
    before = own_configs(view, entity)
    after = _replaced(entity, before, event.ops) if event.replaces else _altered(entity, before, event.ops)
    if isinstance(after, ApiError):
        return refuse(after)
    if event.policy_message is not None:
        return refuse(PolicyViolation(event.policy_message))
    if event.validate_only or after == before:
        return Decision()
    due = due_by_topic if entity.kind == TOPICS else due_by_brokers
    altered = ConfigsAltered(entity, before, after, "alter_configs")
    return Decision((altered,), expand=due(view, entity.name, after, event.now_ms))


def own_configs(view: ClusterView, entity: ConfigEntity) -> Mapping[str, str]:
    return view.topic_config(entity.name) if entity.kind == TOPICS else view.entity_config(entity)


def check_entity(view: ClusterView, entity: ConfigEntity) -> ApiError | None:
    """Why the configs of an entity can be neither read nor altered; None if they can."""
    if entity.kind == TOPICS:
        if problem := view.unreadable(entity.name):
            return StorageError(problem)
        if view.topic(entity.name) is None:
            return UnknownTopicOrPartition(f"there is no topic {entity.name!r:.300}")
        if view.is_deleting(entity.name):
            return UnknownTopicOrPartition(f"topic {entity.name} is being deleted")
    elif entity.kind != BROKERS:
        if not _OWNER.fullmatch(entity.name) or entity.name in {".", ".."}:
            return InvalidRequest(f"a user or client id is too long, or not written as in keys: {entity.name!r:.120}")
    elif entity.name != ALL_BROKERS and not _is_broker(entity.name):
        return InvalidRequest(f"a broker id must be decimal, 0..{BROKER_ID_MAX}, not {entity.name!r:.120}")
    if isinstance(own_configs(view, entity), UnreadConfigs):
        return StorageError(f"/config/{entity}: the configs cannot be read")
    return None


def _is_broker(name: str) -> bool:
    return (
        name.isascii() and name.isdigit() and len(name) <= 10 and str(int(name)) == name and int(name) <= BROKER_ID_MAX
    )


def _replaced(
    entity: ConfigEntity, before: Mapping[str, str], ops: Sequence[AlterConfigOp]
) -> Mapping[str, str] | ApiError:
    after: dict[str, str] = {}
    for op in ops:
        if op.value is None:
            return InvalidRequest(f"{op.name!r:.120}: a value is missing")
        # Otherwise it could be found out by guessing what a sensitive config is.
        is_new = before.get(op.name) != op.value or is_sensitive(entity.kind, op.name)
        if is_new and (problem := check_config(entity, op.name, op.value)):
            return InvalidConfig(f"{entity}: {problem}")
        after[op.name] = as_stored(entity, op.name, op.value) if is_new else op.value
    return _checked(entity, configs_after(before, after))


def _altered(
    entity: ConfigEntity, before: Mapping[str, str], ops: Sequence[AlterConfigOp]
) -> Mapping[str, str] | ApiError:
    if twice := sorted(name for name, count in Counter(op.name for op in ops).items() if count > 1):
        return InvalidRequest(f"{entity}: configs are named twice: {twice!r:.200}")
    after = dict(before)
    for op in ops:
        if error := _apply(entity, after, op):
            return error
    return _checked(entity, configs_after(before, after))


def _checked(entity: ConfigEntity, after: Mapping[str, str]) -> Mapping[str, str] | ApiError:
    problem = check_size(after)
    return after if problem is None else InvalidConfig(f"{entity}: {problem}")


def _apply(entity: ConfigEntity, after: dict[str, str], op: AlterConfigOp) -> ApiError | None:
    definition = definitions_of(entity.kind).get(op.name)
    if op.op is OpType.DELETE:
        if definition is None and op.name not in after:
            return InvalidConfig(f"{entity}: {unchangeable(entity, op.name)}")
        after.pop(op.name, None)
        return None
    if op.value is None:
        return InvalidRequest(f"{entity}: {op.name!r:.120}: a value is missing")
    value = op.value
    if op.op is not OpType.SET:
        if definition is not None and definition.kind is not ConfigKind.LIST:
            return InvalidConfig(f"{entity}: {op.name} is not a list, so it cannot be appended to or subtracted from")
        held = after.get(op.name, "" if definition is None else definition.default)
        value = _listed(held, value, adds=op.op is OpType.APPEND)
    if problem := check_config(entity, op.name, value):
        return InvalidConfig(f"{entity}: {problem}")
    after[op.name] = as_stored(entity, op.name, value)
    return None


def _listed(held: str, said: str, *, adds: bool) -> str:
    """A list with or without some elements, in the former order."""
    old, named = list_elements(held), list_elements(said)
    found = [*old, *(one for one in named if one not in old)] if adds else [one for one in old if one not in named]
    return LIST_SEPARATOR.join(dict.fromkeys(found))


def changes_due(view: ClusterView, event: ChangesDue) -> Decision:
    """Old notifications of changes are deleted."""
    return Decision(tuple(ChangePurged(key) for key in event.changes))
