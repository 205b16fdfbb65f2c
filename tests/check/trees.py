"""Small trees to look at: a good one, and what is planted into it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kedge.controller.check import Finding, inspect
from kedge.stores.base import Entry, Version
from kedge.stores.memory import MemoryServer
from kedge.stores.memory.table import entry
from kedge.stores.tree import read_tree

SESSION: Final = 9
GONE: Final = object()
"""Planted: the key is taken out."""

T: Final = "/brokers/topics/t"
STATE: Final = f"{T}/partitions/0/state"
MOVING: Final = f"{T}/partitions/1/state"
T_ID: Final = "PRYaAtTcQq2kVkcWFTT9Ew"
U_ID: Final = "z9PrII53SbK0XA0nyKrgJw"


def state(leader: int, isr: list[Any], **more: Any) -> dict[str, Any]:
    return {"controller_epoch": 3, "leader": leader, "version": 1, "leader_epoch": 5, "isr": isr, **more}


def topic(partitions: Mapping[str, Any], topic_id: str = T_ID, **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"adding_replicas": {}, "removing_replicas": {}}
    return {"version": 3, "partitions": partitions, "topic_id": topic_id, **empty, **more}


def registration(broker: int) -> dict[str, Any]:
    return {"version": 5, "host": f"b{broker}", "port": 9092, "endpoints": [f"PLAINTEXT://b{broker}:9092"]}


def good() -> dict[str, Any]:
    """Three brokers, led; `t-0` at rest, `t-1` on its way from 1, 2 to 2, 3."""
    move = {"origin": [1, 2], "started_ms": 5}
    tree: dict[str, Any] = {
        "/controller": {"version": 1, "brokerid": 101, "timestamp": "1"},
        "/controller_epoch": 3,
        "/kedge/commit": {"controller_epoch": 3, "seq": 40, "nonce": "x"},
        "/kedge/format": {"version": 1, "min_controller": 1},
        "/kedge/gateways/101": {"version": 1, "host": "127.0.0.1", "port": 9092},
        "/kedge/gateways_secret": {"version": 1, "secret": "x"},
        "/cluster/id": {"version": "1", "id": U_ID},
        "/brokers/seqid": b"",
        "/config/topics/t": {"version": 1, "config": {"retention.ms": "1"}},
        "/config/brokers/<default>": {"version": 1, "config": {}},
        "/config/changes": 1,
        "/config/changes/config_change_0000000000": {"version": 2, "entity_path": "topics/t"},
        "/latest_producer_id_block": {"version": 1, "broker": 3, "block_start": "0", "block_end": "999"},
        T: topic({"0": [1, 2], "1": [1, 2]}),
        STATE: state(1, [1, 2]),
        MOVING: state(1, [1, 2], targetReplicas=[2, 3], reassignment=move),
    }
    for broker in (1, 2, 3):
        tree[f"/brokers/ids/{broker}"] = registration(broker)
        tree[f"/kedge/brokers/{broker}"] = {"broker_epoch": 10 + broker}
    return tree


def entries(tree: Mapping[str, Any], *, lasting: Iterable[str] = ()) -> list[Entry]:
    """The tree as a store would show it; a broker's epoch is 10 and its id. `lasting`: keys that are ephemeral
    otherwise."""
    return [_entry(key, value, lasting) for key, value in sorted(tree.items()) if value is not GONE]


def _entry(key: str, value: Any, lasting: Iterable[str]) -> Entry:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    is_ephemeral = (key == "/controller" or key.startswith("/brokers/ids/")) and key not in lasting
    name = key.rpartition("/")[2]
    created = 10 + int(name) if name.isascii() and name.isdecimal() and len(name) < 10 else 1
    return Entry(key, raw, Version(1), 0, created, SESSION if is_ephemeral else None)


def planted(keys: Mapping[str, Any], *, lasting: Iterable[str] = ()) -> tuple[Finding, ...]:
    """What is found in a good tree into which `keys` were planted."""
    return inspect(entries(good() | dict(keys), lasting=lasting)).findings


def recorded(path: Path) -> list[Entry]:
    """A tree that Kafka left, sessions included; ZooKeeper's nodes without data are left out, as a snapshot does."""
    found = [node for node in read_tree(path) if node.value is not None]
    return [
        Entry(node.key, node.value or b"", Version(1), node.generation, 1, SESSION if node.ephemeral else None)
        for node in found
    ]


def held(server: MemoryServer) -> list[Entry]:
    return [entry(key, row) for key, row in sorted(server.table.rows.items())]
