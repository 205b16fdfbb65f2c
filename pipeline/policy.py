"""A policy: the wanted state of each cluster, as `kedge plan apply-policy` reads it from a TOML file.

    tables = "s3a://warehouse/kedge"      # as TABLES of the other commands; paths are relative to the policy's folder
    format = "parquet"                    # as --format
    out = "plans"                         # a folder for the exports and the page of all clusters

    [default]                             # for every cluster
    steps = ["drain", "fix-racks", "rebalance"]
    tolerance = 0.05
    throttle = "100MB"

    [cluster.test]                        # overrides for one cluster
    skip = true
    exclude-topics = ["tmp-*"]

The names are those of the options of `compute-load`, `drain`, `rebalance`,
`set-replication-factor` and `waves`.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ..controller.model.numerals import size
from .errors import BadInput, NotFound
from .policy_places import at
from .stages.arrays import Limits
from .stages.choice import Choice
from .stages.requests import TOLERANCE, Drain, FixRacks, Leaders, Rebalance, Request, SetFactor
from .stages.usable import LoadSettings
from .stages.waves import WaveSettings
from .tables.location import PARQUET, Location
from .windows import window

STEPS: Final = ("drain", "fix-racks", "set-replication-factor", "rebalance", "balance-leaders")
_LIMITS: Final = Limits()
_WAVES: Final = WaveSettings()
_BYTES: Final = ("max-bytes", "throttle", "disk-rate", "min-size", "max-size")
_OPTIONAL: Final = {"samples-age": float, "growth": float, "statistic": str}  # others without a default are integers
_KINDS: Final = {
    str: "a text",
    dict: "a table",
    list: "a list",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


@attrs.frozen(kw_only=True)
class Policy(Choice):
    """The policy of one cluster, with the choice of each of its plans. `steps`: the possible plans; the first that
    changes something is made. `sha256`: of all values. `window` and `samples_age` (seconds), `statistic`, `growth`: as
    in LoadSettings; if one is given, the others have its defaults. None: as when the snapshot was loaded. `windows`: in
    which the waves of an exported plan may start."""

    steps: tuple[str, ...] = ("drain", "fix-racks", "rebalance")
    skip: bool = False
    tolerance: float = TOLERANCE
    max_bytes: int | None = None
    by: tuple[str, ...] = ("bytes",)
    max_replicas_per_broker: int | None = None
    max_leaders_per_broker: int | None = None
    factor: int | None = None
    ignore_racks: bool = False
    disk_share: float = _LIMITS.disk_share
    network_share: float = _LIMITS.network_share
    per_broker: int = _WAVES.per_broker
    one_at_a_time: bool = False
    disk_ceiling: float = _WAVES.disk_ceiling
    throttle: int | None = None
    disk_rate: int | None = None
    window: int | None = None
    samples_age: float | None = None
    statistic: str | None = None
    growth: float | None = None
    windows: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        unknown = [step for step in self.steps if step not in STEPS]
        if unknown or not self.steps:
            raise BadInput(f"steps: expected some of {', '.join(STEPS)}; got {', '.join(map(str, unknown)) or 'none'}")
        if "set-replication-factor" in self.steps and self.factor is None:
            raise BadInput("steps: set-replication-factor needs a factor")
        for step in self.steps:
            self.request(step)
        self.limits, self.waves, self.choice, self.loads  # noqa: B018 - they check their values
        try:
            tuple(map(window, self.windows))
        except BadInput as error:
            raise BadInput(f"windows: {error}") from None

    @property
    def loads(self) -> LoadSettings | None:
        """How the snapshot is loaded again, if samples count differently from when it was collected."""
        given: dict[str, Any] = {
            "window_s": self.window,
            "age_max_s": self.samples_age,
            "statistic": self.statistic,
            "growth": self.growth,
        }
        some = {name: value for name, value in given.items() if value is not None}
        return LoadSettings(**some) if some else None

    @property
    def limits(self) -> Limits:
        return Limits(self.disk_share, self.network_share)

    @property
    def choice(self) -> Choice:
        return Choice(**{name: getattr(self, name) for name in attrs.fields_dict(Choice)})

    @property
    def waves(self) -> WaveSettings:
        return WaveSettings(
            per_broker=self.per_broker,
            one_at_a_time=self.one_at_a_time,
            disk_ceiling=self.disk_ceiling,
            network_share=self.network_share,
            throttle_bps=self.throttle,
            disk_rate_bps=self.disk_rate,
        )

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps(attrs.asdict(self), sort_keys=True).encode()).hexdigest()

    def request(self, step: str) -> Request:
        """The request of a step. Raises BadInput if its values are out of range."""
        if step == "rebalance":
            counts = self.max_replicas_per_broker, self.max_leaders_per_broker
            return Rebalance(self.tolerance, self.max_bytes, self.by, *counts)
        if step == "set-replication-factor":
            return SetFactor(self.factor or 0)
        if step == "drain":
            return Drain()
        return FixRacks() if step == "fix-racks" else Leaders()


@attrs.frozen
class Fleet:
    """A whole policy. `clusters`: those with values of their own."""

    tables: Location
    out: Path
    default: Policy = attrs.field(factory=Policy)
    clusters: Mapping[str, Policy] = attrs.field(factory=dict)

    def of(self, cluster: str) -> Policy:
        return self.clusters.get(cluster, self.default)

    @property
    def loads(self) -> bool:
        return any(policy.loads is not None for policy in (self.default, *self.clusters.values()))


def read_policy(path: Path) -> Fleet:
    """The policy in a file. Raises BadInput that names the mistake and its line, NotFound if the file is missing."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        return _fleet(found, path.parent)
    except OSError as error:
        raise NotFound(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: invalid TOML: {error}") from None
    except RecursionError:  # of the parser, or of the message about a value
        raise BadInput(f"{path}: lists or tables are nested too deeply in it") from None
    except BadInput as error:
        raise BadInput(f"{at(path, _names_in(str(error)))}: {error}") from None


def _names_in(message: str) -> list[str]:
    """The names at the beginning of a message: `default.steps: ...`, or `default: steps: ...` of a value by itself."""
    where, _, rest = message.partition(": ")
    name, colon, _ = rest.partition(": ")
    return [*where.split("."), name] if colon else where.split(".")


def _fleet(found: dict[str, Any], folder: Path) -> Fleet:
    _check_names(found, ("tables", "format", "out", "default", "cluster"), "")
    tables, out = (_typed(found, name, str) for name in ("tables", "out"))
    default = _typed(found, "default", dict, {})
    given = _typed(found, "cluster", dict, {})
    clusters = {
        name: _policy({**default, **_typed(given, name, dict, where="cluster.")}, f"cluster.{name}") for name in given
    }
    place = Location(tables, _typed(found, "format", str, PARQUET))
    if place.is_local:
        place = attrs.evolve(place, text=str(folder / place.folder))
    return Fleet(place, folder / out, _policy(default, "default"), clusters)


def _policy(found: dict[str, Any], where: str) -> Policy:
    kinds = attrs.fields_dict(Policy)
    _check_names(found, [name.replace("_", "-") for name in kinds], f"{where}.")
    settings = {name.replace("-", "_"): _value(found, name, where) for name in found}
    try:
        return Policy(**settings)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def _value(found: dict[str, Any], name: str, where: str) -> Any:
    """A value, of the type of its default."""
    value, default = found[name], attrs.fields_dict(Policy)[name.replace("-", "_")].default
    if name in _BYTES:
        parsed = value if type(value) is int and value >= 0 else size(value) if type(value) is str else None
        if parsed is None:
            raise BadInput(f"{where}.{name}: expected bytes such as 123, 5GiB or 1.5GB, got {value!r:.80}")
        return parsed
    if type(default) is tuple:
        return tuple(_typed(found, name, list, where=f"{where}."))
    kind = _OPTIONAL.get(name, int) if default is None else type(default)
    if kind is float and type(value) is int:
        return float(value)
    return _typed(found, name, kind, where=f"{where}.")


def _typed(found: dict[str, Any], name: str, kind: type, default: Any = None, where: str = "") -> Any:
    value = found.get(name, default)
    if value is None:
        raise BadInput(f"{where}{name}: the value is missing")
    if type(value) is not kind:
        raise BadInput(f"{where}{name}: expected {_KINDS[kind]}, got {value!r:.80}")
    return value


def _check_names(found: Mapping[str, Any], known: Any, where: str) -> None:
    for name in found:
        if name not in known:
            raise BadInput(f"{where}{name}: unknown name; expected one of {', '.join(known)}")
