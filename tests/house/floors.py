"""The floors of the house as a table, to which `tests.house.violations` holds a tree of sources.

A module belongs to the room with the longest name that begins its own; a module without a room is a violation, so a new
room gets its row here, with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

# Ours too, but not a floor: they are never shipped.
OTHER_TOPS: Final = ("tests", "servers", "scripts", "examples", "benchmarks")

# What a pure floor may not touch, by the reason. A name covers what is below it (`concurrent` covers its futures).
IMPURE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("threading", "_thread", "queue", "concurrent", "multiprocessing", "asyncio", "contextvars", "sched", "signal"),
        "threads live in kedge.controller.runtime; a rule that can be interrupted cannot be replayed",
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


def _pure(name: str, ours: tuple[str, ...], why: str) -> Room:
    return Room(name, ours, why, third_party=("attrs",), pure=True)


def _front(name: str, ours: tuple[str, ...], why: str) -> Room:
    """It has the names of other rooms, and needs nothing else."""
    return Room(name, ours, why, third_party=())


_MODEL = ("kedge.controller.model",)
_DECIDING = (
    *_MODEL,
    "kedge.controller.records",
    "kedge.controller.rules",
    "kedge.controller.state",
    "kedge.controller.machine",
)
_RUNTIME = (*_DECIDING, "kedge.controller.codec", "kedge.stores")
_HOST = (*_RUNTIME, "kedge.controller.keys", "kedge.controller.runtime", "kedge.controller.admin")
_AROUND = (*_HOST, "kedge.controller.host", "kedge.controller.metrics", "kedge.controller.quota")
_COORDINATORS = ("kedge.controller.coordinators", "kedge.controller.groups", "kedge.controller.transactions")

ROOMS: Final = (
    Room(
        "kedge.stores",
        ("kedge.stores",),
        "bytes under keys: a store that knew of partitions could serve nobody else, and could not be swapped",
    ),
    Room(
        "kedge.stores.base",
        (),
        "the contract imports no backend, so that a new backend imports the contract alone",
        third_party=("attrs",),
        beside=False,
    ),
    _front(
        "kedge.stores.checks",
        ("kedge.stores.base",),
        "what every backend checks, and whoever names keys; it needs the contract alone",
    ),
    Room("kedge.stores.zookeeper", ("kedge.stores",), "the one place that knows kazoo", ("attrs", "tenacity", "kazoo")),
    Room(
        "kedge.stores.etcd",
        ("kedge.stores",),
        "the one place that knows etcd3, grpc and google.protobuf",
        ("attrs", "tenacity", "etcd3", "grpc", "google"),
    ),
    _pure(
        "kedge.controller.model",
        (),
        "values that everybody may import must cost nothing to import and depend on nobody",
    ),
    _pure(
        "kedge.controller.rules",
        (*_MODEL, "kedge.controller.records"),
        "a decision is a function of state and event; the state is seen through the protocol that model defines",
    ),
    _pure(
        "kedge.controller.audit",
        _MODEL,
        "what a legal journal is: it shares no rule with the controller that it holds to account",
    ),
    _pure(
        "kedge.controller.codec",
        (*_MODEL, "kedge.stores.base"),
        "bytes and values, both ways; the pipeline uses it without a controller",
    ),
    _pure(
        "kedge.controller.state",
        _MODEL,
        "how rows are packed is the state's secret; it neither decides nor encodes",
    ),
    _pure(
        "kedge.controller.records",
        (*_MODEL, "kedge.controller.codec", "kedge.controller.state"),
        "what changed, and all that follows from its kind: in the state, in keys, in the journal, in publications",
    ),
    _pure(
        "kedge.controller.machine",
        (*_MODEL, "kedge.controller.records", "kedge.controller.rules", "kedge.controller.state"),
        "one dispatch table from events to decisions; the simulation drives it without a runtime",
    ),
    Room(
        "kedge.controller.check",
        (
            *_DECIDING,
            "kedge.controller.codec",
            "kedge.controller.keys",
            "kedge.stores.base",
            "kedge.stores.checks",
            "kedge.stores.memory",
            "kedge.stores.recipes",
        ),
        "entries in, findings out: they are loaded as a controller loads them, from a memory store, without a runtime",
    ),
    _pure(
        "kedge.controller.keys",
        (*_DECIDING, "kedge.controller.codec", "kedge.stores.base", "kedge.stores.checks", "kedge.stores.recipes"),
        "one file per kind of key: what is read of a store and written to it, without a thread or a clock",
    ),
    Room(
        "kedge.controller.runtime",
        (*_RUNTIME, "kedge.controller.keys"),
        "the one place with threads, time and I/O stands on all that is pure",
    ),
    Room(
        "kedge.controller.admin",
        (*_RUNTIME, "kedge.controller.runtime"),
        "requests go in by the inbox, as everybody's do",
    ),
    Room(
        "kedge.controller.host",
        (*_HOST, "kedge.controller.metrics"),
        "what a host calls; what a host implements stands in model",
    ),
    _front(
        "kedge.controller.aio",
        (*_HOST, "kedge.controller.host"),
        "the API once more, awaited: it stands on a whole controller, and no thread of a controller knows of it",
    ),
    Room(
        "kedge.controller.metrics", (*_HOST, "kedge.controller.quota"), "read from outside: the loop works without them"
    ),
    Room(
        "kedge.controller.metrics.prometheus",
        (*_MODEL, "kedge.controller.metrics", "kedge.controller.runtime"),
        "the one place that knows prometheus_client; imported only by who wants it",
        third_party=("prometheus_client",),
    ),
    Room("kedge.controller.quota", _MODEL, "a tool for hosts, useful without a controller"),
    _pure(
        "kedge.controller.coordinators",
        _MODEL,
        "what all coordinators share: state that is kept in a log, for whoever has logs",
    ),
    _pure(
        "kedge.controller.transactions",
        (*_MODEL, "kedge.controller.coordinators"),
        "coordinators of transactions: as those of groups, which they do not know",
    ),
    _pure(
        "kedge.controller.groups",
        (*_MODEL, "kedge.controller.coordinators"),
        "coordinators of consumer groups: requests and time in, answers and records out, for whoever has logs",
    ),
    Room(
        "kedge.controller.simulated",
        _AROUND,
        "brokers in one process, by the public names of a host: nothing of them is a test's, and time is passed in",
    ),
    Room(
        "kedge.controller.rig",
        (*_AROUND, "kedge.controller.check", "kedge.controller.simulated"),
        "the test kit: real controllers and simulated brokers in virtual time, held against invariants",
    ),
    Room(
        "kedge.controller.server",
        (*_AROUND, *_COORDINATORS, "kedge.controller.simulated"),
        "what `kedge serve` runs: the same brokers by the wall clock, in threads, without the test kit",
    ),
    Room(
        "kedge.controller.wire",
        (*_AROUND, *_COORDINATORS),
        "a gateway over the admin and host APIs",
        third_party=("attrs", "tenacity", "kafka", "scramp", "re2", "pyarrow"),
    ),
    Room(
        "kedge.controller.cli",
        (
            *_AROUND,
            "kedge.controller.audit",
            "kedge.controller.check",
            "kedge.controller.control",
            *_COORDINATORS,
            "kedge.controller.rig",
            "kedge.controller.server",
            "kedge.controller.simulated",
            "kedge.controller.wire",
            "kedge.pipeline",
            "kedge.controller.cli.kafka",
        ),
        "commands stand above everything, and are the one place with click and rich",
        third_party=("attrs", "tenacity", "click", "rich"),
    ),
    Room(
        "kedge.controller.cli.kafka",
        (
            *_MODEL,
            "kedge.controller.cli.extras",
            "kedge.controller.cli.options",
            "kedge.controller.cli.printing",
            "kedge.controller.wire.calls",
            "kedge.controller.wire.link",
            "kedge.controller.wire.messages",
            "kedge.controller.wire.security.client",
            "kedge.stores.reading",
        ),
        "the one place of the commands that knows Kafka's protocol: they see values, and errors that are one line",
        third_party=("attrs", "click", "kafka"),
    ),
    Room(
        "kedge.pipeline",
        (*_MODEL, "kedge.controller.audit", "kedge.controller.codec", "kedge.controller.rules", "kedge.pipeline"),
        "plans and audits stand on values, their bytes and the rules; a fleet is planned without a controller",
        third_party=("attrs", "numpy", "pyarrow"),
    ),
    Room(
        "kedge.pipeline.kernel",
        (),
        "a plan is a function of arrays, for every engine alike: no table, no file, no clock, no chance",
        third_party=("attrs", "numpy"),
        pure=True,
    ),
    Room(
        "kedge.pipeline.journal.plain",
        (),
        "the one place that knows msgspec, without which journals are read slower and to the same",
        third_party=("msgspec",),
    ),
    Room(
        "kedge.pipeline.collect",
        (*_MODEL, "kedge.controller.codec", "kedge.pipeline.tables", "kedge.pipeline.errors", "kedge.stores"),
        "the one place of the pipeline that reads a store",
        third_party=("attrs", "pyarrow"),
    ),
    Room(
        "kedge.pipeline.submit",
        ("kedge.pipeline", *_MODEL, "kedge.controller.codec", "kedge.stores"),
        "plans reach a controller from here: by a protocol that its admin API fulfils, or by a key of its store",
    ),
    Room(
        "kedge.pipeline.brokers",
        ("kedge.pipeline", *_MODEL, "kedge.controller.cli.kafka"),
        "the one place of the pipeline that reaches brokers: by the client of the commands, instead of a second one",
    ),
    Room(
        "kedge.pipeline.spark",
        ("kedge.pipeline", *_MODEL, "kedge.controller.codec", "kedge.controller.rules"),
        "the one place that knows Spark",
        third_party=("attrs", "numpy", "pyspark", "pyarrow", "tenacity"),
    ),
    _front(
        "kedge.pipeline.job",
        ("kedge.controller.cli",),
        "the commands as a program for spark-submit: it stands above them, and nothing imports it",
    ),
    _front(
        "kedge",
        (*_AROUND, "kedge.controller.aio", "kedge.controller.check"),
        "the door: the list of public names of every floor; nothing below it goes through it",
    ),
    _front(
        "kedge.gateway",
        (*_AROUND, *_COORDINATORS, "kedge.controller.server", "kedge.controller.wire"),
        "as `kedge`: the names of the gateway, and of what stands behind it",
    ),
    _front(
        "kedge.rig",
        (*_AROUND, "kedge.controller.rig"),
        "as `kedge`: the names of the test kit",
    ),
    Room(
        "kedge.controller.control",
        (*_AROUND, "kedge.controller.server", "kedge.controller.wire"),
        "what tests do to a cluster and its gateway, which do not know of it",
        third_party=(),
    ),
    Room(
        "kedge.testing",
        (
            *_AROUND,
            "kedge.controller.control",
            *_COORDINATORS,
            "kedge.controller.server",
            "kedge.controller.wire",
        ),
        "what `kedge serve` runs, for tests of clients, which order by the control what happens to it",
        third_party=("attrs", "trustme"),
    ),
    _front(
        "kedge.__main__",
        ("kedge.controller.cli",),
        "the command",
    ),
    _front(
        "kedge.controller",
        (),
        "a name for what is in it: whoever imports a room of it imports that room alone",
    ),
)
