"""`kedge store ping`: asks a store question by question, within one deadline for all.

If a question fails, that is a problem in the report, and the other questions are asked all the same.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import attrs
import click

from ....stores import Corrupt, Entry, MetadataStore, StoreError, probing, public_url
from ....stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token, decode_epoch
from ...codec import BadValue, keys
from ...codec import broker as broker_codec
from ...codec.migration import decode_marker
from ...codec.names import broker_in
from ...codec.orders import CONTROLLER_VERSION, FORMAT_KEY, decode_format
from ...codec.small import decode_controller, is_of_kraft
from ..options import command, json_option, option
from ..printing import compact, one_line, print_pairs
from .opening import one_store, opened

CHECK_S: Final = 20.0  # for all questions
_EACH_S: Final = 5.0

_T = TypeVar("_T")


def ask(store: MetadataStore, *, write: bool, timeout_s: float) -> dict[str, Any]:
    """The answers, in values of JSON; under "problems" a sentence for each thing that is wrong."""
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
            self.problems.append(f"{what}: not read, because {CHECK_S:g} s were over")
            return None
        try:
            return question()
        except (StoreError, BadValue) as error:
            self.problems.append(f"{what}: {one_line(error).removeprefix(f'{what}: ')}")
            return None

    def is_empty(self) -> bool | None:
        """Whether the store has no key. That is not a problem: every store was new once."""
        return self._ask("/", lambda: not self._any_key_below("/"))

    def _any_key_below(self, parent: str) -> bool:
        """Nodes without data, which ZooKeeper keeps above deleted keys, do not count as keys."""
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
        wanted = [LEADER_KEY, EPOCH_KEY, TOKEN_KEY, FORMAT_KEY]
        if self._ask("bulk read", lambda: self._store.get_columns(wanted, timeout_s=self._left_s)) is None:
            return None
        works = probing.has_bulk_reads(self._store)
        if not works:
            self.problems.append(
                "bulk reads do not work, so takeovers are slow; use a ZooKeeper server of version 3.6 or later"
            )
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
        """The active controller and its epoch; keys of a controller that cannot be read are problems."""
        leader, marker = self._read(LEADER_KEY), self._decoded(keys.MIGRATION, decode_marker)
        active = None if leader is None else decode_controller(leader.value)
        if marker is not None:
            self.problems.append(f"no controller can lead here: {marker}")
        if leader is not None and active is None:
            self.problems.append(f"{LEADER_KEY}: expected the id of the active controller, got {leader.value!r:.100}")
        elif leader is not None and leader.owner is None and self._read(HELD_KEY) is None:
            self.problems.append(f"{LEADER_KEY}: no session holds it{_what_to_do(leader.value)}")
        epoch = self._decoded(EPOCH_KEY, decode_epoch)
        self._decoded(TOKEN_KEY, Token.decode)
        least = self._decoded(FORMAT_KEY, decode_format)
        if least is not None and least > CONTROLLER_VERSION:
            self.problems.append(
                f"{FORMAT_KEY}: needs a controller of version {least}, this one has {CONTROLLER_VERSION}; upgrade Kedge"
            )
        return {"id": active, "epoch": epoch}

    def topics(self) -> int | None:
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


def _what_to_do(value: bytes) -> str:
    """About a key that a deleted one would be worse than, where Kafka brokers are."""
    if is_of_kraft(value):
        return ", because KRaft's controller leads: the brokers are being migrated from ZooKeeper, or have been"
    return (
        ", so only `kedge kafka-controller` can lead: with Kafka brokers start it, or give the cluster back with its "
        "--hand-back; without Kafka brokers delete the key"
    )


@command("ping", example="kedge store ping zookeeper://localhost:2181/kedge --write")
@click.argument("url", metavar="URL", required=False)
@option("--store", "by_option", metavar="URL", none="the argument", help="The same as the argument URL.")
@option("--write", is_flag=True, help="Time a few commits as well, on a scratch key that is deleted again.")
@json_option()
def ping(url: str | None, *, by_option: str | None, write: bool, as_json: bool) -> None:
    """Check whether a store can be used, and print its version and limits.

    Also prints its servers, the session timeout, latencies, whether bulk reads work, and the active controller. Use it
    before a first start and when a controller is slow.

    Exit code: 0 no problem; 1 problems, which are printed; 2 the store cannot be reached.
    """
    url = one_store(url, by_option)
    with opened(url, read_only=url.startswith("memory:")) as store:
        answers = {"store": public_url(url), **ask(store, write=write, timeout_s=CHECK_S)}
    if as_json:
        click.echo(compact(answers))
    else:
        print_pairs(_rows(answers))
    sys.exit(1 if answers["problems"] else 0)


def _rows(answers: dict[str, Any]) -> list[tuple[str, str]]:
    limits, latency, controller = answers["limits"], answers["latency_ms"], answers["controller"]
    rows = [("store", f"{answers['store']} ({answers['name']})")]
    rows += [("server", _server(server)) for server in answers["servers"]]
    rows += [
        ("session", f"{answers['session_timeout_s']:g} s granted, {limits['session_timeout_s_min']:g} s at least"),
        ("value", f"{limits['value_bytes_max']} bytes at most"),
        ("commit", f"{limits['commit_ops_max']} ops and {limits['commit_bytes_max']} bytes at most"),
        ("snapshot", "atomic" if limits["atomic_snapshot"] else "atomic only if nothing is written meanwhile"),
        ("bulk reads", _known(answers["bulk_reads"], "work", "do not work")),
    ]
    rows += [(name.replace("_", " "), _latency(found)) for name, found in latency.items() if found is not None]
    rows += [
        ("controller", "none" if controller["id"] is None else str(controller["id"])),
        ("epoch", "none" if controller["epoch"] is None else str(controller["epoch"])),
        ("topics", _count(answers["topics"])),
        ("brokers", _count(answers["brokers"])),
    ]
    if answers["empty"]:
        rows.append(("keys", "none: the store is new, or the chroot or prefix is wrong"))
    return rows + [("problem", problem) for problem in answers["problems"]]


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
