"""The commands of a transcript that are other programs, which write keys, and what may befall the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from kedge.controller.check import inspect
from kedge.controller.codec import keys
from kedge.stores.base import Put
from kedge.stores.faults import (
    Call,
    CutOff,
    DeliverLater,
    DoubleEvent,
    DropEvent,
    FailBefore,
    Fault,
    LoseReply,
    LoseRequest,
    Rule,
)
from kedge.stores.tree import read_tree
from tests.kit.data import DATA
from tests.rules.planting import Line, ids, name_of, read_line
from tests.runtime.brokers import ScriptOfBrokers
from tests.runtime.printed import name_of_path, path_of

FAULTS: Final[dict[str, type[Fault]]] = {
    kind.__name__: kind for kind in (CutOff, DeliverLater, DoubleEvent, DropEvent, FailBefore, LoseReply, LoseRequest)
}
BROKEN: Final = b"{broken"


class Programs(ScriptOfBrokers):
    """A script with other programs beside the controller."""

    def _begin(self) -> None:
        super()._begin()
        self.good: dict[str, bytes] = {}

    def path(self, name: str) -> str:
        """`intents/3` is the first key of that broker's intents."""
        if not name.startswith("intents/"):
            return path_of(name)
        return next(iter(self.cluster.keys(f"{keys.REPLICA_DELETIONS}/{name.removeprefix('intents/')}")))

    def write(self, path: str, value: bytes | dict[str, Any]) -> None:
        """The key holds this. One of a broker's own is written in its session, and lives with it."""
        entry = self.cluster.other.get(path, timeout_s=1)
        owners = [s for s in self.cluster.sessions.values() if entry and s.session.session_id == entry.owner]
        if entry is None or not owners:
            self.cluster.put(path, value)
        else:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            owners[0].commit([Put(path, data, entry.version, ephemeral=True)], timeout_s=1)
        self.stands()

    # --- keys

    def do_put(self, _: Line) -> None:
        """`put KEY JSON`, or text that is no JSON."""
        name, *value = self.text.split(" ", 2)[1:]
        self.write(self.path(name), "".join(value).encode())

    def do_put_long(self, line: Line) -> None:
        """A plan without entries, and with so many bytes."""
        self.write(self.path(line.words[0]), {"partitions": [], "filler": "x" * int(line.words[1])})

    def do_edit(self, line: Line) -> None:
        """`edit KEY JSON`: these fields of what the key holds."""
        path, value = self.path(line.words[0]), self.text.split(" ", 2)[2]
        self.write(path, {**self.cluster.get(path), **json.loads(value)})

    def do_touch(self, line: Line) -> None:
        """The same bytes once more."""
        for name in line.words:
            self.write(self.path(name), self.cluster.keys()[self.path(name)])

    def do_drop(self, line: Line) -> None:
        for name in line.words:
            self.cluster.delete(self.path(name))
        self.stands()

    def do_break(self, line: Line) -> None:
        """What the keys hold is no JSON any more; `mend` brings it back."""
        for name in line.words:
            self.good[name] = self.cluster.keys()[self.path(name)]
            self.write(self.path(name), BROKEN)

    def do_mend(self, line: Line) -> None:
        for name in line.words:
            self.write(self.path(name), self.good.pop(name))

    def do_plan(self, line: Line) -> None:
        """`plan t-0:4,5 t-1:-`: a tool writes the legacy key."""
        rows = [word.rsplit(":", 1) for word in line.words]
        partitions = [_named(name) | {"replicas": list(ids(target))} for name, target in rows]
        self.write(keys.REASSIGN_PARTITIONS, {"version": 1, "partitions": partitions})

    def do_name(self, line: Line) -> None:
        """`name KEY t-0 t-1`: the key names partitions, as notifications and requests for elections do."""
        self.write(self.path(line.words[0]), {"version": 1, "partitions": [*map(_named, line.words[1:])]})

    def do_intend(self, line: Line) -> None:
        """`intend 5 901 t-0 epoch=3`: the key with this number orders a broker to delete a replica."""
        broker, number, word = line.words
        one = _named(word) | {"leader_epoch": int(line.options["epoch"])}
        one["topic_id"] = self.cluster.get(keys.topic(one["topic"]))["topic_id"]
        self.write(keys.replica_deletions(int(broker), int(number)), {"version": 1, "replicas": [one]})

    def do_plant(self, line: Line) -> None:
        """The tree of a real Kafka, from `tests/data`."""
        self.cluster.server.plant(read_tree(DATA / line.words[0]))
        self.stands()

    # --- the store

    def do_meddle(self, line: Line) -> None:
        """`meddle KEY 3`: another program writes the key just before each of our next three commits that do."""
        path, left = self.path(line.words[0]), [None] * int(line.words[1])

        def play(call: Call, _: object) -> tuple[()]:
            if left and call.name == "commit" and path in call.keys:
                left.pop()
                self.cluster.put(path, self.cluster.keys()[path])
            return ()

        self.cluster.store.play(play)

    def do_fault(self, line: Line) -> list[str]:
        """`fault LoseReply key=state/t-0 nth=1 call=commit; DropEvent`; `off`; `late`: what was held back arrives."""
        store = self.cluster.store
        if line.words == ["late"]:
            return [f"late: {type(answer).__name__}" for answer in store.deliver_late()]
        parts = [] if line.words == ["off"] else self.text.removeprefix("fault ").split("; ")
        store.play([self._rule(*read_line(part)) for part in parts])
        return []

    def _rule(self, kind: str, line: Line) -> Rule:
        key, nth = line.options.get("key", "*"), line.options.get("nth")
        before = {"before_commit": int(line.options["before_commit"])} if "before_commit" in line.options else {}
        call = "event" if kind.endswith("Event") else line.options.get("call", "commit")
        path = key if "*" in key else self.path(key)
        return Rule(FAULTS[kind](**before), call, path, None if nth is None else int(nth))

    def do_resync(self, _: Line) -> None:
        self.cluster.store.force_resync()

    # --- what else can be looked at

    def do_known(self, line: Line) -> list[str]:
        """The configs of `topics/t` or `brokers/1` as the controller knows them; `t-0`: its state key's version."""
        return [f"{word} {self.cluster.done(self.cluster.controller.query(self._known(word)))}" for word in line.words]

    def _known(self, word: str) -> Callable[[Any], Any]:
        kind, _, name = word.partition("/")
        if kind in {"topics", "brokers"}:
            return lambda view: json.dumps(dict(getattr(view, f"{kind[:-1]}_config")(name)))
        entry = self.cluster.other.get(path_of(f"state/{word}"), timeout_s=1)
        stored = entry and entry.generation
        partition = self.cluster.partition(*name_of(word))
        return lambda view: "as stored" if view.partition_epoch(partition) == stored else "otherwise than stored"

    def do_audit(self, _: Line) -> list[str]:
        """What `kedge store audit` finds."""
        found = inspect(self.cluster.other.snapshot("/", timeout_s=1).entries)
        return [f"{finding.kind} {name_of_path(finding.key)}" for finding in found.at_least("warning")]


def _named(word: str) -> dict[str, Any]:
    topic, partition = name_of(word)
    return {"topic": topic, "partition": partition}
