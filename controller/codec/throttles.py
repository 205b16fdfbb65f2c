"""The marks of throttles that are to be removed (KIP-179): `/admin/throttled_replicas_removal` and
`/admin/throttled_rates_removal`.

`{"version":1,"topics":["a"],"previous":{"a":{"<config>":{"set":["v"],"was":"v" or null,"wanted":["v"]}}}}`; the same
with `"brokers":[1]` and broker ids. `wanted` is there until the config has these values. `previous` is Kedge's own and
may be missing. Unknown fields of the mark and of each config in it are kept, and so is the `version`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..model.throttles import ConfigMark, MarkKey, MarkKind, Marks, OwnerMark, listed
from .names import broker_in, is_topic
from .text import INT32_MAX, bad, dump, dump_extra, fields, number, parse, text, unknown_fields

BYTES_MAX: Final = 950_000  # of any key: ZooKeeper takes 1 MB
_KEPT_KNOWN: Final = frozenset({"set", "was", "wanted"})


def decode(kind: MarkKind, value: bytes) -> tuple[dict[str, OwnerMark], MarkKey]:
    """The marks in `value`, by owner, and the rest of the key, which is at `version`. Raises BadValue."""
    found = fields(parse(value), "mark")
    format_ = number(found.get("version", 1), "version", 1, 1000)
    owners = _topics(found) if kind == "topics" else _brokers(found)
    extra = unknown_fields(found, frozenset({"version", kind, "previous"}))
    previous = _previous(kind, found)
    return {owner: OwnerMark(previous.get(owner)) for owner in owners}, MarkKey(extra, format_)


def _topics(found: Mapping[str, object]) -> list[str]:
    names = [text(name, "topics") for name in _list(found.get("topics"), "topics")]
    for name in names:
        _check_topic(name)
    return names


def _check_topic(name: str) -> None:
    if not is_topic(name):
        bad("topics", "names of topics", name)


def _brokers(found: Mapping[str, object]) -> list[str]:
    return [str(number(one, "brokers", 0, INT32_MAX)) for one in _list(found.get("brokers"), "brokers")]


def _previous(kind: MarkKind, found: Mapping[str, object]) -> dict[str, dict[str, ConfigMark]]:
    previous = fields(found.get("previous") or {}, "previous")
    for owner in previous:
        if kind == "brokers":
            broker_in(owner)
    return {owner: _configs(configs, f"previous.{owner}") for owner, configs in previous.items()}


def _configs(raw: object, where: str) -> dict[str, ConfigMark]:
    return {config: _config(one, f"{where}.{config}") for config, one in fields(raw, where).items()}


def _config(raw: object, where: str) -> ConfigMark:
    found = fields(raw, where)
    was, wanted = found.get("was"), found.get("wanted")
    return ConfigMark(
        None if was is None else text(was, f"{where}.was"),
        _values(found.get("set"), f"{where}.set"),
        None if wanted is None else _values(wanted, f"{where}.wanted"),
        extra=unknown_fields(found, _KEPT_KNOWN),
    )


def _values(raw: object, where: str) -> tuple[str, ...]:
    return tuple(text(value, where) for value in _list(raw, where))


def _list(raw: object, where: str) -> list[object]:
    if type(raw) is not list:
        bad(where, "a list", raw)
    return raw


def encode(kind: MarkKind, marks: Marks, key: MarkKey) -> bytes:
    """The value of the key: what is to be removed. Values that are to stay, and are not set yet, are left out."""
    names = listed(kind, marks)
    owners = dump([int(owner) for owner in names] if kind == "brokers" else names)
    previous = {owner: _written(marks[owner].configs or {}) for owner in names if marks[owner].configs is not None}
    return f'{{"version":{key.format},"{kind}":{owners},"previous":{dump(previous)}{dump_extra(key.extra)}}}'.encode()


def _written(configs: Mapping[str, ConfigMark]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, one in configs.items():
        if one.stays and not one.ours:
            continue
        wanted = {} if one.wanted is None or one.stays else {"wanted": list(one.wanted)}
        found[name] = {"set": list(one.ours), "was": one.previous, **wanted, **(one.extra or {})}
    return found
