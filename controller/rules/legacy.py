"""The legacy key `/admin/reassign_partitions` (KIP-455): another way to request moves, decided by the same rules as the
API.

* A client writes a plan while the key is absent. Once it was read, the controller owns its content: later changes by
  other programs are reported and overwritten. An unreadable key has no owner, and is removed once nothing else runs.
* A plan is one Decision (which drops its invalid entries); each of its entries is another one.
* An entry leaves the key when its move ends, in whatever way. Only an entry whose move completed may stay for a while:
  a takeover finds R as requested, and does nothing. Every other entry leaves in the commit that ends it. So does an
  entry, completed or not, whose partition a later request is about: a takeover would carry it out again.
* A later request wins. So an entry that a takeover finds in the key was not begun, or is the target of the running
  move, or is done, or was written while no controller led: it wins over T, and needs no other memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from ..model.errors import ApiError, NoReassignmentInProgress
from ..model.events import (
    AlterReassignment,
    Decision,
    Event,
    LegacyKeyDue,
    LegacyKeyRead,
    LegacyPlanDue,
    PartitionDue,
    Reason,
)
from ..model.legacy import LegacyEntry, LegacyKey, LegacyName
from ..model.records import Record
from ..model.requests import ReassignmentAnswer
from ..model.view import ClusterView
from ..records import (
    COMPLETED,
    DROPPED,
    KeyAdopted,
    LegacyEntryRemoved,
    LegacyKeyBroken,
    LegacyKeyChanged,
    LegacyKeyRemoved,
    LegacyKeyRewritten,
    LegacySubmitted,
    PartitionChanged,
)
from .reassignment import alter_reassignment

LATER: Final = "a later request"


def legacy_key_read(view: ClusterView, event: LegacyKeyRead) -> Decision:
    """A new plan is taken over. A key that this controller owns and another program wrote is written again, once it can
    be read."""
    legacy, found = view.legacy, event.found
    is_owned = legacy.is_there and (legacy.key.problem is None or bool(legacy.entries))
    is_leaving = not legacy.is_there and legacy.key.is_there
    # The content counts too: a key that was deleted and written again may have the same version.
    if view.is_known(event.at) and found == legacy.key and (found.is_there or not is_owned):
        return Decision()
    adopted = KeyAdopted(event.at)
    if is_owned or is_leaving:
        return Decision((adopted, LegacyKeyChanged(found, _what(found, is_owned=is_owned))))
    if found.problem is not None or not found.is_there:
        return Decision((adopted, LegacyKeyBroken(legacy.key, found)))
    plan = {entry.name: entry for entry in found.entries}
    dropped, due = _admit(view, event.now_ms, plan.values(), found)
    gone = (LegacyKeyRemoved(),) if len(dropped) == len(plan) else ()
    return Decision((adopted, LegacySubmitted(found), *dropped, *gone), expand=due)


def _what(found: LegacyKey, *, is_owned: bool) -> str:
    happened = found.problem or ("written by another program" if found.is_there else "deleted by another program")
    return f"{happened}; {'the moves go on, written again' if is_owned else 'removed'}"


def legacy_plan_due(view: ClusterView, event: LegacyPlanDue) -> Decision:
    """Continue with the entries that a takeover found."""
    legacy = view.legacy
    if not legacy.is_there:
        return Decision()
    entries = sorted(legacy.entries.values(), key=lambda entry: entry.name)
    dropped, due = _admit(view, event.now_ms, entries, legacy.key)
    gone = (LegacyKeyRemoved(),) if len(dropped) == len(legacy.entries) else ()
    return Decision((*dropped, *gone), expand=due)


def _admit(
    view: ClusterView, now_ms: int, entries: Iterable[LegacyEntry], key: LegacyKey
) -> tuple[tuple[Record, ...], tuple[Event, ...]]:
    """The entries that are dropped, and the events for the rest."""
    dropped: list[Record] = []
    due: list[Event] = []
    unclear = _named_for_two_targets(key)
    for entry in entries:
        reason = "named with two targets" if entry.name in unclear else _refusal(view, now_ms, entry)
        if reason is None:
            due.append(PartitionDue(now_ms, entry.topic, entry.partition, Reason.PLANNED))
        else:
            dropped.append(LegacyEntryRemoved(entry, DROPPED, at_once=True, reason=reason))
    return tuple(dropped), tuple(due)


def _named_for_two_targets(key: LegacyKey) -> set[LegacyName]:
    if len(key.names) == len(key.entries):
        return set()
    targets = {entry.name: entry.target for entry in key.entries}
    return {entry.name for entry in key.entries if entry.target != targets[entry.name]}


def _refusal(view: ClusterView, now_ms: int, entry: LegacyEntry) -> str | None:
    """Why a request for the same would be refused; None if it would not be."""
    reply = alter_reassignment(view, _request(now_ms, entry)).reply
    return reply.message if isinstance(reply, ApiError) else None


def _request(now_ms: int, entry: LegacyEntry) -> AlterReassignment:
    return AlterReassignment(now_ms, entry.topic, entry.partition, entry.target)


def legacy_entry_due(view: ClusterView, event: PartitionDue) -> Decision:
    """The move of an entry begins, or replaces the running one; with the same target it continues."""
    entry = view.legacy.entries.get((event.topic, event.partition))
    if entry is None:
        return Decision()  # a later request replaced it
    decision = alter_reassignment(view, _request(event.now_ms, entry))
    reply = decision.reply
    if isinstance(reply, ApiError):
        return _without(view, (LegacyEntryRemoved(entry, DROPPED, at_once=True, reason=reply.message),))
    assert isinstance(reply, ReassignmentAnswer)
    if decision.records or reply.target_replicas is not None:
        return Decision(decision.records)
    return _without(view, (LegacyEntryRemoved(entry, COMPLETED, at_once=False),))


def _without(view: ClusterView, records: tuple[Record, ...]) -> Decision:
    """Remove entries, and the key with the last one."""
    removed = sum(isinstance(record, LegacyEntryRemoved) for record in records)
    gone = removed > 0 and removed == len(view.legacy.entries)
    return Decision((*records, LegacyKeyRemoved()) if gone else records)


def legacy_key_due(view: ClusterView, event: LegacyKeyDue) -> Decision:
    """A key that lacks changes is written again; an unreadable one is removed if no move runs."""
    legacy = view.legacy
    if legacy.is_behind:
        return Decision((LegacyKeyRewritten(),))
    if legacy.is_there and legacy.key.problem is not None and not any(True for _ in view.moving()):
        return Decision((LegacyKeyRemoved(),))
    return Decision()


def add_consequences(view: ClusterView, event: Event, decision: Decision) -> Decision:
    """What `decision` means for the legacy key: partitions that no longer move, or were requested again, leave it."""
    if not decision.records and type(event) is not AlterReassignment:
        return decision
    if isinstance(decision.reply, NoReassignmentInProgress):
        decision = _cancel_unbegun(view, event, decision)
    records: list[Record] = []
    for name, (cause, at_once) in _ended(event, decision).items():
        entry = view.legacy.entries.get(name)
        if entry is not None and cause:
            records.append(LegacyEntryRemoved(entry, cause, at_once=at_once))
        elif entry is None and at_once and name in view.legacy.key.names:
            records.append(LegacyKeyRewritten())
    if not records:
        return decision
    followed = _without(view, tuple(records)).records
    return attrs.evolve(decision, records=(*decision.records, *followed))


def _cancel_unbegun(view: ClusterView, event: Event, decision: Decision) -> Decision:
    """Cancelling a move that an entry in force requests, and that has not begun, is not an error."""
    assert isinstance(event, AlterReassignment)
    partition = view.partition(event.topic, event.partition)
    if partition is None or (event.topic, event.partition) not in view.legacy.entries:
        return decision
    return Decision(reply=ReassignmentAnswer(partition.replicas, None, partition.replicas))


def _ended(event: Event, decision: Decision) -> Mapping[LegacyName, tuple[str, bool]]:
    """By partition: why its entry ends (empty: it does not, if it is in force), and whether the key must no longer name
    the partition after this commit."""
    found: dict[LegacyName, tuple[str, bool]] = {}
    is_planned = type(event) is PartitionDue and event.reason is Reason.PLANNED
    changes = (record for record in decision.records if isinstance(record, PartitionChanged))
    for step in (step for change in changes for step in change.steps()):
        if step.after.move is not step.before.move:
            name, set_again = (step.after.topic, step.after.partition), step.after.move is not None
            if set_again:
                found[name] = ("", not is_planned)
            else:
                cause, at_once = step.cause or "ended", found.get(name, ("", False))[1]
                found[name] = (cause, at_once or cause != COMPLETED)
    if type(event) is AlterReassignment and not isinstance(decision.reply, ApiError):
        name = (event.topic, event.partition)
        ended = found.get(name, ("", True))[0]
        found[name] = (LATER if ended in {"", COMPLETED} else ended, True)
    return found
