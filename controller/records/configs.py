"""Records about configs of topics and brokers: read from their keys again, or altered by a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import attrs

from ..codec.journal_text import dump
from ..model.records import Record
from ..model.sensitive_configs import shown
from ..model.values import BROKERS, TOPICS, ConfigEntity
from ..state import ClusterState, DirtyKey
from .line import LineContext
from .publication import Publication


@attrs.define
class ConfigChanged(Record):
    """The config key of a topic was read and differs: `after`."""

    EVENTS = ("ConfigChanged",)

    topic: str
    before: Mapping[str, str]
    after: Mapping[str, str]

    def apply(self, state: ClusterState) -> None:
        state.batch.set(state.topics[self.topic], "configs", self.after)

    def lines(self, context: LineContext) -> Iterable[str]:
        detail = {"configs": shown(TOPICS, self.after), "was": shown(TOPICS, self.before)}
        yield context.line("ConfigChanged", context.topic(self.topic), dump(detail))

    def publish(self, to: Publication, token: object) -> None:
        if self.before != self.after:
            to.configs(TOPICS, self.topic, self.after)


@attrs.define
class BrokerConfigChanged(Record):
    """`/config/brokers/<name>` was read and differs: `after`. In the journal: ConfigChanged."""

    EVENTS = ("ConfigChanged",)

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str]

    def apply(self, state: ClusterState) -> None:
        state.batch.put(state.broker_configs, self.name, self.after)

    def lines(self, context: LineContext) -> Iterable[str]:
        detail = {
            "entity": f"{BROKERS}/{self.name}",
            "configs": shown(BROKERS, self.after),
            "was": shown(BROKERS, self.before),
        }
        yield context.line("ConfigChanged", detail=dump(detail))

    def publish(self, to: Publication, token: object) -> None:
        if self.before != self.after:
            to.configs(BROKERS, self.name, self.after)


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
        entity = self.entity
        if entity.kind == TOPICS:
            state.batch.set(state.topics[entity.name], "configs", self.after)
        else:
            state.batch.put(state.broker_configs, entity.name, self.after)
        if state.changes.tell(entity):
            state.batch.undone_by(state.changes.take_back, entity)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        kind = "config" if self.entity.kind == TOPICS else "broker config"
        return (kind, self.entity.name), ("change", self.entity)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield self.line(context, "ConfigChanged", self.before, self.after)

    def line(self, context: LineContext, event: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
        """A line about these of the configs."""
        kind, name = self.entity.kind, self.entity.name
        detail = {"entity": f"{kind}/{name}", "configs": shown(kind, after), "was": shown(kind, before)}
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
