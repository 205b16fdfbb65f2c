"""`/kedge/migration`: the marker of a move to another store, on both sides, and the seal below it on the old one.

    {"version":1,"migration":"5f0c..","side":"from","phase":"fenced","other":"etcd://h:2379/prefix","started_ms":1,
     "controller_epoch":8,"brokers":{"1":17},"seals":1}

* `side` "from": phase copying, fenced (no controller leads here any more), moved (everything is in the other store).
  `side` "to": copying, complete (the first term raises every leader epoch, then removes the marker).
* `brokers`: the brokers that were live under the fence, with the epochs of their registrations in the new store.
* The seal has version and creation of every key of the old store at the last scan: lists of JSON, compressed, in as
  many keys as necessary (`/kedge/migration/<n>`). A key that differs later was written by another program.
* `/kedge/origin` names the move by which a store got its cluster, and stays: the marker of the new store is removed,
  and the old store's alone cannot show whether a store is the one that the cluster was moved to.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

import attrs

from .names import broker_in
from .text import INT32_MAX, TIME_MS_MAX, BadValue, bad, dump, fields, number, parse, text

FROM: Final = "from"
TO: Final = "to"
COPYING: Final = "copying"
FENCED: Final = "fenced"
MOVED: Final = "moved"
COMPLETE: Final = "complete"

NOBODY: Final = INT32_MAX  # in /controller of a store that none may lead: an id that no broker has
_PHASES: Final[Mapping[str, tuple[str, ...]]] = {FROM: (COPYING, FENCED, MOVED), TO: (COPYING, COMPLETE)}
_SEAL_ROWS: Final = 10_000  # in one key: some 100 kB; 700 kB with the longest names without common parts
_UNPACKED_BYTES_MAX: Final = 64_000_000
_FAST: Final = 1  # level of compression


@attrs.frozen
class Marker:
    """How far a move has come, as one side has it. `migration`: an id that is the same on both sides. `other`: the
    other store's url, without secrets. `controller_epoch`: the epoch of the old side's fence. `run`: on the new side,
    an id of the process that copies: a newer process replaces the marker of the one before it."""

    migration: str
    side: Literal["from", "to"]
    phase: Literal["copying", "fenced", "moved", "complete"]
    other: str
    started_ms: int
    controller_epoch: int | None = None
    brokers: Mapping[int, int] = attrs.field(factory=dict)
    seals: int = 0
    run: str = ""

    @property
    def may_lead(self) -> bool:
        """Whether a controller may lead over the store with this marker: before its fence, or once it is complete."""
        return (self.side, self.phase) in ((FROM, COPYING), (TO, COMPLETE))

    @property
    def is_to_be_raised(self) -> bool:
        """Whether the first term must still raise every leader epoch."""
        return (self.side, self.phase) == (TO, COMPLETE)


def decode_marker(value: bytes) -> Marker:
    """The marker in `value`. Raises BadValue."""
    found = fields(parse(value), "marker")
    number(found.get("version", 1), "version", 1, 1)
    side, phase = text(found.get("side"), "side"), text(found.get("phase"), "phase")
    if phase not in _PHASES.get(side, ()):
        bad("phase", f"a phase of {sorted(_PHASES)}", f"{side}: {phase}")
    epoch = found.get("controller_epoch")
    brokers = fields(found.get("brokers") or {}, "brokers")
    return Marker(
        text(found.get("migration"), "migration"),
        side,  # type: ignore[arg-type]  # one of the table, by the check above
        phase,  # type: ignore[arg-type]
        text(found.get("other"), "other"),
        number(found.get("started_ms"), "started_ms", 0, TIME_MS_MAX),
        None if epoch is None else number(epoch, "controller_epoch", 0, INT32_MAX),
        {broker_in(name): number(epoch, f"brokers.{name}", 0, 2**63 - 1) for name, epoch in brokers.items()},
        number(found.get("seals", 0), "seals", 0, 10_000),
        text(found.get("run", ""), "run"),
    )


def encode_marker(marker: Marker) -> bytes:
    """The inverse of `decode_marker`."""
    said: dict[str, object] = {"version": 1, **attrs.asdict(marker)}
    said["brokers"] = {str(broker): epoch for broker, epoch in sorted(marker.brokers.items())}
    return dump({name: one for name, one in said.items() if one is not None}).encode()


def encode_holder(migration: str, now_ms: int) -> bytes:
    """The permanent value of `/controller` where none may lead: Kafka's JSON, with an id that no broker has."""
    said = {"version": 1, "brokerid": NOBODY, "timestamp": str(now_ms), "migration": migration}
    return dump(said).encode()


def decode_holder(value: bytes) -> str | None:
    """The migration that holds `/controller`; None where it is held by a controller."""
    try:
        found = fields(parse(value), "controller").get("migration")
    except BadValue:
        return None
    return found if type(found) is str else None


# --- where a cluster came from


def encode_origin(marker: Marker) -> bytes:
    """The value of `/kedge/origin` in the store whose `marker` is removed."""
    return dump({"version": 1, "migration": marker.migration, "from": marker.other}).encode()


def decode_origin(value: bytes) -> str | None:
    """The migration by which the store got its cluster; None where the value cannot be read."""
    try:
        return text(fields(parse(value), "origin").get("migration"), "migration")
    except BadValue:
        return None


# --- the seal


class Stamp(NamedTuple):
    """Version and creation of a key: on ZooKeeper a key that is created again repeats its versions."""

    version: int
    created: int


def encode_seals(stamps: Mapping[str, Stamp]) -> Iterator[bytes]:
    """The values of the keys of a seal, in their order."""
    rows = [(key, *stamp) for key, stamp in sorted(stamps.items())]
    for start in range(0, len(rows), _SEAL_ROWS):
        yield zlib.compress(dump(rows[start : start + _SEAL_ROWS]).encode(), _FAST)


def decode_seals(values: Iterable[bytes]) -> dict[str, Stamp]:
    """The inverse of `encode_seals`. Raises BadValue."""
    stamps: dict[str, Stamp] = {}
    for value in values:
        unpacker = zlib.decompressobj()
        try:
            rows = json.loads(unpacker.decompress(value, _UNPACKED_BYTES_MAX))
            stamps.update({key: Stamp(version, created) for key, version, created in rows})
        except (zlib.error, ValueError, TypeError, RecursionError) as error:
            raise BadValue(f"no seal: {error}", expected="a seal", got=value[:40]) from None
    return stamps
