"""Live logs whose brokers and followers are moved by hand, and transcripts of what their clients are answered. Time
stands still by itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import attrs

from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    UpdateMetadataRequest,
)
from kedge.controller.model.logs import Batch, FetchFrom
from kedge.controller.model.values import BrokerRegistration, TopicPartition
from kedge.controller.rig import Broker, NodeClock, VirtualClock
from kedge.controller.server.logs import LiveLogs
from kedge.controller.server.shelves import Shelves
from kedge.controller.simulated.broker import Life
from kedge.controller.simulated.replica import Replica
from tests.kit.transcripts import played
from tests.rules.planting import Line, ids, name_of, read_line

TP: Final = TopicPartition("t", 0)
LED: Final = LeaderAndIsrPartition("t", "id", 0, 1, 3, (1, 2, 3), 5, (1, 2, 3), None, True, 0, 0)


class Tried:
    """t-0 on brokers 1, 2 and 3, led by 1 under the epoch 3. `settings`: by kind and name."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self.clock = clock or VirtualClock()
        self.brokers = {b: Broker(BrokerRegistration(b), NodeClock(self.clock)) for b in LED.replicas}
        self.settings: dict[tuple[str, str], dict[str, str]] = {}
        shelves = Shelves(self.brokers, self.settings)
        self.logs = LiveLogs(
            self.brokers, self.settings, self._soon, lambda _: None, shelves, clock=self.clock.monotonic_s
        )
        self._said = LED
        self.tell()

    def _soon(self, call: Callable[[], None]) -> None:
        """As the thread that steps does it."""
        call()
        self.logs.answer()

    def tell(self, **changes: Any) -> None:
        """All brokers obey an order with these changes, and know it."""
        self._said = said = attrs.evolve(self._said, partition_epoch=self._said.partition_epoch + 1, **changes)
        known = (said.topic, said.topic_id, 0, said.leader, said.leader_epoch, said.isr, said.partition_epoch)
        metadata = PartitionMetadata(*known, said.replicas, (), said.status_code)
        for broker_id, broker in self.brokers.items():
            assert not broker.leader_and_isr(LeaderAndIsrRequest(broker_id, 1, 9, 1, False, (said,), ())).errors
            broker.update_metadata(UpdateMetadataRequest(broker_id, 1, 9, 1, False, (), (metadata,)))

    @property
    def leader(self) -> Replica:
        return self.brokers[self._said.leader].replicas["id", 0]

    def fetched(self, end: int, *followers: int) -> None:
        """The followers have fetched up to there."""
        for follower in followers:
            self.leader.fetched(follower, end, self.clock.now_ms())


