"""Marks, and the configs that they are about, as records. Functions change nothing.

The key under the KIP's other name has no `previous`, so all present values count as set by a throttle, as the KIP says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from ...model.throttles import CONFIGS, ConfigMark, MarkKind, OwnerMark, ThrottlePlan
from ...model.values import ConfigEntity, UnreadConfigs, configs_after
from ...model.view import ClusterView
from ...records import ThrottleChanged, ThrottleEvent
from . import keeping

REMOVAL: Final = "throttle removal"
REPLACED: Final = "replaced"
STAYS: Final = "to stay"
"""Causes. A throttle that is to stay has no mark; its row has this cause, for readers of rows alone."""

_NOTHING: Final = OwnerMark()


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


def _configs_in(view: ClusterView, kind: MarkKind, owner: str, mark: OwnerMark) -> Mapping[str, ConfigMark]:
    """The configs of a mark. Without a record of them, all present values count as ours."""
    if mark.configs is not None:
        return mark.configs
    there = configs_of(view, kind, owner)
    return {name: ConfigMark(ours=keeping.values_in(name, there[name])) for name in CONFIGS[kind] if name in there}


# --- only the mark changes


def wanted(view: ClusterView, kind: MarkKind, owner: str, plan: ThrottlePlan) -> OwnerMark | None:
    """The owner's mark with what the plan wants. What is in force already is not pending. None: nothing is marked."""
    present = configs_of(view, kind, owner)
    configs = dict(_configs_in(view, kind, owner, view.throttles.marks[kind].get(owner, _NOTHING)))
    for name, values in plan.wanted[kind][owner].items():
        kept, there = configs.get(name), present.get(name)
        mark = keeping.wanting(
            name,
            kept or ConfigMark(),
            there,
            values,
            replaces=kind in plan.replaces,
            stays=not plan.auto_remove,
        )
        if keeping.brought(name, mark, there) != (there, kept):
            configs[name] = mark
    return OwnerMark(configs) if configs or plan.auto_remove else None


def unwanted(mark: OwnerMark) -> OwnerMark:
    """The mark without what is not set yet."""
    configs = {name: attrs.evolve(one, wanted=None, stays=()) for name, one in (mark.configs or {}).items() if one.ours}
    return attrs.evolve(mark, configs=configs)


def marked(view: ClusterView, kind: MarkKind, owner: str, after: OwnerMark | None) -> ThrottleChanged:
    """The mark becomes `after`; the configs stay."""
    there = configs_of(view, kind, owner)
    return ThrottleChanged(ConfigEntity(kind, owner), there, there, "", after)


def unmarked(view: ClusterView, kind: MarkKind, owner: str) -> tuple[ThrottleChanged, ...]:
    """The mark no longer names an owner that is deleted."""
    return (marked(view, kind, owner, None),) if owner in view.throttles.marks[kind] else ()


# --- the mark and the configs change


def brought(view: ClusterView, kind: MarkKind, owner: str, mark: OwnerMark) -> ThrottleChanged:
    """The owner gets the configs that `mark` wants. It leaves the mark if only what is to stay was wanted of it."""
    present = configs_of(view, kind, owner)
    configs, values, stays = dict[str, ConfigMark](), dict[str, str | None](), False
    for name, one in _configs_in(view, kind, owner, mark).items():
        kept: ConfigMark | None = one
        if one.wanted is not None:
            values[name], kept = keeping.brought(name, one, present.get(name))
            stays = stays or bool(one.stays)
        if kept is not None:
            configs[name] = kept
    configs_now = _with_values(present, values)
    is_set = configs_now != present or (stays and mark.is_listed)
    return ThrottleChanged(
        ConfigEntity(kind, owner),
        present,
        configs_now,
        STAYS if stays else "",
        attrs.evolve(mark, configs=configs) if configs or not stays else None,
        "ThrottleSet" if is_set else "",
    )


def given_back(view: ClusterView, kind: MarkKind, owner: str, mark: OwnerMark, cause: str) -> ThrottleChanged:
    """The owner leaves the mark, and gets back what it had before its throttle. It has a row in the journal also where
    no config changes, because another program changed or removed the throttle: the rows alone say when it ended."""
    before = configs_of(view, kind, owner)
    known = _configs_in(view, kind, owner, mark)
    values = {name: keeping.given_back(name, one, before.get(name)) for name, one in known.items()}
    after = _with_values(before, {name: value for name, value in values.items() if name in CONFIGS[kind]})
    is_restored = any(after.get(name, value) != value for name, value in before.items())
    event: ThrottleEvent = "ThrottleRestored" if is_restored else "ThrottleRemoved" if mark.is_listed else ""
    return ThrottleChanged(ConfigEntity(kind, owner), before, after, cause, None, event)


def _with_values(before: Mapping[str, str], values: Mapping[str, str | None]) -> Mapping[str, str]:
    """The configs with these values; None removes one."""
    after = {**before, **{name: value for name, value in values.items() if value is not None}}
    left = {name: value for name, value in after.items() if name not in values or values[name] is not None}
    return configs_after(before, left)
