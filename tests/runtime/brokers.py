"""The commands of a transcript that are brokers, and those that look at what was sent, committed and noted."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from kedge import ErrorCode, HostResponse, TopicPartition
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Put
from tests.rules.planting import Line
from tests.runtime.printed import BY_ITSELF, name_of_path, path_of, request, row
from tests.runtime.script import Script
from tests.runtime.world import Brokers


class ScriptOfBrokers(Script):
    """A script with brokers that come, go and refuse."""

    def do_join(self, line: Line) -> None:
        self.cluster.join(*map(int, line.words))

    def do_join_broken(self, line: Line) -> None:
        """A broker registers itself with what cannot be read."""
        store = self.cluster.sessions[int(line.words[0])] = MemoryStore(self.cluster.server)
        path = path_of(f"broker/{line.words[0]}")
        store.commit([Put(path, b"{broken", ABSENT, ephemeral=True)], timeout_s=1)

    def do_leave(self, line: Line) -> None:
        self.cluster.leave(*map(int, line.words), run=False)

    def do_bounce(self, line: Line) -> None:
        """They are other processes, without a look in between."""
        self.cluster.leave(*map(int, line.words), run=False)
        self.cluster.join(*map(int, line.words))

    def do_refuse(self, line: Line) -> None:
        """`refuse 3`: these brokers fail to delete; `refuse 3 LeaderAndIsr`: what else they fail to do; `56`: it is the
        disk, and they answer so."""
        brokers = {int(word) for word in line.words if word.isdecimal() and word != "56"}
        kinds = {f"{word}Request" for word in line.words if not word.isdecimal()} or {"StopReplicaRequest"}

        def host(told: Any) -> HostResponse:
            if told.broker_id not in brokers or type(told).__name__ not in kinds:
                return HostResponse()
            if "56" not in line.words:
                raise RuntimeError("no such luck")
            named = [TopicPartition(p.topic, p.partition) for p in told.partitions]
            return HostResponse(errors=dict.fromkeys(named, ErrorCode.KAFKA_STORAGE_ERROR))

        self.cluster.host.answer = host

    def do_obey(self, _: Line) -> None:
        self.cluster.host.answer = Brokers().answer

    def do_held(self, line: Line) -> list[str]:
        """How many calls of each broker wait."""
        waiting = Counter(broker for broker, _ in self.held.of(*map(int, line.words)))
        return [f"{count} of {broker}" for broker, count in sorted(waiting.items())]

    def do_let_go(self, line: Line) -> None:
        """Calls of these brokers return, and those that follow on them; `once`: those that wait now; `oldest`."""
        brokers = [int(word) for word in line.words if word.isdecimal()]
        if "oldest" in line.words:
            self.held.let_go(self.held.of(*brokers)[:1])
        elif "once" in line.words:
            self.held.let_go(self.held.of(*brokers))
        else:
            self.held.drain(self.cluster.run, *brokers)

    # --- what else can be looked at

    def do_sent(self, line: Line) -> list[str]:
        """The requests since the last look, to these brokers and of these kinds (to all, of all)."""
        brokers = {int(word) for word in line.words if word.isdecimal()}
        kinds = {f"{word}Request" for word in line.words if not word.isdecimal()}
        sent = [one for one in self.cluster.host.told if not brokers or one.broker_id in brokers]
        self.cluster.host.told.clear()
        return [request(one) for one in sent if not kinds or type(one).__name__ in kinds]

    def do_describe(self, line: Line) -> list[str]:
        """These fields of the controller's description."""
        described = self.cluster.controller.describe()
        return [f"{name} {getattr(described, name)}" for name in line.words]

    def do_calls(self, line: Line) -> list[str]:
        """How many calls of these kinds the store got since the last look."""
        names = Counter(call.name for call in self.cluster.store.calls)
        self.cluster.store.forget_calls()
        return [f"{name} {names[name]}" for name in line.words]

    def do_commits(self, line: Line) -> list[str]:
        """The keys of each commit since the last look; of those alone that write these keys."""
        wanted = {path_of(word) for word in line.words}
        calls = [call.keys for call in self.cluster.store.calls if call.name == "commit"]
        self.cluster.store.forget_calls()
        commits = [sorted({*paths} - {*BY_ITSELF}) for paths in calls if wanted <= {*paths}]
        return [f"of {' '.join(map(name_of_path, paths))}" for paths in commits if paths]

    def do_journal(self, line: Line) -> list[str]:
        """The rows of these events since the last look, with their causes and details."""
        rows = [json.loads(one) for one in self.sink.lines]
        self.sink.lines.clear()
        requests = list(dict.fromkeys(one["request"] for one in rows if one.get("request")))
        return [row(one, requests) for one in rows if one["event"] in line.words]
