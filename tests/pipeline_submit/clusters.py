"""Clusters of the rig and plans for them: collected from its store, cut into waves, exported, and handed over in its
virtual time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import attrs

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import NotInTime, Rig
from kedge.controller.runtime.journal import FolderSink, Journal
from kedge.pipeline.collect.gathered import Gathered
from kedge.pipeline.collect.store import from_store
from kedge.pipeline.journal.files import journal_files
from kedge.pipeline.stages.export import export
from kedge.pipeline.stages.load import load
from kedge.pipeline.stages.plan import plan
from kedge.pipeline.stages.requests import Drain
from kedge.pipeline.stages.validate import validate
from kedge.pipeline.stages.waves import WaveSettings, waves
from kedge.pipeline.submit import Event, Options, Outcome, Time, submit
from kedge.pipeline.tables.arrow import Arrow
from kedge.stores import Commit, MemoryStore, MetadataStore, Op

T = TypeVar("T")
DRAINED = 1
DOWN = 6
"""In the layout a broker that no move of the plan names as a source or target."""
LARGE = TopicPartition("orders", 0)
RATE = 200_000


@attrs.define
class RigTime(Time):
    """Waiting lets the rig's time go by. `before_each`: is called before each pause."""

    rig: Rig
    before_each: Callable[[], object] = lambda: None

    def now_s(self) -> float:
        return self.rig.clock.elapsed_ms / 1000

    def epoch_s(self) -> float:
        return 1e9 + self.now_s()

    def pause(self, seconds: float) -> None:
        self.before_each()
        self.rig.run(max(10, int(seconds * 1000)))

    def result(self, future: Future[T], timeout_s: float) -> T:
        try:
            self.rig.until(future.done, timeout_s=timeout_s)
        except NotInTime:
            raise TimeoutError from None
        return future.result()


