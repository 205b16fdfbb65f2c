"""Records about keys that hold requests: the legacy key, and notifications."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from ..codec.journal_text import dump, ids
from ..codec.keys import REASSIGN_PARTITIONS
from ..model.legacy import LegacyEntry, LegacyKey
from ..model.records import Record
from ..state import LEGACY, ClusterState, DirtyKey
from .line import LineContext
from .publication import Publication

DROPPED: Final = "dropped"
"""The cause of a removed entry that was never begun."""


@attrs.define
class LegacySubmitted(Record):
    """A client wrote a plan to the legacy key, and it was read: the controller owns its content from now on."""

    EVENTS = ("LegacySubmitted",)

    after: LegacyKey

    def apply(self, state: ClusterState) -> None:
        _load(state, self.after)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield _line(context, "LegacySubmitted", "entries", len(self.after.entries))


@attrs.define
class LegacyPlanWritten(Record):
    """The moves of a request are in the legacy key, which was absent. In the journal: LegacySubmitted."""

    EVENTS = ("LegacySubmitted",)

    entries: tuple[LegacyEntry, ...]

    def apply(self, state: ClusterState) -> None:
        assert not state.legacy.is_there, "a plan is written only if there is none"
        state.batch.set(state.legacy, "entries", {entry.name: entry for entry in self.entries})
        state.batch.set(state.legacy, "is_there", value=True)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (LEGACY,)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield _line(context, "LegacySubmitted", "entries", len(self.entries))


@attrs.define
class LegacyEntryRemoved(Record):
    """An entry of the legacy key is no longer in force: its move ended, a later request replaced it, or it was dropped
    (`reason`). `at_once`: this commit writes the key; otherwise a later one does."""

    EVENTS = ("LegacyEntryRemoved",)

    entry: LegacyEntry
    cause: str
    at_once: bool
    reason: str | None = None

    def apply(self, state: ClusterState) -> None:
        state.batch.take(state.legacy.entries, self.entry.name)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (LEGACY,) if self.at_once else ()

    def lines(self, context: LineContext) -> Iterable[str]:
        entry = self.entry
        named = f'{context.topic(entry.topic)},"partition":{entry.partition},"target":{ids(entry.target)}'
        detail = "" if self.reason is None else dump({"reason": self.reason})
        yield context.line("LegacyEntryRemoved", named, detail, self.cause)

    def publish(self, to: Publication, token: object) -> None:
        if self.cause == DROPPED:
            to.warn(f"dropped from the legacy key: {self.entry.topic!r:.300}-{self.entry.partition}: {self.reason}")


@attrs.define
class LegacyKeyRewritten(Record):
    """The legacy key is written again with the entries in force. Not in the journal."""

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (LEGACY,)


@attrs.define
class LegacyKeyRemoved(Record):
    """The legacy key is deleted, with its last entry or because it cannot be read."""

    EVENTS = ("LegacyKeyRemoved",)

    def apply(self, state: ClusterState) -> None:
        state.batch.set(state.legacy, "is_there", value=False)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (LEGACY,)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("LegacyKeyRemoved")


@attrs.define
class LegacyKeyChanged(Record):
    """Another program wrote or deleted the legacy key, which the controller owns: it is written or deleted again. In
    the journal: ForeignChange."""

    EVENTS = ("ForeignChange",)

    after: LegacyKey
    detail: str

    def apply(self, state: ClusterState) -> None:
        state.batch.set(state.legacy, "key", self.after)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (LEGACY,)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield _line(context, "ForeignChange", "what", self.detail)

    def publish(self, to: Publication, token: object) -> None:
        to.warn(f"the legacy key: {self.detail}")


@attrs.define
class LegacyKeyBroken(Record):
    """The legacy key cannot be read, or (`after` is absent) another program removed an unreadable one. In the journal:
    BadKey."""

    EVENTS = ("BadKey",)

    before: LegacyKey
    after: LegacyKey

    def apply(self, state: ClusterState) -> None:
        _load(state, self.after)

    def lines(self, context: LineContext) -> Iterable[str]:
        problem = self.after.problem
        name, value = ("mended", self.before.problem) if problem is None else ("problem", problem)
        yield _line(context, "BadKey", name, value)

    def publish(self, to: Publication, token: object) -> None:
        if self.after.problem is not None:
            to.warn(f"the legacy key cannot be read: {self.after.problem}")


@attrs.define
class NotificationWorkedOff(Record):
    """A notification was processed; its key is deleted if it is still as it was read. `notes`: what was skipped, and
    why. `problem`: why it could not be read. In the journal: KeysRewritten or BadKey."""

    EVENTS = ("KeysRewritten", "BadKey")

    key: str
    notes: tuple[str, ...] = ()
    problem: str | None = None

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("notification", self.key),)

    def lines(self, context: LineContext) -> Iterable[str]:
        detail: dict[str, object] = {"removed": self.key}
        if self.notes:
            detail["passed_over"] = list(self.notes)
        if self.problem is not None:
            detail["problem"] = self.problem
        yield context.line("KeysRewritten" if self.problem is None else "BadKey", detail=dump(detail))

    def publish(self, to: Publication, token: object) -> None:
        to.notification_worked_off(self.key, self.notes, self.problem)


def _load(state: ClusterState, after: LegacyKey) -> None:
    state.batch.keep(state.legacy, "key", "entries", "is_there")
    state.legacy.load(after)


def _line(context: LineContext, event: str, name: str, value: object) -> str:
    """A line about the legacy key, with one more member."""
    return context.line(event, detail=dump({"key": REASSIGN_PARTITIONS, name: value}))
