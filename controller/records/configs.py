"""Records about configs of topics and brokers: read from their keys again, or altered by a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import attrs

from ..codec.journal_text import dump
from ..model.records import Record
from ..model.sensitive_configs import shown
from ..model.values import TOPICS, ConfigEntity
from ..state import ClusterState, DirtyKey
from .line import LineContext
from .publication import Publication


@attrs.define
class ConfigChanged(Record):
    """The config key of a topic, a broker or all brokers was read and differs: `after`."""

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
        if self.before != self.after:
            to.configs(self.entity.kind, self.entity.name, self.after)


@attrs.define
class ConfigsAltered(Record):
    """The controller changed the configs of a topic, a broker or all brokers to `after`. The same commit writes its key
    and a notification below `/config/changes`. In the journal: ConfigChanged. `cause`: the request behind it."""

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
        kind = "config" if self.entity.kind == TOPICS else "broker config"
        return (kind, self.entity.name), ("change", self.entity)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield self.line(context, "ConfigChanged", self.before, self.after)

    def line(self, context: LineContext, event: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
        kind, name = self.entity.kind, self.entity.name
        detail = {"entity": str(self.entity), "configs": shown(kind, after), "was": shown(kind, before)}
        named = context.topic(name) if kind == TOPICS else ""
        return context.line(event, named, dump(detail), self.cause or None)

    def publish(self, to: Publication, token: object) -> None:
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
    else:
        state.batch.put(state.broker_configs, entity.name, configs)
