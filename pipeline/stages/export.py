"""A plan as files for operators and tools: `plan.json`, `waves/`, `throttles/`, `rollback/`, `manifest.json`.

* `plan.json` and the files of `waves/` are input of `kafka-reassign-partitions --reassignment-json-file`; the file of
  `rollback/` with a wave's name undoes that wave, whatever its outcome.
* Where a broker has several directories, `log_dirs` names that of a new replica.
* `throttles/` has per wave the rates of brokers and the replica lists of topics, by the names of Kafka's configs.
* `report.html` is for people. `manifest.json` has size and sha256 of every other file; nothing in them depends on the
  day or the machine.
* The folder is the old export or the new one: a new folder is written and renamed. A folder that is no export is never
  replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ..errors import BadInput
from ..tables.arrow import Arrow
from ..written import written_as
from .requests import settings_of

MANIFEST: Final = "manifest.json"
REPORT: Final = "report.html"
LOG_DIRS: Final = "log_dirs"
ANY: Final = "any"
"""The value of `log_dirs` for a directory that Kafka chooses."""


Dirs: TypeAlias = Mapping[tuple[str, int, int], str]
"""The directory of a replica, by topic, partition and broker."""


def plan_json(moves: Arrow, column: str = "target_replicas", dirs: Dirs = MappingProxyType({})) -> bytes:
    """The moves in the format of Kafka's tools, in the order of the table. `dirs`: directories to name; Kafka chooses
    the others."""
    topics, numbers = moves.column("topic").to_pylist(), moves.column("partition").to_pylist()
    entries = [
        f'{{"topic":"{topic}","partition":{number},"replicas":[{",".join(map(str, replicas))}]'
        f"{_log_dirs([dirs.get((topic, number, broker)) for broker in replicas]) if dirs else ''}}}"
        for topic, number, replicas in zip(topics, numbers, moves.column(column).to_pylist(), strict=True)
    ]
    return f'{{"version":1,"partitions":[{",".join(entries)}]}}\n'.encode()


def _log_dirs(paths: Sequence[str | None]) -> str:
    """The field of an entry, if a directory is named."""
    named = [ANY if path is None else path for path in paths]
    return f',"{LOG_DIRS}":{json.dumps(named, separators=(",", ":"))}' if any(paths) else ""


def chosen_dirs(tables: Mapping[str, Arrow], column: str = "log_dir") -> dict[tuple[str, int, int], str]:
    """The directories that the plan in `tables` chooses; with column `log_dir_before` those that it moves from."""
    rows = tables["plan_log_dir"].to_pylist() if "plan_log_dir" in tables else []
    return {(r["topic"], r["partition"], r["broker_id"]): r[column] for r in rows if r[column] is not None}


def files(tables: Mapping[str, Arrow], report: str | None = None) -> dict[str, bytes]:
    """Every file of an export by its path, except the manifest. `report`: the page of the plan, if there is one."""
    (said,) = tables["plan"].to_pylist()
    found = {
        "plan.json": plan_json(tables["plan_move"], dirs=chosen_dirs(tables)),
        "summary.json": _dump(_summary(said)),
    }
    if tables["plan_move"].num_rows:
        found["rollback/plan.json"] = plan_json(tables["plan_move"], "replicas", chosen_dirs(tables, "log_dir_before"))
    reasons = tables["plan_reason"].to_pylist()
    if reasons:
        found["reasons.json"] = _dump([{k: v for k, v in row.items() if k != "plan"} for row in reasons])
    if "reduction" in tables and tables["reduction"].num_rows:
        rows = tables["reduction"].to_pylist()
        topics = [{"topic": row["topic"], "total_count": row["total_count"]} for row in rows]
        found["reductions.json"] = _dump({"version": 1, "topics": topics})
    if "wave" in tables:
        found |= dict(_waves(tables))
    if report is not None:
        found[REPORT] = report.encode()
    return found


def _summary(said: dict[str, Any]) -> dict[str, Any]:
    return {**said, "settings": settings_of(said)}


def _waves(tables: Mapping[str, Arrow]) -> Iterator[tuple[str, bytes]]:
    moves = tables["wave_move"]
    bounds, dirs = _bounds(moves), chosen_dirs(tables)
    rates: dict[int, list[dict[str, Any]]] = {}
    for row in tables["wave_throttle"].to_pylist():
        rates.setdefault(row["wave"], []).append(row)
    yield "waves.json", _dump([{k: v for k, v in row.items() if k != "plan"} for row in tables["wave"].to_pylist()])
    for wave, (start, count) in bounds.items():
        name = f"wave-{wave:04d}.json"
        part = moves.slice(start, count)
        yield f"waves/{name}", plan_json(part, dirs=dirs)
        yield f"rollback/{name}", plan_json(part, "replicas")
        throttled = [
            row for row in rates.get(wave, ()) if (row["leader_rate_bps"], row["follower_rate_bps"]) != (None, None)
        ]
        if throttled:
            yield f"throttles/{name}", _dump(_throttles(throttled, part.to_pylist()))


def _bounds(moves: Arrow) -> dict[int, tuple[int, int]]:
    """Where the rows of each wave begin, and how many there are; they are sorted by wave."""
    found: dict[int, tuple[int, int]] = {}
    for place, wave in enumerate(moves.column("wave").to_pylist()):
        start, count = found.get(wave, (place, 0))
        found[wave] = (start, count + 1)
    return found


def _throttles(rates: list[dict[str, Any]], moves: list[dict[str, Any]]) -> dict[str, Any]:
    """Rates of brokers, and the throttled replicas: every replica that may send, every one that is new (KIP-73)."""
    brokers = {}
    for row in rates:
        sides = (("leader", row["leader_rate_bps"]), ("follower", row["follower_rate_bps"]))
        brokers[str(row["broker_id"])] = {
            f"{side}.replication.throttled.rate": str(rate) for side, rate in sides if rate is not None
        }
    senders: dict[str, set[str]] = {}
    receivers: dict[str, set[str]] = {}
    for move in moves:
        new = set(move["target_replicas"]) - set(move["replicas"])
        if not new:
            continue
        part = move["partition"]
        senders.setdefault(move["topic"], set()).update(f"{part}:{b}" for b in move["replicas"])
        receivers.setdefault(move["topic"], set()).update(f"{part}:{b}" for b in new)
    topics = {
        topic: {
            "leader.replication.throttled.replicas": ",".join(sorted(senders[topic])),
            "follower.replication.throttled.replicas": ",".join(sorted(receivers[topic])),
        }
        for topic in sorted(senders)
    }
    return {"version": 1, "brokers": brokers, "topics": topics}


def export(
    tables: Mapping[str, Arrow],
    folder: Path,
    *,
    cluster: str,
    snapshot: str,
    report: str | None = None,
    windows: Sequence[str] = (),
) -> dict[str, Any]:
    """The folder holds the plan's files, and nothing else. Returns the manifest. `windows`: in which its waves may
    start, as in a policy. Raises BadInput if the folder is there and no export."""
    found = files(tables, report)
    (said,) = tables["plan"].to_pylist()
    manifest = {
        "version": 1,
        "cluster": cluster,
        "snapshot": snapshot,
        "plan": said["plan"],
        "kind": said["kind"],
        "snapshot_sha256": said["snapshot_sha256"],
        "files": {path: _entry(data) for path, data in sorted(found.items())},
    }
    if windows:
        manifest["windows"] = list(windows)
    _check_replaceable(folder)
    _replace(folder, {**found, MANIFEST: _dump(manifest)})
    return manifest


def _entry(data: bytes) -> dict[str, object]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def verify(folder: Path) -> list[str]:
    """The differences between an export and its manifest, as lines; empty if there are none. Raises BadInput if there
    is no manifest."""
    try:
        listed = json.loads((folder / MANIFEST).read_bytes())["files"]
        wanted = {path: (entry["bytes"], entry["sha256"]) for path, entry in listed.items()}
    except OSError as error:
        raise BadInput(f"{folder}: expected an export with {MANIFEST}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{folder}: expected an export with {MANIFEST} that lists files") from None
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    there.pop(MANIFEST, None)
    found = [f"{path}: the file is missing" for path in sorted(wanted.keys() - there.keys())]
    found += [f"{path}: the file is not in the manifest" for path in sorted(there.keys() - wanted.keys())]
    for path in sorted(wanted.keys() & there.keys()):
        data = there[path].read_bytes()
        if (len(data), hashlib.sha256(data).hexdigest()) != wanted[path]:
            found.append(f"{path}: the file differs from the manifest")
    return found


def _check_replaceable(folder: Path) -> None:
    if folder.is_dir() and (not any(folder.iterdir()) or (folder / MANIFEST).is_file()):
        return
    if folder.exists():
        raise BadInput(f"{folder}: the path exists and is no export of a plan; nothing was replaced")


def _replace(asked: Path, found: Mapping[str, bytes]) -> None:
    folder = asked.absolute()
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    try:
        for path, data in found.items():
            file = beside / path
            with written_as(asked / path):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        with written_as(asked):
            if folder.exists():
                folder.rename(old)
            beside.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _dump(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
