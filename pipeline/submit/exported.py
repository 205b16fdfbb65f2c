"""An exported plan for submission: its waves in order, each with the state before it and its rates.

* A folder that differs from its manifest by a byte is refused.
* The sha256 of the manifest identifies the plan: progress is kept under it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ...controller.codec import legacy
from ...controller.codec.text import BadValue
from ...controller.model import numerals
from ...controller.model.legacy import LegacyEntry
from ...controller.model.throttle_configs import RATES
from ...controller.model.values import Replicas
from ...stores.reading import parse_json
from ..errors import BadInput
from ..stages.export import ANY, LOG_DIRS, MANIFEST, verify
from ..stages.requests import KINDS, RUNS_DISKS, BalanceDisks
from ..windows import Window, window

_WAVE: Final = re.compile(r"waves/wave-([0-9]{4,9})\.json")
_LEADER, _FOLLOWER = RATES["replication"]


@attrs.frozen
class Move:
    """One partition of a wave. `later`: the targets of later waves, which also count as done. `log_dirs`: the directory
    of each new replica that the plan chooses, by broker."""

    topic: str
    partition: int
    before: Replicas
    after: Replicas
    later: frozenset[Replicas] = frozenset()
    log_dirs: tuple[tuple[int, str], ...] = ()

    @property
    def name(self) -> tuple[str, int]:
        return self.topic, self.partition

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a new replica."""
        return tuple(broker for broker in self.after if broker not in self.before)

    def reversed(self) -> Move:
        """The move that undoes it."""
        return Move(self.topic, self.partition, self.after, self.before)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@attrs.frozen
class Rate:
    """Bytes per second that a broker sends, and fetches; None: no limit."""

    leader: int | None = None
    follower: int | None = None


@attrs.frozen
class Wave:
    """The moves that are submitted at once. `bytes`: to copy; None: unknown. `eta_s`: the expected time, if the plan
    has one, with its interval."""

    number: int
    moves: tuple[Move, ...]
    rates: Mapping[int, Rate]
    bytes: int | None
    eta_s: float | None
    eta_low_s: float | None = None
    eta_high_s: float | None = None

    def throttled(self, rate: int) -> Wave:
        """The wave with one rate for all of its brokers, in bytes per second, instead of its own."""
        brokers = {broker for move in self.moves if move.added for broker in (*move.before, *move.after)}
        return attrs.evolve(self, rates=dict.fromkeys(sorted(brokers), Rate(rate, rate)))

    def reversed(self) -> Wave:
        """The wave that undoes it. Senders become receivers and the other way round; a side without a rate takes that
        of the other."""
        rates = {
            broker: Rate(_or(rate.leader, rate.follower), _or(rate.follower, rate.leader))
            for broker, rate in self.rates.items()
        }
        return attrs.evolve(self, moves=tuple(move.reversed() for move in self.moves), rates=rates)


def _or(rate: int | None, other: int | None) -> int | None:
    return other if rate is None else rate


@attrs.frozen
class Exported:
    """A plan in a folder. `sha256`: of its manifest. `windows`: those of the policy that it was made by."""

    folder: Path
    plan: str
    cluster: str
    sha256: str
    waves: tuple[Wave, ...]
    windows: tuple[Window, ...] = ()


def read_export(folder: Path) -> Exported:
    """The plan in `folder`. Raises BadInput if that is no export, differs from its manifest, or has no waves."""
    differs = verify(folder)
    if differs:
        more = f", and {len(differs) - 1} more" if len(differs) > 1 else ""
        raise BadInput(f"{folder}: {differs[0]}{more}; export the plan again")
    data = (folder / MANIFEST).read_bytes()
    manifest = json.loads(data)
    if "waves.json" not in manifest["files"]:
        makes = RUNS_DISKS if manifest.get("kind") == KINDS[BalanceDisks] else "kedge plan waves makes them"
        raise BadInput(f"{folder}: the plan was exported without waves; {makes}")
    try:
        waves = tuple(_waves(folder, manifest["files"]))
        plan, cluster = str(manifest["plan"]), str(manifest["cluster"])
        windows = tuple(window(text) for text in manifest.get("windows", ()))
    except (BadValue, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{folder}: the export cannot be submitted: {error}") from None
    return Exported(folder, plan, cluster, hashlib.sha256(data).hexdigest(), _with_later(waves), windows)


def _waves(folder: Path, files: Mapping[str, Any]) -> Iterator[Wave]:
    said = {row["wave"]: row for row in parse_json((folder / "waves.json").read_bytes())}
    for path in sorted(files):
        found = _WAVE.fullmatch(path)
        if found is None:
            continue
        number, name = number_of(found[1]), path.partition("/")[2]
        after, before = (_entries(folder / f"{kind}/{name}") for kind in ("waves", "rollback"))
        if after.keys() != before.keys():
            raise ValueError(f"rollback/{name} names other partitions than {path}")
        moves = tuple(Move(*tp, before[tp].target, e.target, log_dirs=_log_dirs(e)) for tp, e in after.items())
        rates = _rates(folder / f"throttles/{name}") if f"throttles/{name}" in files else {}
        expected = (said[number][name] for name in ("eta_s", "eta_low_s", "eta_high_s"))
        size = said[number]["bytes"]
        yield Wave(number, moves, rates, size, *expected)


def _entries(file: Path) -> dict[tuple[str, int], LegacyEntry]:
    found = legacy.decode(file.read_bytes()).entries
    named = {entry.name: entry for entry in found}
    if len(named) != len(found):
        raise ValueError(f"{file.name} names a partition twice")
    return named


def _log_dirs(entry: LegacyEntry) -> tuple[tuple[int, str], ...]:
    paths = (entry.extra or {}).get(LOG_DIRS, ())
    named = zip(entry.target, paths, strict=True) if isinstance(paths, list) else ()
    return tuple((broker, str(path)) for broker, path in named if path != ANY)


def _rates(file: Path) -> dict[int, Rate]:
    brokers = parse_json(file.read_bytes())["brokers"]
    return {
        number_of(broker): Rate(*(_rate(configs, side) for side in (_LEADER, _FOLLOWER)))
        for broker, configs in brokers.items()
    }


def _rate(configs: Mapping[str, str], side: str) -> int | None:
    return number_of(configs[side]) if side in configs else None


def number_of(text: str) -> int:
    """The whole number that a name or a value in a file of the plan spells. Raises ValueError."""
    found = numerals.whole(text)
    if found is None:
        raise ValueError(f"expected a whole number, got {text!r:.80}")
    return found


def _with_later(waves: tuple[Wave, ...]) -> tuple[Wave, ...]:
    """Each move gets the targets of later waves for its partition."""
    later: dict[tuple[str, int], frozenset[Replicas]] = {}
    found = []
    for wave in reversed(waves):
        moves = tuple(attrs.evolve(m, later=later.get(m.name, frozenset()) - {m.before}) for m in wave.moves)
        for move in moves:
            later[move.name] = later.get(move.name, frozenset()) | {move.after}
        found.append(attrs.evolve(wave, moves=moves))
    return tuple(reversed(found))
