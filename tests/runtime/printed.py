"""How transcripts of a controller name keys of the store, and print what they hold: without times, ids and numbers of
commits, which are of no interest and differ from version to version."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from kedge import TopicPartition, UpdateMetadataRequest
from kedge.controller.codec import keys
from kedge.controller.codec.orders import FORMAT_KEY
from kedge.controller.model.errors import ApiError
from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY
from tests.rules.planting import name_of

BY_ITSELF: Final = (TOKEN_KEY, LEADER_KEY, HELD_KEY, EPOCH_KEY, FORMAT_KEY, keys.MIGRATION, keys.BROKER_IDS)
"""Keys that change with each commit, election and birth."""
NAMES: Final = {
    "legacy": keys.REASSIGN_PARTITIONS,
    "preferred": keys.PREFERRED_ELECTION,
    "replicas-removal": keys.REPLICAS_REMOVAL,
    "rates-removal": keys.RATES_REMOVAL,
    "old-replicas-removal": keys.OLD_REPLICAS_REMOVAL,
    "old-rates-removal": keys.OLD_RATES_REMOVAL,
}
KINDS: Final[Mapping[str, Callable[[str], str]]] = {
    "topic": keys.topic,
    "state": lambda name: keys.state(*name_of(name)),
    "config": lambda name: f"/config/{name}",
    "change": lambda name: f"{keys.CONFIG_CHANGES}/{keys.CONFIG_CHANGE}{int(name):010}",
    "isr-change": lambda name: f"{keys.ISR_CHANGES}/isr_change_{int(name):010}",
    "log-dir": lambda name: f"{keys.LOG_DIR_EVENTS}/log_dir_event_{int(name):010}",
    "delete": keys.delete_topic,
    "reduce": keys.delete_partitions,
    "admitted": lambda name: keys.admitted(int(name)),
    "broker": lambda name: keys.broker(int(name)),
}
THROTTLES: Final = {"rates": RATES["replication"], "reassignment": RATES["reassignment"], "lists": LISTS}
_STATE: Final = re.compile(r"/brokers/topics/(.+)/partitions/(\d+)/state")
_INTENTS: Final = re.compile(rf"{keys.REPLICA_DELETIONS}/(\d+)/(\d+)")
_BEGINNINGS: Final = {
    "topic": f"{keys.TOPICS}/",
    "config": "/config/",
    "delete": f"{keys.DELETE_TOPICS}/",
    "reduce": f"{keys.DELETE_PARTITIONS}/",
    "admitted": f"{keys.ADMITTED}/",
}


def path_of(name: str) -> str:
    """The key that a transcript names: `state/t-0`, `legacy`, or a path."""
    kind, _, rest = name.partition("/")
    return name if not kind else KINDS[kind](rest) if rest else NAMES[name]


def name_of_path(path: str) -> str:
    """How a transcript names the key."""
    if found := _STATE.fullmatch(path):
        return f"state/{found[1]}-{found[2]}"
    if found := _INTENTS.fullmatch(path):
        return f"intents/{found[1]}"
    if path in NAMES.values():
        return next(name for name, known in NAMES.items() if known == path)
    number = path.rpartition("_")[2]
    for kind in ("change", "isr-change", "log-dir"):
        if number.isdecimal() and KINDS[kind](number) == path:
            return f"{kind}/{int(number)}"
    for kind, beginning in _BEGINNINGS.items():
        if path.startswith(beginning):
            return f"{kind}/{path.removeprefix(beginning)}"
    return path


def numbers(values: Any) -> str:
    """Ids, or `-` for none."""
    return ",".join(map(str, values)) or "-"


def content(path: str, value: bytes) -> str:
    """What the key holds, in a line."""
    try:
        found = json.loads(value)
    except ValueError:
        return repr(value)[1:60]
    if not isinstance(found, dict):
        return f"{value.decode():.60}"
    kind = name_of_path(path).partition("/")[0]
    return _KINDS.get(kind, _json)(found)


def _json(found: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in found.items() if name != "version"}, separators=(",", ":"))


def _more(found: Mapping[str, Any], *known: str) -> str:
    """The other fields, where they hold anything."""
    more = {name: value for name, value in found.items() if name not in {"version", *known} and value != {}}
    return f" {_json(more)}" if more else ""


def _version(found: Mapping[str, Any], usual: int = 1) -> str:
    return f" version {found['version']}" if found.get("version", usual) != usual else ""


def _topic(found: Mapping[str, Any]) -> str:
    listed = " ".join(f"{number}:{numbers(replicas)}" for number, replicas in found["partitions"].items())
    told = "" if found.get("topic_id") else " without id"
    return listed + _more(found, "partitions", "topic_id") + told + _version(found, 3)


def _state(found: Mapping[str, Any]) -> str:
    said = f"isr {numbers(found['isr'])} leader {found['leader']} epoch {found['leader_epoch']}"
    if "targetReplicas" in found:
        move = found.get("reassignment", {})
        deadline = " with a deadline" if move.get("deadline_ms") else ""
        said = f"target {numbers(found['targetReplicas'])} from {numbers(move.get('origin', ()))}{deadline} {said}"
    known = ("isr", "leader", "leader_epoch", "targetReplicas", "reassignment", "controller_epoch")
    zeros = [name for name in ("status_code", "leader_recovery_state") if found.get(name) == 0]
    return said + _more(found, *known, *zeros)


def _config(found: Mapping[str, Any]) -> str:
    """Throttles as leader/follower, then the others."""
    left, said = dict(found["config"]), []
    for name, pair in THROTTLES.items():
        sides = [left.pop(config, "-") for config in pair]
        said += [f"{name} {'/'.join(sides)}"] if sides != ["-", "-"] else []
    said += [json.dumps(left)] if left or not said else []
    return ", ".join(said) + _more(found, "config")


def _marks(found: Mapping[str, Any], owners: str) -> str:
    """Those whose throttles are to be removed, with what was set, and what was there before."""
    marks = {str(owner): _mark(found.get("previous", {}).get(str(owner), {})) for owner in found[owners]}
    said = "; ".join(f"{names}{mark}" for names, mark in grouped(marks))
    return said + _more(found, owners, "previous") + _version(found)


def _mark(configs: Mapping[str, Any]) -> str:
    parts = []
    for name, pair in THROTTLES.items():
        rows = [configs.get(config, {}) for config in pair]
        if any(rows):
            was = ["-" if row.get("was") is None else row["was"] for row in rows]
            said = f" {name} {'/'.join(','.join(row.get('set', '-')) for row in rows)}"
            more = [_more(row, "set", "was") for row in rows]
            parts.append(said + (f" was {'/'.join(was)}" if was != ["-", "-"] else "") + "".join(more))
    return "".join(parts)


def grouped(values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names with the same value as one name, with commas."""
    groups: dict[str, list[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, []).append(name)
    return [(",".join(names), value) for value, names in groups.items()]


def _plan(found: Mapping[str, Any]) -> str:
    rows = found["partitions"]
    names = " ".join(f"{row['topic']}-{row['partition']}:{numbers(row.get('replicas', ()))}" for row in rows)
    more = [_more(row, "topic", "partition", "replicas") for row in rows]
    return names + "".join(more) + _more(found, "partitions") + _version(found)


def _intents(found: Mapping[str, Any]) -> str:
    return " ".join(f"{one['topic']}-{one['partition']} epoch {one['leader_epoch']}" for one in found["replicas"])


_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "topic": _topic,
    "state": _state,
    "config": _config,
    "legacy": _plan,
    "intents": _intents,
    "rates-removal": lambda found: _marks(found, "brokers"),
    "replicas-removal": lambda found: _marks(found, "topics"),
    "admitted": lambda _: "as registered",
}
_TOGETHER: Final = ("config/brokers/", "admitted/")
"""Keys that are one line where they hold the same."""


def changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """A line for each key that holds something else than before; notifications of configs are one line, by number."""
    told, gone, shared = [], [], dict[str, str]()
    for path in sorted({*before, *after}, key=_in_order):
        name = name_of_path(path)
        if path not in after:
            if name.startswith("change/"):
                gone.append(name.removeprefix("change/"))
            else:
                yield f"{name} is gone"
        elif before.get(path) != after[path]:
            if name.startswith("change/"):
                told.append(f"{name.removeprefix('change/')}:{_entity(after[path])}")
            elif name.startswith(_TOGETHER):
                shared[name] = content(path, after[path])
            else:
                yield f"{name} {content(path, after[path])}".rstrip()
    for beginning in _TOGETHER:
        same = {name.removeprefix(beginning): value for name, value in shared.items() if name.startswith(beginning)}
        yield from (f"{beginning}{names} {value}" for names, value in grouped(same))
    yield from [f"changes {' '.join(told)}"] if told else []
    yield from [f"changes {','.join(gone)} are gone"] if gone else []


def _in_order(path: str) -> tuple[str, ...]:
    """Numbers by their size."""
    return tuple(part.rjust(10) if part.isdecimal() else part for part in path.split("/"))


def _entity(value: bytes) -> str:
    found = json.loads(value)
    return str(found["entity_path"]) if isinstance(found, dict) and "entity_path" in found else repr(value)[1:60]


