"""Marks, and the configs that they are about. Functions return values or records, and change nothing.

A mark is written before, or together with, what it marks. The key under the KIP's other name is merged into ours by the
first mark that we write: it has no `previous`, so all present values count as set by a throttle, as the KIP says;
values that an operator sets later are the operator's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from ...model.records import (
    ConfigsAltered,
    Record,
    ThrottleMarkChanged,
    ThrottleReleased,
    ThrottleRemoved,
    ThrottleRestored,
    ThrottleSet,
    ThrottleStays,
)
from ...model.throttles import (
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
from ...model.values import ConfigEntity, UnreadConfigs, configs_after
from ...model.view import ClusterView
from .keeping import given_back, joined, released, trimmed, values_in, written

REMOVAL: Final = "throttle removal"
REPLACED: Final = "replaced"
STAYS: Final = "to stay"
"""Causes. A throttle that is to stay has no mark; its row has this cause, for readers of rows alone."""

After = Callable[[str], Mapping[str, str]]
"""By owner: its future configs."""


def configs_of(view: ClusterView, kind: MarkKind, owner: str) -> Mapping[str, str]:
    """The own configs of a topic or a broker."""
    return view.topic_config(owner) if kind == "topics" else view.broker_config(owner)


def is_there(view: ClusterView, kind: MarkKind, owner: str) -> bool:
    """Whether the owner can have configs: a deleted topic cannot."""
    return kind == "brokers" or view.topic(owner) is not None


def is_unread(view: ClusterView, kind: MarkKind, owner: str) -> bool:
    """Whether its configs cannot be read, or the topic is unknown because its key cannot be read."""
    if kind == "topics" and view.topic(owner) is None:
        return view.unreadable(owner) is not None
    return isinstance(configs_of(view, kind, owner), UnreadConfigs)


# --- what marks keep


def kept_of(view: ClusterView, kind: MarkKind, owner: str) -> Mapping[str, Kept]:
    """What the marks keep of an owner, by config. Without a record in the mark, all its values count as ours."""
    mark = view.throttles.mark(kind)
    if owner in mark.previous:
        return mark.previous[owner]
    if owner not in mark.owners and owner not in view.throttles.old(kind).owners:
        return {}
    there = configs_of(view, kind, owner)
    return {name: Kept(None, values_in(name, there[name])) for name in CONFIGS[kind] if name in there}


def absorbed(view: ClusterView, kind: MarkKind) -> ThrottleMark:
    """Our mark, with the content of both keys."""
    mark = view.throttles.mark(kind)
    owners = view.throttles.owners(kind)
    new = [owner for owner in owners if owner not in mark.previous and not is_unread(view, kind, owner)]
    known = {owner: kept_of(view, kind, owner) for owner in new}
    return attrs.evolve(mark, owners=owners, previous={**mark.previous, **known}, problem=None)


def joined_mark(view: ClusterView, kind: MarkKind, plan: ThrottlePlan) -> ThrottleMark:
    """The mark that is written before the plan's throttles are set."""
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
    """An operator set another value since the mark was written: the mark records it in the commit that overwrites
    it."""
    kept = _joined(view, kind, owner, plan)
    if kept == kept_of(view, kind, owner):
        return []
    mark = absorbed(view, kind)
    return mark_records(view, kind, attrs.evolve(mark, previous={**mark.previous, owner: kept}))


def final_mark(view: ClusterView, kind: MarkKind, mark: ThrottleMark, plan: ThrottlePlan, after: After) -> ThrottleMark:
    """The mark once a plan is done: the requested throttles, or, if these are to stay, the rest. For unreadable configs
    it stays unchanged, since they could not be restored."""
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
    """Requested throttles stay; other marked configs of the same owners are still removed with the last move."""
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
    """The marks no longer name the owner."""
    if owner not in view.throttles.owners(kind):
        return []
    mark = absorbed(view, kind)
    previous = {name: kept for name, kept in mark.previous.items() if name != owner}
    left = tuple(name for name in mark.owners if name != owner)
    return mark_records(view, kind, attrs.evolve(mark, owners=left, previous=previous))


def _cut_down(kept: Mapping[str, Kept], after: Mapping[str, str]) -> dict[str, Kept]:
    return {config: trimmed(config, one, after.get(config)) for config, one in kept.items()}


def mark_records(view: ClusterView, kind: MarkKind, mark: ThrottleMark) -> list[Record]:
    """Write `mark` to our key, and delete the other one."""
    found: list[Record] = []
    slots: tuple[tuple[MarkSlot, ThrottleMark], ...] = ((kind, mark), (OLD[kind], NO_MARK))
    for slot, after in slots:
        before = view.throttles.marks[slot]
        after = attrs.evolve(after, version=before.version)  # noqa: PLW2901 - the version is not part of the content
        if before != after and not (before.version == 0 and not before.owners and not after.owners):
            found.append(ThrottleMarkChanged(slot, before, after))
    return found


# --- configs


def set_record(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> ThrottleSet | None:
    """The owner gets the wanted throttle; None: it has it."""
    before, kept = configs_of(view, kind, owner), kept_of(view, kind, owner)
    values = {
        config: written(config, kept.get(config), before.get(config), wanted, replaces=kind in plan.replaces)
        for config, wanted in plan.wanted[kind][owner].items()
    }
    after, cause = with_values(before, values), "" if plan.auto_remove else STAYS
    return None if after == before else ThrottleSet(ConfigEntity(kind, owner), before, after, cause)


def back_record(view: ClusterView, kind: MarkKind, owner: str, cause: str) -> ConfigsAltered | None:
    """The owner gets back what it had before its throttle; None: there is nothing to restore."""
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
    """A row that ends the throttle of an owner that leaves the mark without a change of its configs. None: its configs
    change and have a row, or they are unknown."""
    is_known = is_there(view, kind, owner) and not is_unread(view, kind, owner)
    if not is_known or back_record(view, kind, owner, cause) is not None:
        return None
    return ThrottleReleased(ConfigEntity(kind, owner), cause)


def stays_record(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> ThrottleStays | None:
    """The same for an owner whose throttle is to stay and is as requested."""
    is_marked = owner in view.throttles.owners(kind)
    if plan.auto_remove or not is_marked or set_record(view, kind, owner, plan) is not None:
        return None
    return ThrottleStays(ConfigEntity(kind, owner), STAYS)


def with_values(before: Mapping[str, str], values: Mapping[str, str | None]) -> Mapping[str, str]:
    """The configs with these values; None removes one."""
    after = {**before, **{name: value for name, value in values.items() if value is not None}}
    left = {name: value for name, value in after.items() if name not in values or values[name] is not None}
    return configs_after(before, left)
