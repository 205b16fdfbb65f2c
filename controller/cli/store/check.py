"""What `kedge store check` asks a store, question by question; what goes wrong with one is a problem, and the others
are asked all the same, within one deadline for all."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import attrs
import click

from controller.cli.printing import clean, one_line, shortened
from controller.cli.store.opening import opened
from controller.codec import BadValue, keys, migration
from controller.codec import broker as broker_codec
from controller.codec.names import broker_in
from controller.codec.orders import CONTROLLER_VERSION, FORMAT_KEY, decode_format
from controller.codec.small import decode_controller
from stores import Corrupt, Entry, MetadataStore, StoreError, probing, public_url
from stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token, decode_epoch

CHECK_S: Final = 20.0  # for all questions
_EACH_S: Final = 5.0

_T = TypeVar("_T")


def ask(store: MetadataStore, *, write: bool, timeout_s: float) -> dict[str, Any]:
    """All that is found out, as what JSON can hold; under "problems" what is wrong, in words."""
    questions = _Questions(store, time.monotonic() + timeout_s)
    capabilities = attrs.asdict(store.capabilities)
    answers = {
        "name": capabilities.pop("name"),
        "limits": capabilities,
        "session_timeout_s": store.session_timeout_s,
        "servers": questions.servers(),
        "bulk_reads": questions.bulk_reads(),
        "latency_ms": questions.latency(write=write),
        "controller": questions.controller(),
        "topics": questions.topics(),
        "brokers": questions.brokers(),
        "empty": questions.is_empty(),
    }
    return {**answers, "problems": questions.problems}


class _Questions:
    def __init__(self, store: MetadataStore, deadline_s: float) -> None:
        self.problems: list[str] = []
        self._store = store
        self._deadline_s = deadline_s

    @property
    def _left_s(self) -> float:
        return max(0.1, min(_EACH_S, self._deadline_s - time.monotonic()))

    def _ask(self, what: str, question: Callable[[], _T]) -> _T | None:
        """The answer, or None and a problem."""
        if time.monotonic() >= self._deadline_s:
            self.problems.append(f"{what}: not asked, the time was over")
            return None
        try:
            return question()
        except (StoreError, BadValue) as error:
            self.problems.append(f"{what}: {one_line(error).removeprefix(f'{what}: ')}")
            return None

    def is_empty(self) -> bool | None:
        """Whether no key stands there. That is no fault of a store: every one was new once."""
        return self._ask("/", lambda: not self._any_key_below("/"))

    def _any_key_below(self, parent: str) -> bool:
        """Nodes without data, which ZooKeeper keeps where keys stood once, are no keys: they are gone through."""
        names = self._store.children(parent, timeout_s=self._left_s)
        below = [f"{parent.rstrip('/')}/{name}" for name in names]
        if any(entry is not None for entry in self._store.get_many(below, timeout_s=self._left_s)):
            return True
        return any(self._any_key_below(key) for key in below)

    def servers(self) -> list[dict[str, Any]]:
        found = probing.servers(self._store, timeout_s=self._left_s)
        self.problems += [f"{server.address}: {server.problem}" for server in found if server.problem is not None]
        return [attrs.asdict(server) for server in found]

    def bulk_reads(self) -> bool | None:
        """Whether they are there, and whether one works."""
        wanted = [LEADER_KEY, EPOCH_KEY, TOKEN_KEY, FORMAT_KEY]
        if self._ask("bulk read", lambda: self._store.get_columns(wanted, timeout_s=self._left_s)) is None:
            return None
        works = probing.has_bulk_reads(self._store)
        if not works:
            self.problems.append("bulk reads do not work, so loading is slow: the server is older than 3.6")
        return works

    def latency(self, *, write: bool) -> dict[str, dict[str, float] | None]:
        store = self._store
        found = {
            "read": self._ask("read", lambda: probing.reads(store, sync=False, timeout_s=self._left_s)),
            "sync_read": self._ask("sync read", lambda: probing.reads(store, sync=True, timeout_s=self._left_s)),
            "commit": self._ask("commit", lambda: probing.commits(store, timeout_s=self._left_s)) if write else None,
        }
        return {name: None if one is None else attrs.asdict(one) for name, one in found.items()}

    # Of controllers

    def controller(self) -> dict[str, int | None]:
        """Who leads, and under which epoch; keys of a controller that cannot be read are problems."""
        leader, marker = self._read(LEADER_KEY), self._decoded(keys.MIGRATION, migration.decode_marker)
        active = None if leader is None else decode_controller(leader.value)
        if leader is not None and migration.decode_holder(leader.value) is not None:
            active = None
            self.problems.append(_moved(marker))
        elif leader is not None and active is None:
            self.problems.append(f"{LEADER_KEY}: does not say who leads: {leader.value!r:.100}")
        elif leader is not None and leader.owner is None and self._read(HELD_KEY) is None:
            self.problems.append(f"{LEADER_KEY}: no session holds it, so nobody can be elected")
        epoch = self._decoded(EPOCH_KEY, decode_epoch)
        self._decoded(TOKEN_KEY, Token.decode)
        least = self._decoded(FORMAT_KEY, decode_format)
        if least is not None and least > CONTROLLER_VERSION:
            self.problems.append(f"{FORMAT_KEY}: asks for controllers of version {least}, this is {CONTROLLER_VERSION}")
        return {"id": active, "epoch": epoch}

    def topics(self) -> int | None:
        """How many topics have a key."""
        found = self._below(keys.TOPICS)
        return None if found is None else len(found)

    def brokers(self) -> int | None:
        """How many brokers are registered; a registration that cannot be read is a problem."""
        found = self._below(keys.BROKER_IDS)
        for entry in found or ():
            name = entry.key.rpartition("/")[2]
            try:
                broker_codec.decode(entry.value, broker_in(name))
            except (ValueError, TypeError) as error:
                self.problems.append(f"{entry.key}: {one_line(error).removeprefix(f'{entry.key}: ')}")
        return None if found is None else len(found)

    def _below(self, parent: str) -> list[Entry] | None:
        def read() -> list[Entry]:
            names = self._store.children(parent, timeout_s=self._left_s)
            found = self._store.get_many([f"{parent}/{name}" for name in names], timeout_s=self._left_s)
            return [entry for entry in found if entry is not None]

        return self._ask(parent, read)

    def _read(self, key: str) -> Entry | None:
        return self._ask(key, lambda: self._store.get(key, timeout_s=self._left_s))

    def _decoded(self, key: str, decode: Callable[[bytes], _T]) -> _T | None:
        entry = self._read(key)
        if entry is None:
            return None
        try:
            return decode(entry.value)
        except (Corrupt, BadValue) as error:
            self.problems.append(f"{key}: {one_line(error).removeprefix(f'{key}: ')}")
            return None


def _moved(marker: migration.Marker | None) -> str:
    """What holds /controller for good where a cluster was moved away."""
    if marker is None:
        return f"{LEADER_KEY}: held for a move to another store, of which {keys.MIGRATION} should say more"
    how = "was moved" if marker.phase == migration.MOVED else "is being moved"
    return f"the cluster {how} to {marker.other:.200}: nobody leads here, and {LEADER_KEY} must stay"


_VALUE_CHARACTERS_MAX: Final = 400


@click.command()
@click.argument("url", metavar="URL")
@click.option("--write", is_flag=True, help="Time a few commits, too: of a scratch key, which is removed again.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--plain", is_flag=True, help="Tab-separated, not aligned.")
def check(url: str, *, write: bool, as_json: bool, plain: bool) -> None:
    """Say whether a store can be used, and what it is.

    Its servers and their versions, its limits, the session time that it grants, how fast it answers, whether bulk reads
    work, who is the controller. Exit code 1 if something is wrong with it, 2 if it cannot be reached.
    """
    if as_json and plain:
        raise click.UsageError("--json and --plain exclude each other")
    with opened(url, read_only=url.startswith("memory:")) as store:
        said = {"store": public_url(url), **ask(store, write=write, timeout_s=CHECK_S)}
    if as_json:
        click.echo(json.dumps(said, separators=(",", ":"), default=attrs.asdict))
    else:
        _print(_rows(said), plain=plain)
    sys.exit(1 if said["problems"] else 0)


def _rows(said: dict[str, Any]) -> list[tuple[str, str]]:
    limits, latency, controller = said["limits"], said["latency_ms"], said["controller"]
    rows = [("store", f"{said['store']} ({said['name']})")]
    rows += [("server", _server(server)) for server in said["servers"]]
    rows += [
        ("session", f"{said['session_timeout_s']:g} s granted, {limits['session_timeout_s_min']:g} s at least"),
        ("value", f"{limits['value_bytes_max']} bytes at most"),
        ("commit", f"{limits['commit_ops_max']} ops and {limits['commit_bytes_max']} bytes at most"),
        ("snapshot", "one instant" if limits["atomic_snapshot"] else "one instant if nothing is written meanwhile"),
        ("bulk reads", _known(said["bulk_reads"], "work", "do not work")),
    ]
    rows += [(name.replace("_", " "), _latency(found)) for name, found in latency.items() if found is not None]
    rows += [
        ("controller", "none" if controller["id"] is None else str(controller["id"])),
        ("epoch", "none" if controller["epoch"] is None else str(controller["epoch"])),
        ("topics", _count(said["topics"])),
        ("brokers", _count(said["brokers"])),
    ]
    if said["empty"]:
        rows.append(("keys", "none: a new store, or a wrong chroot or prefix"))
    return rows + [("problem", problem) for problem in said["problems"]]


def _server(server: dict[str, Any]) -> str:
    if server["problem"] is not None:
        return f"{server['address']}: {server['problem']}"
    version = server["version"] or "version unknown"
    return f"{server['address']}: {version}" + (f", {server['role']}" if server["role"] else "")


def _latency(found: dict[str, float]) -> str:
    return f"{found['middle_ms']:.1f} ms (best {found['best_ms']:.1f}, worst {found['worst_ms']:.1f})"


def _known(value: bool | None, true: str, false: str) -> str:  # noqa: FBT001 - it is what is shown
    return "unknown" if value is None else true if value else false


def _count(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _print(rows: list[tuple[str, str]], *, plain: bool) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        shown = shortened(clean(value), _VALUE_CHARACTERS_MAX)
        click.echo(f"{name}\t{shown}" if plain else f"{name.ljust(width)}  {shown}")
