"""The commands of transcripts that are about who leads: several controllers, Kafka brokers, controllers of KRaft."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from kedge import Controller
from kedge.controller.codec import keys
from kedge.controller.codec.small import encode_controller
from kedge.controller.runtime.hand_back import hand_back
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, PRESENT, Delete, Entry, Put, StoreError, as_read
from kedge.stores.memory import MemoryServer
from kedge.stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY
from kedge.stores.tree import read_tree
from tests.kit.data import DATA
from tests.rules.planting import Line
from tests.runtime.printed import in_short
from tests.runtime.requests import Requests
from tests.runtime.script import settings
from tests.runtime.world import Counting

CALL_S: Final = 5.0
KRAFT: Final = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":5}'
FINDINGS: Final = ("election", "demoted", "store", LEADER_KEY, keys.HANDED_BACK)


def kafka_leads(server: MemoryServer) -> MemoryStore:
    """A Kafka broker becomes controller, as its own election does it: by a key of its session, which is returned."""
    broker = MemoryStore(server)
    epoch = broker.get(EPOCH_KEY, timeout_s=CALL_S)
    number = 1 if epoch is None else int(epoch.value) + 1
    shown = Put(LEADER_KEY, encode_controller(1, 0), ABSENT, ephemeral=True)
    broker.commit([shown, Put(EPOCH_KEY, b"%d" % number, as_read(epoch))], timeout_s=CALL_S)
    return broker


class Overtaken(MemoryStore):
    """A Kafka broker is elected as soon as `/controller` was read."""

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        found = super().get(key, sync=sync, timeout_s=timeout_s)
        if key == LEADER_KEY and found is not None and found.owner is None:
            MemoryStore(self.server).commit([Delete(LEADER_KEY, PRESENT)], timeout_s=timeout_s)
            kafka_leads(self.server)
        return found


class Elections(Requests):
    """A script with several controllers. Below each command stands who leads now, where that changed. Requests, faults
    and `poll` are to the first controller, or to the one of the last `to`."""

    def _begin(self) -> None:
        super()._begin()
        self.nodes: dict[int, tuple[Controller, Counting]] = {}
        self.roles: dict[int, str] = {}
        self.kafka: MemoryStore | None = None

    def _another(self, node_id: int, **more: Any) -> None:
        super()._another(node_id, **more)
        self.nodes[node_id] = self.cluster.controller, self.cluster.store

    def _news(self) -> Iterator[str]:
        yield from super()._news()
        before, self.roles = self.roles, {node: self._role(node) for node in self.nodes}
        for node, role in self.roles.items():
            if before.get(node) != role:
                yield f"{node} {role}"

    def _role(self, node: int) -> str:
        """What it says of itself."""
        controller, _ = self.nodes[node]
        described = controller.describe()
        role = f"stands by, {described.active_id or 'nobody'} leads"
        if controller.is_active:
            role = f"leads in epoch {controller.controller_epoch}"
        findings = [f"; {name}: {described.findings[name]}" for name in FINDINGS if name in described.findings]
        return in_short(role + (", cut off" if controller.is_cut_off else "") + "".join(findings))

    # --- controllers

    def do_another(self, line: Line) -> None:
        """`another 102 kafka_brokers=true`: one more controller, with these settings."""
        first = next(iter(self.nodes.values()), None)
        self._another(int(line.words[0]), **({"settings": settings(line)} if line.options else {}))
        if first is not None:
            self.cluster.controller, self.cluster.store = first

    def do_to(self, line: Line) -> None:
        """The commands that follow are to this controller."""
        self.cluster.controller, self.cluster.store = self.nodes[int(line.words[0])]

    def do_end(self, line: Line) -> None:
        """`end 2`: that controller is closed."""
        controller, _ = self.nodes.pop(int(line.words[0]))
        self.cluster.controllers.remove(controller)
        controller.close()
        if self.cluster.controller is controller and self.nodes:
            self.cluster.controller, self.cluster.store = next(iter(self.nodes.values()))

    def do_run(self, line: Line) -> None:
        """`run 2 3 &`: only these do what they can."""
        self.cluster.run(*(self.nodes[int(word)][0] for word in line.words))

    def do_disconnect(self, _: Line) -> None:
        self.cluster.store.disconnect()

    def do_reconnect(self, _: Line) -> None:
        self.cluster.store.reconnect()

    def do_election(self, _: Line) -> list[str]:
        """The keys of the election, and whether they go with a session."""
        found = (self.cluster.other.get(key, timeout_s=CALL_S) for key in (LEADER_KEY, HELD_KEY, EPOCH_KEY))
        return [f"{e.key}{_said(e)}{'' if e.owner is None else ' of a session'}" for e in found if e is not None]

    # --- other controllers

    def do_kafka_leads(self, _: Line) -> list[str]:
        try:
            self.kafka = kafka_leads(self.cluster.server)
        except StoreError as error:
            return [f"{type(error).__name__}"]
        return []

    def do_kafka_tree(self, _: Line) -> None:
        """The tree of three Kafka brokers, of which 3 is the controller, and the session of its ephemeral keys."""
        self.kafka = MemoryStore(self.cluster.server)
        tree = read_tree(DATA / "kafka_3_9_tree_moving.json")
        puts = [Put(e.key, e.value, ABSENT, ephemeral=e.ephemeral) for e in tree if e.value is not None]
        self.kafka.commit(puts, timeout_s=CALL_S)
        self.stands()

    def do_kafka_ends(self, _: Line) -> None:
        assert self.kafka is not None
        self.kafka.close()

    def do_kraft_leads(self, _: Line) -> None:
        """A controller of KRaft begins a migration, or deposes what led before: by a key without a session."""
        other = self.cluster.other
        shown, epoch = (other.get(key, timeout_s=CALL_S) for key in (LEADER_KEY, EPOCH_KEY))
        number = 1 if epoch is None else int(epoch.value) + 1
        ops = [Put(LEADER_KEY, KRAFT, as_read(shown)), Put(EPOCH_KEY, b"%d" % number, as_read(epoch))]
        other.commit(ops, timeout_s=CALL_S)

    def do_hand_back(self, line: Line) -> list[str]:
        """`hand-back`; `overtaken`: a Kafka broker is elected meanwhile."""
        before = dict(self.cluster.server.table.rows)
        store = (Overtaken if "overtaken" in line.words else MemoryStore)(self.cluster.server)
        try:
            moves = hand_back(store, CALL_S).moves
        except StoreError as error:
            left = [f"{type(error).__name__}: {error}"]
        else:
            left = ["was handed back before" if moves is None else f"{moves} moves"]
        return left + (["nothing was written"] if self.cluster.server.table.rows == before else [])


def _said(entry: Entry) -> str:
    """Who leads, or the epoch."""
    if entry.key == LEADER_KEY:
        return f" {json.loads(entry.value)['brokerid']}"
    return f" {entry.value.decode()}" if entry.key == EPOCH_KEY else ""
