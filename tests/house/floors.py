"""The floors of the house as a table, and a checker that holds a tree of sources to it.

Rules
* A module belongs to the room with the longest name that begins its own; a module without a room is a violation, so a
  new room gets its row here, with a reason.
* An import counts wherever it stands: at the top, in a function, under TYPE_CHECKING, in `import_module("...")`. A type
  from above is a dependency on above as much as a call.
* Imports are read with `ast`, nothing is executed: a violation is found also where no test goes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

import attrs

TOPS: Final = ("kedge", "controller", "stores", "pipeline")
# Ours too, but not a floor: they are never shipped.
OTHER_TOPS: Final = ("tests", "servers", "scripts", "examples", "benchmarks")

# What a pure floor may not touch, by the reason. A name covers what is below it (`concurrent` covers its futures).
IMPURE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("threading", "_thread", "queue", "concurrent", "multiprocessing", "asyncio", "contextvars", "sched", "signal"),
        "threads live in controller.runtime; a rule that can be interrupted cannot be replayed",
    ),
    **dict.fromkeys(
        ("time", "datetime", "calendar"),
        "time comes with the event, as now_ms; a rule that reads a clock gives two answers to one question",
    ),
    **dict.fromkeys(
        ("random", "secrets", "uuid"),
        "ids, nonces and random starts are drawn by the runtime and come with the event",
    ),
    **dict.fromkeys(
        ("io", "os", "pathlib", "shutil", "tempfile", "socket", "select", "selectors", "ssl", "subprocess", "urllib",
         "http", "logging", "sqlite3", "mmap", "ctypes"),
        "a decision does no I/O: what is to be said goes into the records and the reply",
    ),
    **dict.fromkeys(
        ("kazoo", "etcd3", "grpc", "google"),
        "a store client below the runtime would be a second way to write",
    ),
    "importlib": "an import by name would pass below this table",
}  # fmt: skip


@attrs.frozen
class Room:
    """What the modules whose name begins with `name` may import, besides the standard library and the room itself."""

    name: str
    ours: tuple[str, ...]
    why: str
    third_party: tuple[str, ...] = ("attrs", "tenacity")
    pure: bool = False
    beside: bool = True
    """Whether modules of the room may import each other."""


_MODEL = ("controller.model",)
_DECIDING = (*_MODEL, "controller.rules", "controller.state", "controller.machine")
_RUNTIME = (*_DECIDING, "controller.codec", "stores")
_HOST = (*_RUNTIME, "controller.keys", "controller.runtime", "controller.admin")
_AROUND = (*_HOST, "controller.host", "controller.metrics", "controller.quota")

ROOMS: Final = (
    Room(
        "stores",
        ("stores",),
        "bytes under keys: a store that knew of partitions could serve nobody else, and could not be swapped",
    ),
    Room(
        "stores.base",
        (),
        "the contract imports no backend, so that a new backend imports the contract alone",
        third_party=("attrs",),
        beside=False,
    ),
    Room(
        "stores.checks",
        ("stores.base",),
        "what every backend checks, and whoever names keys; it needs the contract alone",
        third_party=(),
    ),
    Room("stores.zookeeper", ("stores",), "the one place that knows kazoo", ("attrs", "tenacity", "kazoo")),
    Room(
        "stores.etcd",
        ("stores",),
        "the one place that knows etcd3, grpc and google.protobuf",
        ("attrs", "tenacity", "etcd3", "grpc", "google"),
    ),
    Room(
        "controller.model",
        (),
        "values that everybody may import must cost nothing to import and depend on nobody",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.rules",
        _MODEL,
        "a decision is a function of state and event; the state is seen through the protocol that model defines",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.audit",
        _MODEL,
        "what a legal journal is: it shares no rule with the controller that it holds to account",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.codec",
        (*_MODEL, "stores.base"),
        "bytes and values, both ways; the pipeline uses it without a controller",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.state",
        _MODEL,
        "how rows are packed is the state's secret; it neither decides nor encodes",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.machine",
        (*_MODEL, "controller.rules", "controller.state"),
        "one dispatch table from events to decisions; the simulation drives it without a runtime",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.check",
        (*_MODEL, "controller.rules", "controller.codec", "stores.base", "stores.checks", "stores.recipes"),
        "entries in, findings out: commands, rig and pipeline look at trees that nobody leads, without a runtime",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.migration",
        (*_MODEL, "controller.codec", "controller.check", "stores.base", "stores.recipes", "stores.transfer.batches"),
        "a move to another store as values: entries in, changes, stages and plans out; it knows no state and no rule",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.keys",
        (*_DECIDING, "controller.codec", "stores.base", "stores.checks", "stores.recipes"),
        "one file per kind of key: what is read of a store and written to it, without a thread or a clock",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.runtime",
        (*_RUNTIME, "controller.keys", "controller.migration"),
        "the one place with threads, time and I/O stands on all that is pure",
    ),
    Room("controller.admin", (*_RUNTIME, "controller.runtime"), "requests go in by the inbox, as everybody's do"),
    Room(
        "controller.host",
        (*_HOST, "controller.metrics"),
        "what a host calls; what a host implements stands in model",
    ),
    Room(
        "controller.aio",
        (*_HOST, "controller.host"),
        "the API once more, awaited: it stands on a whole controller, and no thread of a controller knows of it",
        third_party=(),
    ),
    Room("controller.metrics", (*_HOST, "controller.quota"), "read from outside: the loop works without them"),
    Room(
        "controller.metrics.prometheus",
        (*_MODEL, "controller.metrics", "controller.runtime"),
        "the one place that knows prometheus_client; imported only by who wants it",
        third_party=("prometheus_client",),
    ),
    Room("controller.quota", _MODEL, "a tool for hosts, useful without a controller"),
    Room(
        "controller.groups",
        _MODEL,
        "coordinators of consumer groups: requests and time in, answers and records out, for whoever has logs",
        third_party=("attrs",),
        pure=True,
    ),
    Room(
        "controller.simulated",
        _AROUND,
        "brokers in one process, by the public names of a host: nothing of them is a test's, and time is passed in",
    ),
    Room(
        "controller.rig",
        (*_AROUND, "controller.check", "controller.simulated"),
        "the test kit: real controllers and simulated brokers in virtual time, held against invariants",
    ),
    Room(
        "controller.server",
        (*_AROUND, "controller.groups", "controller.simulated"),
        "what `kedge serve` runs: the same brokers by the wall clock, in threads, without the test kit",
    ),
    Room(
        "controller.wire",
        (*_AROUND, "controller.groups"),
        "a gateway over the admin and host APIs",
        third_party=("attrs", "tenacity", "kafka", "scramp", "pyarrow"),
    ),
    Room(
        "controller.cli",
        (
            *_AROUND,
            "controller.audit",
            "controller.check",
            "controller.groups",
            "controller.migration",
            "controller.rig",
            "controller.server",
            "controller.simulated",
            "controller.wire",
            "pipeline",
            "controller.cli.kafka",
        ),
        "commands stand above everything, and are the one place with click and rich",
        third_party=("attrs", "tenacity", "click", "rich"),
    ),
    Room(
        "controller.cli.kafka",
        (
            *_MODEL,
            "controller.cli.extras",
            "controller.cli.options",
            "controller.cli.printing",
            "controller.wire.messages",
            "stores.reading",
        ),
        "the one place of the commands that knows kafka-python: they see values, and errors that are one line",
        third_party=("attrs", "click", "kafka"),
    ),
    Room(
        "pipeline",
        (*_MODEL, "controller.audit", "controller.codec", "controller.rules", "pipeline"),
        "plans and audits stand on values, their bytes and the rules; a fleet is planned without a controller",
        third_party=("attrs", "numpy", "pyarrow"),
    ),
    Room(
        "pipeline.kernel",
        (),
        "a plan is a function of arrays, for every engine alike: no table, no file, no clock, no chance",
        third_party=("attrs", "numpy"),
        pure=True,
    ),
    Room(
        "pipeline.journal.plain",
        (),
        "the one place that knows msgspec, without which journals are read slower and to the same",
        third_party=("msgspec",),
    ),
    Room(
        "pipeline.collect",
        (*_MODEL, "controller.codec", "pipeline.tables", "pipeline.errors", "stores"),
        "the one place of the pipeline that reads a store",
        third_party=("attrs", "pyarrow"),
    ),
    Room(
        "pipeline.submit",
        ("pipeline", *_MODEL, "controller.codec", "stores"),
        "plans reach a controller from here: by a protocol that its admin API fulfils, or by a key of its store",
    ),
    Room(
        "pipeline.spark",
        ("pipeline", *_MODEL, "controller.codec", "controller.rules"),
        "the one place that knows Spark, and grpc, by which its servers are reached",
        third_party=("attrs", "numpy", "pyspark", "pyarrow", "grpc"),
    ),
    Room(
        "pipeline.job",
        ("controller.cli",),
        "the commands as a program for spark-submit: it stands above them, and nothing imports it",
        third_party=(),
    ),
    Room(
        "kedge",
        _AROUND,
        "the door: the list of public names of every floor; nothing below it goes through it",
        third_party=(),
    ),
    Room(
        "kedge.testing",
        (*_AROUND, "controller.cli.kafka", "controller.groups", "controller.server", "controller.wire"),
        "what `kedge serve` runs, for tests of clients: nothing below is made for it but the faults of the gateway",
        third_party=(),
    ),
    Room(
        "kedge.__main__",
        ("controller.cli",),
        "the command",
        third_party=(),
    ),
    Room(
        "controller",
        (),
        "a name for what is in it: whoever imports a room of it imports that room alone",
        third_party=(),
    ),
)


@attrs.frozen
class Violation:
    """`module` imports `imported` at `line`, and may not, because of `reason`."""

    module: str
    line: int
    imported: str
    reason: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imported}: {self.reason}"


def violations(tree: Path, rooms: Iterable[Room] = ROOMS) -> list[Violation]:
    """Every import below `tree` that the table forbids; `tree` is the folder that holds the folders of TOPS."""
    rooms = tuple(rooms)
    files = modules(tree)
    found = []
    for module, file in files.items():
        room = room_of(module, rooms)
        if room is None:
            found.append(Violation(module, 0, "anything", "the module has no row in tests/house/floors.py"))
            continue
        for line, name in imports(module, file, frozenset(files)):
            reason = _forbidden(name, room, rooms)
            if reason:
                found.append(Violation(module, line, name, reason))
    return found


def circle(tree: Path) -> list[str]:
    """Modules below `tree` that import each other in a circle, the first one again at the end; empty if there is none.
    What a module imports inside a function or under TYPE_CHECKING counts."""
    files = modules(tree)
    known = frozenset(files)
    graph = {name: {one for _, one in imports(name, file, known)} & known - {name} for name, file in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules(tree: Path) -> dict[str, Path]:
    """Every module below the folders of TOPS: dotted name to file."""
    found = {}
    for top in TOPS:
        for file in sorted((tree / top).rglob("*.py")):
            parts = file.relative_to(tree).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def room_of(module: str, rooms: Iterable[Room]) -> Room | None:
    """The room with the longest name that is the module or above it. `controller` holds itself alone."""
    holding = [
        room for room in rooms if within(module, room.name) and (room.name != "controller" or module == "controller")
    ]
    return max(holding, key=lambda room: len(room.name), default=None)


def within(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def imports(module: str, file: Path, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import. `from a import b` names `a.b` where that is a module, otherwise `a`."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, package)
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield node.lineno, inner if inner in known else source
        elif isinstance(node, ast.Call):
            yield from _by_name(node)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def _by_name(node: ast.Call) -> Iterator[tuple[int, str]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in {"import_module", "__import__"} and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield node.lineno, first.value


def _forbidden(name: str, room: Room, rooms: tuple[Room, ...]) -> str:
    """Why a module of `room` may not import `name`, or nothing."""
    top = name.partition(".")[0]
    if top in TOPS or top in OTHER_TOPS:
        return "" if _ours_allowed(name, room, rooms) else room.why
    if room.pure:
        for impure, reason in IMPURE.items():
            if within(name, impure):
                return reason
    if top in sys.stdlib_module_names or top in room.third_party:
        return ""
    return f"a third-party package that this room does not list: {room.third_party}"


def _ours_allowed(name: str, room: Room, rooms: tuple[Room, ...]) -> bool:
    if room_of(name, rooms) == room:
        return room.beside
    # A package's own front (`stores`, for a module of stores) offers names of the whole room: it counts as the room.
    return any(within(name, allowed) for allowed in room.ours)
