"""The marks of throttles that are to be removed (KIP-179): `/admin/throttled_replicas_removal` and
`/admin/throttled_rates_removal`.

`{"version":1,"topics":["a"],"previous":{"a":{"<config>":{"set":["v"],"was":"v" or null}}}}`; the same with
`"brokers":[1]` and broker ids. `previous` is Kedge's own and may be missing. Unknown fields of the mark and of each
config in it are kept, and so is the `version`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..model.throttles import Kept, MarkKind, ThrottleMark
from .names import broker_in, is_topic
from .text import INT32_MAX, bad, dump, dump_extra, fields, number, parse, text, unknown_fields

BYTES_MAX: Final = 950_000  # of any key: ZooKeeper takes 1 MB
_KEPT_KNOWN: Final = frozenset({"set", "was"})


def decode(kind: MarkKind, value: bytes, version: int = 1) -> ThrottleMark:
    """The mark with `value` at `version`. Raises BadValue."""
    found = fields(parse(value), "mark")
    format_ = number(found.get("version", 1), "version", 1, 1000)
    owners = _topics(found) if kind == "topics" else _brokers(found)
    extra = unknown_fields(found, frozenset({"version", kind, "previous"}))
    return ThrottleMark(version, tuple(dict.fromkeys(owners)), _previous(kind, found), extra, format_)


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


def _previous(kind: MarkKind, found: Mapping[str, object]) -> dict[str, dict[str, Kept]]:
    """What a removal restores: by owner and config, the values that were set and the one before them."""
    previous = fields(found.get("previous") or {}, "previous")
    for owner in previous:
        if kind == "brokers":
            broker_in(owner)
    return {owner: _configs(configs, f"previous.{owner}") for owner, configs in previous.items()}


def _configs(raw: object, where: str) -> dict[str, Kept]:
    return {config: _kept(kept, f"{where}.{config}") for config, kept in fields(raw, where).items()}


def _kept(raw: object, where: str) -> Kept:
    found = fields(raw, where)
    values = tuple(text(value, f"{where}.set") for value in _list(found.get("set"), f"{where}.set"))
    was = found.get("was")
    return Kept(None if was is None else text(was, f"{where}.was"), values, unknown_fields(found, _KEPT_KNOWN))


def _list(raw: object, where: str) -> list[object]:
    if type(raw) is not list:
        bad(where, "a list", raw)
    return raw


def encode(kind: MarkKind, mark: ThrottleMark) -> bytes:
    """The value of the key."""
    owners = dump([int(owner) for owner in mark.owners] if kind == "brokers" else list(mark.owners))
    previous = {
        owner: {config: _written(kept) for config, kept in configs.items()} for owner, configs in mark.previous.items()
    }
    return f'{{"version":{mark.format},"{kind}":{owners},"previous":{dump(previous)}{dump_extra(mark.extra)}}}'.encode()


def _written(kept: Kept) -> dict[str, object]:
    return {"set": list(kept.set), "was": kept.was, **(kept.extra or {})}
