"""Records about configs of topics, brokers and clients: read from their keys again, or altered by a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

import attrs

from ..codec.journal_text import dump
from ..model.records import Record
from ..model.sensitive_configs import shown
from ..model.values import BROKERS, TOPICS, ConfigEntity
from ..state import ClusterState, DirtyKey
from .line import LineContext
from .publication import Publication

_OF_HOSTS: Final = frozenset({TOPICS, BROKERS})  # gateways read quotas of clients from the store


@attrs.define
class ConfigChanged(Record):
    """The config key of an entity was read and differs: `after`."""

    EVENTS = ("ConfigChanged",)

    entity: ConfigEntity
    before: Mapping[str, str]
    after: Mapping[str, str]

    def apply(self, state: ClusterState) -> None:
        _set(state, self.entity, self.after)

    def lines(self, context: LineContext) -> Iterable[str]:
        kind, name = self.entity.kind, self.entity.name
        named, entity = (context.topic(name), {}) if kind == TOPICS else ("", {"entity": str(self.entity)})
        detail = {**entity, "configs": shown(kind, self.after), "was": shown(kind, self.before)}
        yield context.line("ConfigChanged", named, dump(detail))

    def publish(self, to: Publication, token: object) -> None:
        if self.before != self.after and self.entity.kind in _OF_HOSTS:
            to.configs(self.entity.kind, self.entity.name, self.after)


@attrs.define
class ConfigsAltered(Record):
    """The controller changed the configs of an entity to `after`. The same commit writes its key and a notification
    below `/config/changes`. In the journal: ConfigChanged. `cause`: the request behind it."""

    EVENTS: ClassVar[tuple[str, ...]] = ("ConfigChanged",)

    entity: ConfigEntity
    before: Mapping[str, str]
    after: Mapping[str, str]
    cause: str

    def apply(self, state: ClusterState) -> None:
        _set(state, self.entity, self.after)
        if state.changes.tell(self.entity):
            state.batch.undone_by(state.changes.take_back, self.entity)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        is_topic = self.entity.kind == TOPICS
        key = ("config", self.entity.name) if is_topic else ("entity config", self.entity)
        return key, ("change", self.entity)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield self.line(context, "ConfigChanged", self.before, self.after)

    def line(self, context: LineContext, event: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
        kind, name = self.entity.kind, self.entity.name
        detail = {"entity": str(self.entity), "configs": shown(kind, after), "was": shown(kind, before)}
        named = context.topic(name) if kind == TOPICS else ""
        return context.line(event, named, dump(detail), self.cause or None)

    def publish(self, to: Publication, token: object) -> None:
        if self.entity.kind in _OF_HOSTS:
            to.configs(self.entity.kind, self.entity.name, self.after)


@attrs.define
class ChangePurged(Record):
    """A notification of changed configs is deleted, since its readers had enough time. `key`: its path. Not in the
    journal."""

    key: str

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("old change", self.key),)


def _set(state: ClusterState, entity: ConfigEntity, configs: Mapping[str, str]) -> None:
    if entity.kind == TOPICS:
        state.batch.set(state.topics[entity.name], "configs", configs)
    elif not configs and entity.kind != BROKERS and entity in state.entity_configs:
        state.batch.take(state.entity_configs, entity)  # clients may have any number of names
    else:
        state.batch.put(state.entity_configs, entity, configs)