# --- answers, requests to brokers, rows of the journal


def answer(future: Future[Any]) -> str:
    """What the caller got."""
    if future.cancelled():
        return "cancelled"
    error, result = future.exception(0), None
    if error is None:
        result = future.result(0)
    if isinstance(result, Mapping) and all(isinstance(tp, TopicPartition) for tp in result):
        return ", ".join(f"{tp.topic}-{tp.partition} {error or 'done'}" for tp, error in result.items()) or "done"
    if isinstance(result, tuple):
        return " ".join(f"{tp.topic}-{tp.partition}" for tp in result) or "done"
    code = f" {int(error.code)}" if isinstance(error, ApiError) else ""
    return "done" if error is None else f"{type(error).__name__}{code}: {in_short(str(error))}"


def request(told: Any) -> str:
    """What a broker was sent: of each partition the leader, and the leader epoch with the partition epoch."""
    full = " full" if getattr(told, "full", False) else ""
    said = [
        f"to {told.broker_id}: {type(told).__name__.removesuffix('Request')}{full}",
        *map(_partition, told.partitions),
    ]
    if isinstance(told, UpdateMetadataRequest) and not told.partitions:
        said += ["brokers", *(f"{peer.broker_id}:{peer.rack}" for peer in told.live_brokers)]
    return " ".join(said)


def _partition(p: Any) -> str:
    said = [f"{p.topic}-{p.partition}", *([f"leader {p.leader}"] if hasattr(p, "leader") else [])]
    for name in ("target_replicas", "offline_replicas"):
        said += [f"{name.partition('_')[0]} {numbers(getattr(p, name))}"] if getattr(p, name, None) else []
    at = f"/{p.partition_epoch}" if hasattr(p, "partition_epoch") else ""
    return " ".join([*said, f"epoch {p.leader_epoch}{at}", *(["new"] if getattr(p, "is_new", False) else [])])


def row(found: dict[str, Any], requests: Sequence[str]) -> str:
    """Event, place, cause and detail; of a list of objects the number. Requests count from 1."""
    detail = found.get("detail", {})
    for name, value in detail.items():
        detail[name] = len(value) if isinstance(value, list) and value and isinstance(value[0], dict) else value
    said = [
        found["event"],
        f"{found['topic']}-{found['partition']}" if "partition" in found else found.get("topic", ""),
    ]
    said += [f"({found['cause']})" if "cause" in found else "", json.dumps(detail) if detail else ""]
    said += [f"by request {requests.index(found['request']) + 1}"] if found.get("request") else []
    return in_short(" ".join(filter(None, said)))


def in_short(text: str) -> str:
    """Without what Python says of bad JSON, which differs from version to version."""
    return re.sub(r"not JSON: [^;]*", "not JSON", text)[:240]
