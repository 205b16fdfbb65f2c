"""Marks, and the configs that they are about: each function gives values or records, and changes nothing.

A mark is written before, or with, what it marks. The key under the KIP's other name is taken into ours by the first
mark that we write: what it lists has no `previous`, so whatever stands there counts as set by a throttle, as the KIP
has it; what an operator sets from then on is his.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from controller.model.records import (
    ConfigsAltered,
    Record,
    ThrottleMarkChanged,
    ThrottleReleased,
    ThrottleRemoved,
    ThrottleRestored,
    ThrottleSet,
    ThrottleStays,
)
from controller.model.throttles import (
    CONFIGS,
    NO_MARK,
    OLD,
    Kept,
    MarkKind,
    MarkSlot,
    Previous,
    ThrottleMark,
    ThrottlePlan,
    Wanted,
)
from controller.model.values import ConfigEntity, UnreadConfigs, configs_after
from controller.model.view import ClusterView
from controller.rules.throttling.keeping import given_back, joined, released, trimmed, values_in, written

REMOVAL: Final = "throttle removal"
REPLACED: Final = "replaced"
STAYS: Final = "to stay"
"""Causes. A throttle that is to stay is marked by nobody: its row says so, for whoever reads only rows."""

After = Callable[[str], Mapping[str, str]]
"""By owner: its configs as they are to be."""


def configs_of(view: ClusterView, kind: MarkKind, owner: str) -> Mapping[str, str]:
    """The own configs of a topic or a broker."""
    return view.topic_config(owner) if kind == "topics" else view.broker_config(owner)


def is_there(view: ClusterView, kind: MarkKind, owner: str) -> bool:
    """Whether the owner has configs at all: a topic that was deleted has none."""
    return kind == "brokers" or view.topic(owner) is not None


def is_unread(view: ClusterView, kind: MarkKind, owner: str) -> bool:
    """Whether its configs cannot be read; or nobody knows a topic, since its key cannot."""
    if kind == "topics" and view.topic(owner) is None:
        return view.unreadable(owner) is not None
    return isinstance(configs_of(view, kind, owner), UnreadConfigs)


# --- what is kept


def kept_of(view: ClusterView, kind: MarkKind, owner: str) -> Mapping[str, Kept]:
    """What the marks keep of an owner, by config; of one that is marked without a word: all that is there is ours."""
    mark = view.throttles.mark(kind)
    if owner in mark.previous:
        return mark.previous[owner]
    if owner not in mark.owners and owner not in view.throttles.old(kind).owners:
        return {}
    there = configs_of(view, kind, owner)
    return {name: Kept(None, values_in(name, there[name])) for name in CONFIGS[kind] if name in there}


def absorbed(view: ClusterView, kind: MarkKind) -> ThrottleMark:
    """Our mark, with all that both keys say."""
    mark = view.throttles.mark(kind)
    owners = view.throttles.owners(kind)
    new = [owner for owner in owners if owner not in mark.previous and not is_unread(view, kind, owner)]
    known = {owner: kept_of(view, kind, owner) for owner in new}
    return attrs.evolve(mark, owners=owners, previous={**mark.previous, **known}, problem=None)


def joined_mark(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> ThrottleMark:
    """The mark that is written before what the plan wants is set."""
    mark = absorbed(view, kind)
    there = [owner for owner in plan.wanted[kind] if is_there(view, kind, owner)]
    previous = {**mark.previous, **{owner: _joined(view, kind, owner, plan) for owner in there}}
    owners = tuple(dict.fromkeys((*mark.owners, *there)))
    return attrs.evolve(mark, owners=owners, previous=previous)


def _joined(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> dict[str, Kept]:
    kept, present = dict(kept_of(view, kind, owner)), configs_of(view, kind, owner)
    for config, values in plan.wanted[kind][owner].items():
        kept[config] = joined(config, kept.get(config), present.get(config), values)
    return kept


def rejoined_records(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> list[Record]:
    """An operator set something else since the mark was written: it says so in the commit that sets over it."""
    kept = _joined(view, kind, owner, plan)
    if kept == kept_of(view, kind, owner):
        return []
    mark = absorbed(view, kind)
    return mark_records(view, kind, attrs.evolve(mark, previous={**mark.previous, owner: kept}))


def final_mark(view: ClusterView, kind: MarkKind, mark: ThrottleMark, plan: ThrottlePlan, after: After) -> ThrottleMark:
    """The mark once a plan is done: what was asked for; or, where that is to stay, the rest. Of whose configs cannot
    be read it says what it said: nobody knows what stands there, so nothing of it was given back."""
    kept = _asked_for(mark, kind, plan) if plan.auto_remove else _not_released(mark, plan.wanted[kind])
    unread = frozenset(owner for owner in mark.owners if is_unread(view, kind, owner))
    owners = tuple(owner for owner in mark.owners if owner in kept or owner in unread)
    previous = {
        owner: mark.previous[owner] if owner in unread else _cut_down(kept[owner], after(owner))
        for owner in owners
        if owner in mark.previous
    }
    return attrs.evolve(mark, owners=owners, previous=previous)


def _asked_for(mark: ThrottleMark, kind: MarkKind, plan: ThrottlePlan) -> Previous:
    asked = plan.spared | plan.wanted[kind].keys()
    return {owner: kept for owner, kept in mark.previous.items() if owner in asked}


def _not_released(mark: ThrottleMark, wanted: Wanted) -> Previous:
    """What was asked for stays; of whom it names, other configs that are marked go with the last move all the same."""
    previous = dict(mark.previous)
    for owner in wanted.keys() & previous.keys():
        kept = {
            name: released(name, one, wanted[owner].get(name, ())) if name in wanted[owner] else one
            for name, one in previous.pop(owner).items()
        }
        if left := {name: one for name, one in kept.items() if one is not None}:
            previous[owner] = left
    return previous


def without_owner(view: ClusterView, kind: MarkKind, owner: str) -> list[Record]:
    """The marks do not name the owner any more."""
    if owner not in view.throttles.owners(kind):
        return []
    mark = absorbed(view, kind)
    previous = {name: kept for name, kept in mark.previous.items() if name != owner}
    left = tuple(name for name in mark.owners if name != owner)
    return mark_records(view, kind, attrs.evolve(mark, owners=left, previous=previous))


def _cut_down(kept: Mapping[str, Kept], after: Mapping[str, str]) -> dict[str, Kept]:
    return {config: trimmed(config, one, after.get(config)) for config, one in kept.items()}


def mark_records(view: ClusterView, kind: MarkKind, mark: ThrottleMark) -> list[Record]:
    """Our key says `mark`, the other one goes."""
    found: list[Record] = []
    slots: tuple[tuple[MarkSlot, ThrottleMark], ...] = ((kind, mark), (OLD[kind], NO_MARK))
    for slot, after in slots:
        before = view.throttles.marks[slot]
        after = attrs.evolve(after, version=before.version)  # noqa: PLW2901 - where it stands is not what it says
        if before != after and not (before.version == 0 and not before.owners and not after.owners):
            found.append(ThrottleMarkChanged(slot, before, after))
    return found


# --- configs


def set_record(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> ThrottleSet | None:
    """The owner has the throttle that is wanted; None: it has."""
    before, kept = configs_of(view, kind, owner), kept_of(view, kind, owner)
    values = {
        config: written(config, kept.get(config), before.get(config), wanted, replaces=kind in plan.replaces)
        for config, wanted in plan.wanted[kind][owner].items()
    }
    after, cause = with_values(before, values), "" if plan.auto_remove else STAYS
    return None if after == before else ThrottleSet(ConfigEntity(kind, owner), before, after, cause)


def back_record(view: ClusterView, kind: MarkKind, owner: str, cause: str) -> ConfigsAltered | None:
    """The owner has what it had before its throttle; None: there is nothing to give back."""
    if not is_there(view, kind, owner) or is_unread(view, kind, owner):
        return None
    before = configs_of(view, kind, owner)
    after = with_values(
        before,
        {
            config: given_back(config, kept, before.get(config))
            for config, kept in kept_of(view, kind, owner).items()
            if config in CONFIGS[kind]
        },
    )
    if after == before:
        return None
    is_restored = any(after.get(name, value) != value for name, value in before.items())
    record = ThrottleRestored if is_restored else ThrottleRemoved
    return record(ConfigEntity(kind, owner), before, after, cause)


def released_record(view: ClusterView, kind: MarkKind, owner: str, cause: str) -> ThrottleReleased | None:
    """An owner that leaves the mark as it is: for who reads only rows, this is its end. None: its configs change and
    say so, or nobody knows what they are."""
    is_known = is_there(view, kind, owner) and not is_unread(view, kind, owner)
    if not is_known or back_record(view, kind, owner, cause) is not None:
        return None
    return ThrottleReleased(ConfigEntity(kind, owner), cause)


def stays_record(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> ThrottleStays | None:
    """The same for an owner whose throttle is to stay, and is what is asked for."""
    is_marked = owner in view.throttles.owners(kind)
    if plan.auto_remove or not is_marked or set_record(view, kind, owner, plan) is not None:
        return None
    return ThrottleStays(ConfigEntity(kind, owner), STAYS)


def with_values(before: Mapping[str, str], values: Mapping[str, str | None]) -> Mapping[str, str]:
    """The configs with these values; None: without it."""
    after = {**before, **{name: value for name, value in values.items() if value is not None}}
    left = {name: value for name, value in after.items() if name not in values or values[name] is not None}
    return configs_after(before, left)
