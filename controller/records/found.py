"""Records about what was found in the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from ..codec.journal_text import dump
from ..model.records import KeyAt, KeyVersion, Record
from ..state import ClusterState, DirtyKey
from .line import LineContext
from .publication import Publication


@attrs.define
class KeyAdopted(Record):
    """The controller uses the content that it read from a key, and the version of the key. Other records of the same
    Decision hold the content. Not in the journal."""

    at: KeyAt

    def apply(self, state: ClusterState) -> None:
        at, versions = self.at, state.versions
        state.batch.undone_by(versions.put, at.path, versions.of(at.path))
        versions.put(at.path, at.version)


@attrs.define
class StateKeyAdopted(Record):
    """As KeyAdopted, of the state key of a partition. Not in the journal."""

    topic: str
    partition: int
    at: KeyVersion

    def apply(self, state: ClusterState) -> None:
        number, at = state.topics[self.topic].numbers[self.partition], self.at
        known = state.key_version(self.topic, self.partition)
        state.batch.undone_by(state.put_state_version, self.topic, number, known.version, known.generation)
        state.put_state_version(self.topic, number, at.version, at.generation)


@attrs.define
class ForeignChange(Record):
    """Another program wrote a key of this controller; `detail` says what was accepted and what is overwritten. The key
    is written again (`is_rewritten`), unless another record does so."""

    EVENTS = ("ForeignChange",)

    topic: str
    partition: int | None
    detail: str
    is_rewritten: bool = True

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        if not self.is_rewritten:
            return ()
        if self.partition is None:
            return (("topic", self.topic),)
        number = state.number(self.topic, self.partition)
        return () if number is None else (("state", number),)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("ForeignChange", _key(self, context), dump({"what": self.detail}))

    def publish(self, to: Publication, token: object) -> None:
        """A rewritten state key has a later partition epoch, which its leader needs to change the ISR."""
        if self.partition is not None and self.is_rewritten:
            number = to.state.number(self.topic, self.partition)
            if number is not None:
                to.partition(number, must_obey=True)


@attrs.define
class BadKey(Record):
    """The key of a partition (partition None: of a topic) cannot be read: `problem`. None: it can be read again, and
    `before` is the former problem."""

    EVENTS = ("BadKey",)

    topic: str
    partition: int | None
    problem: str | None
    before: str | None = None

    def apply(self, state: ClusterState) -> None:
        key = (self.topic, self.partition)
        if self.problem is not None:
            state.batch.put(state.problems, key, self.problem)
        elif key in state.problems:
            state.batch.take(state.problems, key)

    def lines(self, context: LineContext) -> Iterable[str]:
        detail = {"mended": self.before} if self.problem is None else {"problem": self.problem}
        yield context.line("BadKey", _key(self, context), dump(detail))

    def publish(self, to: Publication, token: object) -> None:
        if self.problem is None:
            to.readable(self.topic)
            to.read_requests()  # a request may have waited for the topic, which is readable again or gone
        if not to.state.problems:
            to.everything_readable()


def _key(record: ForeignChange | BadKey, context: LineContext) -> str:
    """The members that name the key, a partition's or a topic's."""
    named = context.topic(record.topic)
    return named if record.partition is None else f'{named},"partition":{record.partition}'
