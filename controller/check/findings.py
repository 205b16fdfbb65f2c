"""Findings as values, and the table of their kinds.

* error: no controller can lead with this tree, or an invariant of the design is broken.
* warning: something is left over or overdue; an operator should look.
* note: a normal state that ends without action, or worth knowing. Work that waits for a missing controller or broker is
  a note, whatever its kind.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
"""Worst first."""

_CHARACTERS_MAX: Final = 200  # length limit of `expected` and of `got`
_SHOWN: Final = reprlib.Repr()
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxset = 12
_SHOWN.maxstring = _SHOWN.maxother = 80


@attrs.frozen
class Kind:
    """The common part of findings of one kind. `severity` is the highest that they have."""

    severity: Severity
    meaning: str


@attrs.frozen(order=True, weakref_slot=False)
class Finding:
    """One thing that is not as it should be. `kind` is a key of KINDS; `expected` and `got` are "" where `what` is
    enough."""

    severity: Severity
    key: str
    kind: str
    what: str
    expected: str = ""
    got: str = ""


@attrs.frozen
class Counts:
    """What a tree has: keys, readable topics and partitions, registered brokers, running moves (Kedge's and Kafka's),
    open delete intents."""

    keys: int
    topics: int
    partitions: int
    brokers: int
    moves: int
    intents: int


@attrs.frozen
class Report:
    """What was found, worst first, then by key. `consistent`: the entries belong to one instant."""

    findings: tuple[Finding, ...]
    counts: Counts
    consistent: bool = True

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of this severity and worse."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in worst)


def find(kind: str, key: str, what: str, expected: object = "", got: object = "", *, due: bool = True) -> Finding:
    """A finding; with the severity note where it is not `due`, because no controller was there to repair it."""
    return Finding(KINDS[kind].severity if due else "note", key, kind, what, _text(expected), _text(got))


def _text(value: object) -> str:
    return (value if type(value) is str else _SHOWN.repr(value))[:_CHARACTERS_MAX]


KINDS: Final[Mapping[str, Kind]] = {
    # What cannot be read
    "unreadable": Kind("error", "the value has a wrong format: no JSON, a field missing or of another type"),
    "empty-list": Kind("error", "a list of brokers is empty that must have one (isr, replicas)"),
    "duplicate-broker": Kind("error", "a list of brokers names one twice"),
    "partition-hole": Kind("error", "the partition ids of a topic are not 0..n-1"),
    "bad-name": Kind("error", "the last part of the key is no topic, partition, broker or number"),
    "unknown-version": Kind("warning", "the value has a version that this library does not know"),
    "unknown-key": Kind("note", "keys that neither Kedge nor Kafka is known to write, counted by prefix"),
    "value-too-large": Kind("error", "the value is larger than a key may hold"),
    "value-near-limit": Kind("warning", "the value is larger than four fifths of what a key may hold"),
    "empty-tree": Kind("warning", "there is no key at all: is this the right store and root?"),
    # Topics and partitions
    "topic-id-missing": Kind("warning", "a topic key of an old version, without topic_id; the controller adds one"),
    "topic-id-twice": Kind("error", "two topics have the same topic_id"),
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
    "unfinished-completion": Kind("warning", "every target is in sync, but targetReplicas is not cleared"),
    "orphan-reassignment": Kind("warning", "a reassignment block without targetReplicas"),
    "recovering-isr": Kind("error", "a leader that recovers from an unclean election, with followers in its isr"),
    "retired-epoch": Kind("error", "a leader epoch that is not above the last one of the purged partition of this id"),
    "state-epoch": Kind("error", "a state key's controller_epoch is no number, or above /controller_epoch"),
    "status-without-order": Kind("warning", "a partition is not online, but no reduction is ordered for it"),
    # Orders
    "empty-key": Kind("warning", "a list of work without an entry; the key should be deleted with its last entry"),
    "open-intent": Kind("note", "replicas that must be deleted, with no acknowledgement yet"),
    "void-intent": Kind("warning", "a delete intent for a broker that is a member of the partition (again)"),
    "stale-intent": Kind("warning", "a delete intent of a topic_id that no topic has, for a registered broker"),
    "orphan-intent": Kind("warning", "a delete intent for a broker that is neither registered nor known"),
    "seq-ahead": Kind("warning", "the number of a key is above the counter that it was taken from"),
    "unknown-partition": Kind("warning", "an order names a topic or partition that does not exist"),
    "order-pending": Kind("note", "an order that is not carried out yet"),
    "deletion-under-way": Kind("note", "a topic is being deleted"),
    "deletion-left-behind": Kind("warning", "a deletion of a topic that does not exist"),
    "reduction-under-way": Kind("note", "partitions of a topic are being removed"),
    "reduction-left-behind": Kind("warning", "a reduction of a topic that does not exist"),
    "reduction-not-tail": Kind("error", "a reduction of partitions that are not the last ones"),
    "reduction-not-begun": Kind("warning", "a reduction of a partition that is still online"),
    "throttle-removal-due": Kind("warning", "throttles are marked for removal, but nothing is being reassigned"),
    # The cluster
    "no-controller": Kind("note", "/controller does not exist: pending work waits for a controller"),
    "store-move": Kind(
        "warning",
        "the cluster is moving to or from another store (note), or was fenced or moved away: no controller leads here",
    ),
    "controller-stays": Kind("warning", "/controller belongs to no session, so no controller can ever be elected"),
    "epoch-missing": Kind("error", "/controller_epoch is missing, but keys were written under an epoch"),
    "token-ahead": Kind("error", "the epoch of the commit token is above /controller_epoch"),
    "token-missing": Kind("warning", "Kedge has led this cluster, but /kedge/commit is missing"),
    "never-led": Kind("note", "no controller of Kedge has led this cluster"),
    "format-newer": Kind("error", "/kedge/format requires a newer controller: this version would not lead"),
    "nobody-registered": Kind("note", "no broker is registered: liveness is not checked"),
    "registration-stays": Kind("warning", "a registration belongs to no session, so its broker never dies"),
    "admitted-ahead": Kind("error", "a broker was admitted under a later registration than its present one"),
    "not-admitted": Kind("warning", "a registered broker is not admitted, or under an earlier registration"),
    "broker-down": Kind("note", "a broker that was admitted is not registered"),
    "never-a-broker": Kind("warning", "replicas on an id that no broker has, or is known to have had"),
    "orphan-config": Kind("warning", "a config of a topic that does not exist"),
    "notice-unread": Kind("warning", "a notification still exists: no controller has acted on it"),
    "changes-left": Kind("warning", "more config changes than fifteen minutes can produce: they are not purged"),
}
