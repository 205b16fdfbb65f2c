"""The rules of a legal trace over the rows of some topics, and of all rows without a topic.

* No rule needs more than the rows of one topic, and those without a topic (terms, brokers, the legacy key). So a stream
  restores only the topics that its next rows name.
* For that, a commit is checked partition by partition, and the list of a Takeover reassignment by reassignment: the
  first violation does not hide the next.
* Numbers, terms and the chain are checked in `order`, over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...controller.audit.others import TABLE, take_over
from ...controller.audit.partitions import check_commit, partition_row
from ...controller.audit.standing import Broken, Row, detail, listed
from ...controller.audit.steps import PARTITION_EVENTS
from ...controller.audit.term import Key, ReplayedCommit, ReplayedTerm
from ...controller.audit.throttles import throttle_set
from ..journal.lines import Event
from .edges import Lost
from .status import Statuses
from .values import Violation

_RULES: Final[Mapping[str, Callable[[ReplayedTerm, Row], None]]] = {
    **dict.fromkeys(PARTITION_EVENTS, partition_row),
    **TABLE,
    # Whether a reassignment runs depends on all topics, also on those that are not restored: `throttles` checks it.
    **dict.fromkeys(("ThrottleRemoved", "ThrottleRestored"), throttle_set),
}

KNOWN: Final = frozenset({*_RULES, "Takeover", "Gap"})

_OF_STATUS: Final = ("status", "purge")
"""Rules of a legal trace that overlap with `status`: those follow a status within a term, `status` over all terms."""


class _Open(NamedTuple):
    """What a commit has begun for a topic and must complete. `epoch`, `seq`: of the commit; `partitions`: with the last
    event of each."""

    epoch: int
    seq: int
    partitions: dict[int, tuple[ReplayedCommit, Event]]


class TopicTrace:
    """Follows all terms, event by event. `partitions`: those that rows name; `begun`,
    `losses`: how many terms began, and how often rows were missing, after which earlier knowledge is invalid."""

    def __init__(self) -> None:
        self.partitions: set[Key] = set()
        self.term: ReplayedTerm | None = None
        self.epochs: dict[tuple[str, str, int], int] = {}
        self._open: dict[str, _Open] = {}  # by topic
        self._spare = ReplayedCommit()  # one that is empty
        self.rows_lost = False
        self.begun = self.losses = 0
        self._torn: set[tuple[int, int]] = set()
        self.statuses = Statuses()

    def until(self, now_ms: int) -> Iterable[Violation]:  # noqa: ARG002 - as in `Throttles`
        """No rule of topics depends on time."""
        return ()

    def lost(self, place: Lost) -> list[Violation]:
        """Rows are missing before the next one. A commit that continues without its beginning is accepted, and one
        whose last row is missing is not judged. Returns what the commits before it left incomplete."""
        self._torn.add(place.unended)
        found = self.end()
        self._torn.add((place.epoch, place.seq))
        self.rows_lost = True
        return found

    def feed(self, event: Event) -> list[Violation]:
        """Take the next event, legal or not; return its violations, and what the commit before left incomplete."""
        row, term = event.row, self.term
        if row is None or (term is not None and row["epoch"] < term.epoch):
            return []  # `order` reports what a superseded controller writes, which changes nothing
        found = self._end_before(row)
        if term is None or self.rows_lost or term.epoch != row["epoch"] or row["event"] == "Takeover":
            term = self._begin(row)
        broken = self._apply(term, event, row)
        wrong = self.statuses.feed(row)
        if self._torn and (row["epoch"], row["seq"]) in self._torn:
            return found
        if broken is not None:
            found.append(_violation(event, broken))
        if wrong is not None and (broken is None or broken.rule not in _OF_STATUS):
            found.append(_violation(event, Broken(*wrong)))
        if row["event"] == "Takeover":
            found += self._in_flight(term, event, row)
        return found

    def end(self, last_ts_ms: int = 0) -> list[Violation]:  # noqa: ARG002 - as in `Throttles`
        """The journal has ended: return what is incomplete."""
        return [found for topic in list(self._open) for found in self._end(topic)]

    def _end_before(self, row: Row) -> list[Violation]:
        """Commits end before a row of another commit; the part of a topic ends before a row of that topic, of no topic,
        or of another term."""
        topic, term = row.get("topic"), self.term
        found = []
        for name in list(self._open) if topic is None or term is None or term.epoch != row["epoch"] else (topic,):
            held = self._open.get(name)
            if held is not None and (held.seq != row["seq"] or held.epoch != row["epoch"]):
                found += self._end(name)
        return found

    def _end(self, topic: str) -> list[Violation]:
        term = self.term
        assert term is not None
        held = self._open.pop(topic)
        if (held.epoch, held.seq) in self._torn:
            return []
        found = []
        for commit, last in held.partitions.values():
            term.commit = commit
            try:
                check_commit(term)
            except Broken as error:
                found.append(_violation(last, error))
        return found

    def _begin(self, row: Row) -> ReplayedTerm:
        term = self.term
        if term is None or term.epoch != row["epoch"] or row["event"] == "Takeover":
            term = self.term = ReplayedTerm(row["epoch"], self.epochs, is_whole=row["event"] == "Takeover")
            self.begun += 1
            self._open.clear()
            if self.rows_lost:
                self._forget()
        elif self.rows_lost:
            self._lose(term)
        self.rows_lost = False
        return term

    def _lose(self, term: ReplayedTerm) -> None:
        term.lost()
        self._open.clear()
        self._forget()

    def _forget(self) -> None:
        self.statuses.lost()
        self.losses += 1

    def _apply(self, term: ReplayedTerm, event: Event, row: Row) -> Broken | None:
        name = row["event"]
        rule = _RULES.get(name)
        if rule is None and name not in KNOWN and "replicas" in row and "partition" in row:
            rule = partition_row
        try:
            if rule is not None:
                self._rule(term, event, row, rule)
            elif name == "Takeover":
                take_over(term, {"detail": {k: v for k, v in detail(row).items() if k not in ("moves", "intents")}})
            elif name == "Gap":
                self._gap(term, row)
        except Broken as error:
            return error
        return None

    def _rule(self, term: ReplayedTerm, event: Event, row: Row, rule: Callable[[ReplayedTerm, Row], None]) -> None:
        """Each partition has its own part of a commit; parts with something to complete are kept. Raises Broken."""
        topic, partition = row.get("topic"), row.get("partition")
        if topic is None or partition is None:
            term.commit = ReplayedCommit()
            rule(term, row)
            return
        held = self._open.get(topic)
        begun = None if held is None else held.partitions.get(partition)
        if begun is None:
            self.partitions.add((topic, partition))
        commit = term.commit = self._spare if begun is None else begun[0]
        try:
            rule(term, row)
        finally:
            if begun is not None or commit.grows or commit.completing or commit.owed or commit.targeted:
                if begun is None:
                    self._spare = ReplayedCommit()
                if held is None:
                    held = self._open[topic] = _Open(row["epoch"], row["seq"], {})
                held.partitions[partition] = commit, event

    def _gap(self, term: ReplayedTerm, row: Row) -> None:
        """A Gap of an earlier term, written after this term's Takeover, hides nothing of this term."""
        first = detail(row).get("first")
        if not isinstance(first, Mapping) or first.get("controller_epoch") == term.epoch:
            self._lose(term)

    def _in_flight(self, term: ReplayedTerm, event: Event, row: Row) -> Iterator[Violation]:
        """Check each entry that a Takeover lists by itself."""
        for name in ("moves", "intents"):
            try:
                found = listed(detail(row), name)
            except Broken as error:
                yield _violation(event, error)
                continue
            for one in found:
                try:
                    take_over(term, {"detail": {name: [one]}})
                except Broken as error:
                    yield _violation(event, error, one)


def _violation(event: Event, error: Broken, about: Any = None) -> Violation:
    """`about`: the entry that the violation is about, if the row itself has no topic."""
    row = event.row
    assert row is not None
    named = about if isinstance(about, Mapping) else row
    topic, partition, broker = named.get("topic"), named.get("partition"), named.get("broker")
    return Violation(
        error.rule,
        event.file,
        event.line,
        row["epoch"],
        row["seq"],
        row["row"],
        row["event"],
        row["ts"],
        topic if isinstance(topic, str) else None,
        partition if type(partition) is int else None,
        broker if type(broker) is int else None,
        error.expected,
        error.got,
    )
