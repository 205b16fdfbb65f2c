"""Findings as values, and the table of their kinds.

* error: no controller leads over this as it is, or what must never happen has happened (the invariants of the design).
* warning: left behind or overdue; an operator should look.
* note: as it may be for a while, and goes by itself, or is worth knowing. What is due but waits for a controller or a
  broker that is not there is a note, whatever its kind.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
"""Worst first."""

_CHARACTERS_MAX: Final = 200  # of what was expected, and of what was got
_SHOWN: Final = reprlib.Repr()
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxset = 12
_SHOWN.maxstring = _SHOWN.maxother = 80


@attrs.frozen
class Kind:
    """What findings of one kind have in common. `severity` is the highest that they have."""

    severity: Severity
    meaning: str


@attrs.frozen(order=True, weakref_slot=False)
class Finding:
    """One thing that is not as it should be. `kind` is a key of KINDS; `expected` and `got` are "" where `what` says
    it all."""

    severity: Severity
    key: str
    kind: str
    what: str
    expected: str = ""
    got: str = ""


@attrs.frozen
class Counts:
    """What a tree holds: keys, topics and partitions that can be read, registered brokers, moves that run
    (of ours and of Kafka's), replicas that are to be deleted."""

    keys: int
    topics: int
    partitions: int
    brokers: int
    moves: int
    intents: int


@attrs.frozen
class Report:
    """What was found, worst first, then by key. `consistent`: the entries were those of one instant."""

    findings: tuple[Finding, ...]
    counts: Counts
    consistent: bool = True

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in worst)


def find(kind: str, key: str, what: str, expected: object = "", got: object = "", *, due: bool = True) -> Finding:
    """A finding; a note where it is not `due`, since no controller or broker is there that could have mended it."""
    return Finding(KINDS[kind].severity if due else "note", key, kind, what, _text(expected), _text(got))


def _text(value: object) -> str:
    return (value if type(value) is str else _SHOWN.repr(value))[:_CHARACTERS_MAX]


KINDS: Final[Mapping[str, Kind]] = {
    # What cannot be read
    "unreadable": Kind("error", "the value is not of its key's kind: no JSON, a field missing or of another kind"),
    "empty-list": Kind("error", "a list of brokers that must name one names none: isr, replicas"),
    "duplicate-broker": Kind("error", "a list of brokers names one twice"),
    "partition-hole": Kind("error", "the partition ids of a topic are not 0..n-1"),
    "bad-name": Kind("error", "the key's name is no topic, partition, broker or number"),
    "unknown-version": Kind("warning", "the value has a version that this library does not know"),
    "unknown-key": Kind("note", "keys that neither Kedge nor Kafka is known to write, counted by prefix"),
    "value-too-large": Kind("error", "the value is above the limit of a key"),
    "value-near-limit": Kind("warning", "the value is above four fifths of the limit of a key"),
    "empty-tree": Kind("warning", "there is no key at all: perhaps another store or root was meant"),
    # Topics and partitions
    "topic-id-missing": Kind("warning", "a topic key of an old version, without topic_id; the controller gives one"),
    "topic-id-twice": Kind("error", "two topics have one topic_id"),
    "kafka-move": Kind("note", "a move of Kafka's in a topic key; the controller takes it over"),
    "state-missing": Kind("warning", "a partition without a state key, though a replica's broker is registered"),
    "orphan-state": Kind("warning", "a state key of a partition that its topic does not list"),
    "orphan-topic": Kind("warning", "state keys of a topic that has no topic key"),
    "isr-outside": Kind("error", "the isr has a member outside replicas and targetReplicas"),
    "leader-outside-isr": Kind("error", "the leader is not in the isr"),
    "leader-gone": Kind("warning", "the leader's broker is not registered"),
    "isr-gone": Kind("warning", "a follower in the isr whose broker is not registered"),
    "no-leader": Kind("warning", "no leader, though a broker of the isr is registered"),
    "offline": Kind("note", "no leader, and no broker of the isr is registered"),
    "unfinished-completion": Kind("warning", "every target is in sync, and targetReplicas is still there"),
    "orphan-reassignment": Kind("warning", "a reassignment block without targetReplicas"),
    "recovering-isr": Kind("error", "a leader that recovers from an unclean election, with followers in its isr"),
    "retired-epoch": Kind("error", "a leader epoch that is not above that of the purged partition of this id"),
    "state-epoch": Kind("error", "a state key's controller_epoch is no number, or above /controller_epoch"),
    "status-without-order": Kind("warning", "a partition is not online, and no reduction is ordered for it"),
    # Orders
    "empty-key": Kind("warning", "a list of work without entries; the key should have gone with the last one"),
    "open-intent": Kind("note", "replicas that are to be deleted, and not yet acknowledged"),
    "void-intent": Kind("warning", "a delete intent for a broker that is a member of the partition (again)"),
    "stale-intent": Kind("warning", "a delete intent of a topic_id that no topic has, for a registered broker"),
    "orphan-intent": Kind("warning", "a delete intent for a broker that is neither registered nor known"),
    "seq-ahead": Kind("warning", "the number of a key is above the counter that it was drawn from"),
    "unknown-partition": Kind("warning", "an order names a topic or partition that does not exist"),
    "order-pending": Kind("note", "an order that is not carried out yet"),
    "deletion-under-way": Kind("note", "a topic is being deleted"),
    "deletion-left-behind": Kind("warning", "a deletion of a topic that does not exist"),
    "reduction-under-way": Kind("note", "partitions are being taken away from a topic"),
    "reduction-left-behind": Kind("warning", "a reduction of a topic that does not exist"),
    "reduction-not-tail": Kind("error", "a reduction of partitions that are not the last ones"),
    "reduction-not-begun": Kind("warning", "a reduction of a partition that is still online"),
    "throttle-removal-due": Kind("warning", "throttles are marked for removal, and nothing is being reassigned"),
    # The cluster
    "no-controller": Kind("note", "no controller is elected: pending work waits"),
    "store-move": Kind(
        "warning", "the cluster was moved to another store, or is not complete here yet: no controller leads"
    ),
    "controller-stays": Kind("warning", "/controller belongs to no session, so only `kedge kafka-controller` can lead"),
    "epoch-missing": Kind("error", "/controller_epoch is missing, and keys were written under an epoch"),
    "token-ahead": Kind("error", "the epoch of the commit token is above /controller_epoch"),
    "token-missing": Kind("warning", "Kedge has led here, and /kedge/commit is missing"),
    "never-led": Kind("note", "no controller of Kedge has led here"),
    "format-newer": Kind("error", "/kedge/format requires a newer controller: this one would only stand by"),
    "no-broker": Kind("note", "no broker is registered: rules about live brokers are not checked"),
    "registration-stays": Kind("warning", "a registration belongs to no session, so its broker never dies"),
    "admitted-ahead": Kind("error", "a broker was admitted under a later registration than it has"),
    "not-admitted": Kind("warning", "a registered broker is not admitted, or under an earlier registration"),
    "broker-down": Kind("note", "a broker that was admitted is not registered"),
    "never-a-broker": Kind("warning", "replicas on an id that is not registered, and that no broker ever had"),
    "orphan-config": Kind("warning", "a config of a topic that does not exist"),
    "notice-unread": Kind("warning", "a notification is still there: no controller has acted on it"),
    "changes-left": Kind("warning", "more config changes than fifteen minutes can leave: they are not purged"),
}
