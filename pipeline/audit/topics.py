"""The rules of a legal trace over the rows of some topics, and of everything that is of no topic.

* All rows of a topic are together, and rows without a topic (terms, brokers, the legacy key) go to every group: no rule
  asks for more. So it does not matter how topics are spread over groups, and one group is as good as a hundred.
* For that a commit is ended partition by partition, and what a Takeover lists is checked move by move: the first that
  breaks a rule does not hide the next.
* Numbers, terms and the chain are looked at elsewhere (`order`), over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from controller.rules.legal_trace.others import TABLE, take_over
from controller.rules.legal_trace.partitions import check_commit, partition_row
from controller.rules.legal_trace.standing import Broken, Row, detail, listed
from controller.rules.legal_trace.steps import PARTITION_EVENTS
from controller.rules.legal_trace.term import Commit, Key, Term
from controller.rules.legal_trace.throttles import throttle_set
from pipeline.audit.status import Statuses
from pipeline.audit.values import Violation
from pipeline.journal.lines import Event

_RULES: Final[Mapping[str, Callable[[Term, Row], None]]] = {
    **dict.fromkeys(PARTITION_EVENTS, partition_row),
    **TABLE,
    # Whether anything moves is asked of all topics, which no group has: `throttles` does.
    **dict.fromkeys(("ThrottleRemoved", "ThrottleRestored"), throttle_set),
}

KNOWN: Final = frozenset({*_RULES, "Takeover", "Gap"})

_OF_STATUS: Final = ("status", "purge")
"""Rules of a legal trace that tell what `status` tells: those follow a status within a term, `status` over all."""


class _Open(NamedTuple):
    """What a commit has begun of a topic. `at`: its epoch and seq; per partition, and the last event of it."""

    at: tuple[int, int]
    partitions: dict[int, tuple[Commit, Event]]


class TopicTrace:
    """All terms, event by event, of the topics of a group. `partitions`: of which a row spoke."""

    def __init__(self) -> None:
        self.partitions: set[Key] = set()
        self._term: Term | None = None
        self._epochs: dict[tuple[str, str, int], int] = {}
        self._open: dict[str, _Open] = {}  # by topic
        self._rows_lost = False
        self._torn: set[tuple[int, int]] = set()
        self._statuses = Statuses()

    def lost(self, epoch: int = -1, seq: int = -1) -> None:
        """Rows are missing before the next one. `epoch`, `seq`: of the commit that goes on without its beginning: what
        it says is believed."""
        self._rows_lost = True
        self._torn.add((epoch, seq))
        self._open.clear()  # how these commits ended is among what is missing

    def feed(self, event: Event) -> Iterator[Violation]:
        """Take in the next event, legal or not; what it breaks, and what its commit before left half done."""
        row = event.row
        if row is None or (self._term is not None and row["epoch"] < self._term.epoch):
            return  # what a superseded controller writes is told by `order`, and changes nothing
        yield from self._end_before(row)
        term = self._begin(row)
        found = self._apply(term, event, row)
        if (row["epoch"], row["seq"]) in self._torn:
            list(self._statuses.feed(row))
            return
        if found is not None:
            yield _violation(event, found)
        for rule, expected, got in self._statuses.feed(row):
            if found is None or found.rule not in _OF_STATUS:
                yield _violation(event, Broken(rule, expected, got))
        if row["event"] == "Takeover":
            yield from self._in_flight(term, event, row)

    def end(self) -> Iterator[Violation]:
        """The journal is over: nothing is left half done."""
        for topic in list(self._open):
            yield from self._end(topic)

    def _end_before(self, row: Row) -> Iterator[Violation]:
        """Commits end before a row of another commit; those of a topic, before one of that topic or of none."""
        at, topic = (row["epoch"], row["seq"]), row.get("topic")
        for name in list(self._open) if topic is None else [topic]:
            held = self._open.get(name)
            if held is not None and held.at != at:
                yield from self._end(name)

    def _end(self, topic: str) -> Iterator[Violation]:
        term = self._term
        assert term is not None
        held = self._open.pop(topic)
        for commit, last in held.partitions.values() if held.at not in self._torn else ():
            term.commit = commit
            found = _broken_by(lambda: check_commit(term))
            if found is not None:
                yield _violation(last, found)

    def _begin(self, row: Row) -> Term:
        term = self._term
        if term is None or term.epoch != row["epoch"] or row["event"] == "Takeover":
            term = self._term = Term(row["epoch"], self._epochs, is_whole=row["event"] == "Takeover")
            self._open.clear()
            if self._rows_lost:
                self._statuses.lost()
        elif self._rows_lost:
            self._lose(term)
        self._rows_lost = False
        return term

    def _lose(self, term: Term) -> None:
        term.lost()
        self._open.clear()
        self._statuses.lost()

    def _apply(self, term: Term, event: Event, row: Row) -> Broken | None:
        name = row["event"]
        if name == "Takeover":
            bare = {k: v for k, v in detail(row).items() if k not in ("moves", "intents")}
            return _broken_by(lambda: take_over(term, {"detail": bare}))
        if name == "Gap":
            return _broken_by(lambda: self._gap(term, row))
        rule = _RULES.get(name)
        if rule is None:
            rule = partition_row if "replicas" in row and "partition" in row else None
        return None if rule is None else self._rule(term, event, row, rule)

    def _rule(self, term: Term, event: Event, row: Row, rule: Callable[[Term, Row], None]) -> Broken | None:
        topic, partition = row.get("topic"), row.get("partition")
        if topic is None or partition is None:
            term.commit = Commit()
            return _broken_by(lambda: rule(term, row))
        self.partitions.add((topic, partition))
        held = self._open.get(topic)
        if held is None:
            held = self._open[topic] = _Open((row["epoch"], row["seq"]), {})
        begun = held.partitions.get(partition)
        term.commit = Commit() if begun is None else begun[0]
        held.partitions[partition] = (term.commit, event)
        return _broken_by(lambda: rule(term, row))

    def _gap(self, term: Term, row: Row) -> None:
        """A Gap of a former term, told after this one's Takeover, hides nothing of this one."""
        first = detail(row).get("first")
        if not isinstance(first, Mapping) or first.get("controller_epoch") == term.epoch:
            self._lose(term)

    def _in_flight(self, term: Term, event: Event, row: Row) -> Iterator[Violation]:
        """Each thing that a Takeover lists, by itself."""
        for name in ("moves", "intents"):
            try:
                found = listed(detail(row), name)
            except Broken as error:
                yield _violation(event, error)
                continue
            for one in found:
                about = {"detail": {name: [one]}}
                wrong = _broken_by(lambda: take_over(term, about))  # noqa: B023 - called at once
                if wrong is not None:
                    yield _violation(event, wrong, one)


def _broken_by(rule: Callable[[], object]) -> Broken | None:
    try:
        rule()
    except Broken as error:
        return error
    return None


def _violation(event: Event, error: Broken, about: Any = None) -> Violation:
    """`about`: what is spoken of where the row itself is of no topic."""
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