@attrs.define
class Made:
    """A rig, with journals in a folder of files, and a plan for it in `folder`."""

    rig: Rig
    folder: Path
    journal: Path
    before: dict[TopicPartition, tuple[int, ...]]
    tables: dict[str, Arrow]
    sinks: list[FolderSink]
    events: list[Event] = attrs.field(factory=list)

    @property
    def store(self) -> MetadataStore:
        client = self.rig.server.client()
        assert isinstance(client, MetadataStore)
        return client

    def options(self, **given: Any) -> Options:
        """By the admin API of the active controller, in the rig's time."""
        wanted = {"admin": lambda: self.rig.admin, "time": RigTime(self.rig), "tell": self.events.append, "poll_s": 0.2}
        return Options(**{**wanted, **given})

    def submit(self, **given: Any) -> Outcome:
        """The plan is handed over."""
        return submit(self.folder, self.store, self.options(**given))

    def replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Where all partitions are; they do not move."""
        return {tp: found.replicas for tp, found in self.rig.committed.partitions.items() if found.move is None}

    @property
    def targets(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Where the plan puts its partitions."""
        rows = self.tables["plan_move"].to_pylist()
        return {TopicPartition(row["topic"], row["partition"]): tuple(row["target_replicas"]) for row in rows}

    @property
    def wanted(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Where all partitions are once the plan is done."""
        return {**self.before, **self.targets}

    @property
    def moving(self) -> list[TopicPartition]:
        return [tp for tp, found in self.rig.committed.partitions.items() if found.move is not None]

    def kill_once_moving(self) -> Callable[[], None]:
        """The controller that leads dies in the middle of a wave."""
        killed: list[int] = []

        def kill() -> None:
            if not killed and self.rig.active and self.moving:
                killed.append(self.rig.active.node_id)
                self.rig.mishaps.kill_controller(killed[0])

        return kill

    def sent(self) -> list[str]:
        """The partitions of every TargetSet of the journal, in order."""
        self.close()
        rows = [json.loads(line) for file in journal_files([self.journal]) for line in file.read_bytes().splitlines()]
        return [f"{row['topic']}-{row['partition']}" for row in rows if row["event"] == "TargetSet"]

    def close(self) -> None:
        """The journals are whole on disk."""
        for sink in self.sinks:
            sink.close()


class Running(threading.Thread):
    """The rig's time goes by in a thread of its own, until it is stopped."""

    def __init__(self, made: Made) -> None:
        super().__init__(daemon=True)
        self.made, self.is_over, self.error = made, threading.Event(), ""
        self.stepping = threading.Lock()
        self._has_begun = threading.Event()

    def start(self) -> None:
        """The thread that made the rig drove it before: this thread drives it from now on."""
        super().start()
        assert self._has_begun.wait(20)

    def run(self) -> None:
        try:
            while not self.is_over.is_set():
                with self.stepping:
                    self.made.rig.step()
                self._has_begun.set()
        except BaseException as error:
            self.error = repr(error)
            raise

    def end(self) -> None:
        self.is_over.set()
        self.join(20)
        assert not self.error


class Beside(MemoryStore):
    """A client that commits between two steps of the rig, which else takes it for the process whose turn a step is."""

    def __init__(self, running: Running) -> None:
        super().__init__(running.made.rig.server)
        self._stepping = running.stepping

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """As MemoryStore."""
        with self._stepping:
            return super().commit(ops, timeout_s=timeout_s)


def make(
    folder: Path,
    *,
    seed: int = 1,
    per_broker: int = 2,
    throttle_bps: float | None = RATE,
    networks: bool = True,
    drained: tuple[int, ...] = (DRAINED,),
    one_at_a_time: bool = False,
    topics: Sequence[str] = ("orders", "payments"),
    file_bytes_max: int = 20_000,
    sink: type[FolderSink] = FolderSink,
    large: TopicPartition = LARGE,
    large_records: int = 0,
    **rig_options: Any,
) -> Made:
    """Six brokers in three racks, two topics, and a plan that drains broker 1, in several waves. `large_records`: so
    many more records of 1,000 bytes are in the partition `large`."""
    sinks: list[FolderSink] = []

    def journal(_: int) -> Journal:
        sinks.append(sink(folder / "journal", file_bytes_max=file_bytes_max))
        return Journal(sinks[-1])

    brokers = {i: "abc"[i % 3] for i in range(1, 7)}
    options = {"copy_rate_bytes_s": 400_000, "session_timeout_s": 1.0, "journal": journal}
    rig = Rig(seed, brokers=brokers, **{**options, **rig_options})
    layout = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [4, 5, 6], [1, 5, 6]]
    for topic in topics:
        rig.create_topic(topic, replicas=layout, records=100)
    if large_records:
        rig.fill([large], large_records)
    rig.run(200)
    made = Made(rig, folder / "plan", folder / "journal", {}, {}, sinks)
    made.before = made.replicas()
    settings = WaveSettings(per_broker=per_broker, throttle_bps=throttle_bps, one_at_a_time=one_at_a_time)
    made.tables = planned(made, drained, settings, networks=networks)
    return made


def planned(made: Made, drained: tuple[int, ...], settings: WaveSettings, *, networks: bool) -> dict[str, Arrow]:
    """What the store shows, with the sizes of the rig's logs, all the way to an export. Without a throttle for all each
    broker may have a network of its own, of which rates are made."""
    gathered, rig = Gathered(), made.rig
    from_store(made.store, "the rig", gathered, timeout_s=1)
    for broker_id, broker in rig.brokers.items():
        if settings.throttle_bps is None and networks:
            bps = (2 * broker_id % 7) * 100_000.0  # the lowest is neither that of the first broker nor of the last
            gathered.broker(broker_id, nw_in_capacity_bps=bps, nw_out_capacity_bps=bps)
        for tp in rig.committed.partitions:
            if (log := broker.log(tp)) is not None:
                size = log.end_offset * rig.record_bytes
                gathered.logs.append((broker_id, "/d", tp.topic, tp.partition, size, 0, False))
    tables = validate(gathered.tables())
    tables |= load(tables)
    found = plan(tables, Drain(drained), name="drain")
    cut = waves({**tables, **found}, "drain", settings)
    exported = {**found, **cut}
    export(exported, made.folder, cluster="rig", snapshot="1")
    return {**tables, **found, **cut}


def kill(made: Made, broker: int) -> None:
    """The broker is down, and the controller has taken it out of every ISR."""
    made.rig.mishaps.kill_broker(broker)
    partitions = made.rig.committed.partitions
    made.rig.until(lambda: not any(broker in found.isr for found in partitions.values()), what="the ISR shrinks")