class Script:
    """Commands of clients and of brokers. After each the logs make a step, not behind ` &`. Requests are answered below
    the command in whose time it is, in the order of their answers, under `as=NAME` or their command."""

    is_waiting: bool

    def __init__(self) -> None:
        self.do_anew()

    def play(self, text: str) -> str:
        """The transcript with its commands, and what they leave now."""
        return played(text, self._command)

    def _command(self, text: str) -> list[str]:
        verb, line = read_line(text.removesuffix(" &"))
        getattr(self, f"do_{verb}")(line)
        if not text.endswith(" &"):
            self.tried.logs.step()
        left, self.answers[:] = [*self.answers], []
        if self.is_waiting != self.tried.logs.is_waited_for:
            self.is_waiting = not self.is_waiting
            left.append("requests wait" if self.is_waiting else "no request waits")
        return left

    def _ask(self, verb: str, line: Line, future: Future[Any]) -> None:
        name = line.options.get("as", verb)
        self.requests[name] = future
        future.add_done_callback(lambda done: self.answers.append(f"-> {name}: {_answer(done)}"))

    # --- brokers and time

    def do_anew(self, _: Line | None = None) -> None:
        """Other logs, all empty."""
        self.tried = Tried()
        self.answers: list[str] = []
        self.requests: dict[str, Future[Any]] = {}
        self.is_waiting = False
        self.hidden: dict[int, Broker] = {}

    def do_order(self, line: Line) -> None:
        """`order isr=1 leader=2 leader_epoch=4`: all brokers obey."""
        self.tried.tell(**{name: ids(value) if name == "isr" else int(value) for name, value in line.options.items()})

    def do_fetched(self, line: Line) -> None:
        """`fetched 7 2 3`: followers 2 and 3 have fetched up to 7."""
        self.tried.fetched(*map(int, line.words))

    def do_setting(self, line: Line) -> None:
        """`setting topics/t name=value`, `setting brokers/<default> name=value`."""
        kind, _, name = line.words[0].partition("/")
        self.tried.settings[kind, name] = dict(line.options)

    def do_later(self, line: Line) -> None:
        self.tried.clock.advance(int(line.words[0]))

    def do_pause(self, line: Line) -> None:
        self.tried.brokers[int(line.words[0])].life = Life.PAUSED

    def do_hide(self, line: Line) -> None:
        """What follows does not reach this broker."""
        self.hidden[int(line.words[0])] = self.tried.brokers.pop(int(line.words[0]))

    def do_show(self, _: Line) -> None:
        self.tried.brokers.update(self.hidden)

    def do_close(self, _: Line) -> None:
        self.tried.logs.close()

    # --- clients

    def do_append(self, line: Line) -> None:
        """`append 3 acks=-1`: a batch of so many records and 100 bytes; `producer=7:0:5`: id, epoch, first sequence."""
        named = ("producer_id", "producer_epoch", "base_sequence")
        producer = line.options["producer"].split(":") if "producer" in line.options else []
        more: dict[str, Any] = dict(zip(named, map(int, producer), strict=False))
        batch = Batch(b"x" * 100, int(line.words[0]), 0, **more)
        acks, timeout_ms = int(line.options.get("acks", 1)), int(line.options.get("timeout", 1_000))
        self._ask("append", line, self.tried.logs.append(None, TP, batch, acks=acks, timeout_ms=timeout_ms))

    def do_fetch(self, line: Line) -> None:
        """`fetch 0 u-0 t-0 min=200 max=1000 wait=500`."""
        offset, *names = line.words
        wanted = {TopicPartition(*name_of(name)): FetchFrom(int(offset), 1_000) for name in names or ["t-0"]}
        given = {"bytes_max": ("max", 1_000), "bytes_min": ("min", 1), "wait_ms": ("wait", 0)}
        options: dict[str, Any] = {name: int(line.options.get(*short)) for name, short in given.items()}
        self._ask("fetch", line, self.tried.logs.fetch(None, wanted, **options))

    def do_bounds(self, line: Line) -> None:
        """`bounds`; `t-1`; `broker=2`: of this one; `epoch=2`: as its leader; `since=0`: by time; `debugging`."""
        names = [TopicPartition(*name_of(word)) for word in line.words if word != "debugging"]
        options = {name: int(line.options[name]) for name in ("broker", "epoch", "since") if name in line.options}
        more: dict[str, Any] = {"since_ms": options.get("since"), "is_debugging": "debugging" in line.words}
        more |= {"leader_epoch": options["epoch"]} if "epoch" in options else {}
        self._ask("bounds", line, self.tried.logs.bounds(options.get("broker"), (names or [TP])[0], **more))

    def do_ends(self, line: Line) -> None:
        """`ends 1 2`: where the records of these epochs end."""
        for epoch in line.words:
            self._ask(f"end of {epoch}", line, self.tried.logs.end_of_epoch(None, TP, int(epoch)))

    def do_delete(self, line: Line) -> None:
        self._ask("delete", line, self.tried.logs.delete_records(None, TP, int(line.words[0])))

    def do_id(self, line: Line) -> None:
        self._ask("id", line, self.tried.logs.new_producer_id())

    def do_cancel(self, line: Line) -> None:
        """Who asked for these no longer waits."""
        for name in line.words:
            assert self.requests[name].cancel()


def _answer(done: Future[Any]) -> str:
    return "cancelled" if done.cancelled() else _in_words(done.result())


def _in_words(value: Any) -> str:
    """Its error, and what is not as usual."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "; ".join(f"{tp.topic}-{tp.partition} {_in_words(one)}" for tp, one in value.items())
    fields = attrs.asdict(value, recurse=False)
    batches = [f"{one.base_offset}..{one.end_offset - 1}" for one in fields.pop("batches", ())]
    words = [f"{name} {field}" for name, field in fields.items() if name != "error" and field not in {-1, None, ()}]
    return " ".join([value.error.name, *words, *(["batches", *batches] if batches else ())])
