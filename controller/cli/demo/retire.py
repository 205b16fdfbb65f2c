"""Act 2: one broker is emptied while records are written, a move is cancelled and undone, one is overridden, and the
active controller is killed half way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from controller.cli.demo.plan import another_target, plan_drain, racks_kept, spread
from controller.cli.demo.screen import Bar, Screen
from controller.cli.demo.takeover import controller_of
from controller.model.requests import NewTopic
from controller.model.values import Partition, Replicas, TopicPartition
from controller.rig import Rig
from controller.runtime.journal import Journal, MemorySink

TOPICS: Final = {"web.requests": 18, "search.events": 12, "metrics": 9}
REPLICATION_FACTOR_MAX: Final = 3
RECORD_BYTES: Final = 1_000
RECORDS_BEFORE: Final = 6_000  # per partition
RECORDS_PER_S: Final = 300
COPY_BYTES_S: Final = 1_500_000  # into each broker
LOOK_MS: Final = 200
DEADLINE_MS: Final = 600_000
CANCEL_AT, OVERRIDE_AT, KILL_AT = 0.15, 0.3, 0.5


def choose_leaving(racks: Mapping[int, str | None]) -> int:
    """The broker that is retired: the last one of the largest rack, so that the racks can be kept."""
    sizes = Counter(racks.values())
    return max(racks, key=lambda broker: (sizes[racks[broker]], broker))


@attrs.define(eq=False)
class Retirement:
    """The cluster of act 2, and what is remembered of it."""

    racks: Mapping[int, str | None]
    seed: int
    screen: Screen
    records_before: int = RECORDS_BEFORE
    sink: MemorySink = attrs.field(factory=MemorySink)
    remembered: dict[str, Any] = attrs.field(factory=dict)
    before: dict[TopicPartition, Replicas] = attrs.field(factory=dict)
    leaving: int = attrs.field(init=False)
    rig: Rig = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.leaving = choose_leaving(self.racks)
        self.rig = Rig(
            self.seed,
            brokers=dict(self.racks),
            controllers=2,
            record_bytes=RECORD_BYTES,
            journal=lambda _: Journal(self.sink),
        )

    # --- the act

    def run(self) -> dict[str, Any]:
        """Everything, in order; what came of it."""
        self._fill()
        writer = self.rig.write(list(self.rig.committed.partitions), RECORDS_PER_S)
        self.before = {p.tp: p.replicas for p in self._partitions()}
        before = spread(self._partitions())
        plan = plan_drain(self._partitions(), self.leaving, self.racks)
        self.screen.say(f"Plan: broker {self.leaving} leaves, {len(plan)} partitions move.")
        self._show_plan(plan)
        self.rig.reassign(plan)
        self._drain(plan)
        self._drain_rest()
        writer.stop()
        self.rig.until_converged()
        return self._result(plan, before)

    def _partitions(self) -> list[Partition]:
        return list(self.rig.committed.partitions.values())

    def _fill(self) -> None:
        rig = self.rig
        rig.until(lambda: rig.active is not None and len(self._live()) == len(self.racks), what="all brokers are live")
        factor = min(REPLICATION_FACTOR_MAX, len(self.racks) - 1)
        created = rig.admin.create_topics({name: NewTopic(count, factor) for name, count in TOPICS.items()})
        rig.wait(created.all())
        rig.until_converged()
        for tp in list(rig.committed.partitions):
            rig.produce(tp, self.records_before)
        rig.until(lambda: not rig.producers.waiting, what="every record is acknowledged")
        rig.copying.rate_bytes_s = COPY_BYTES_S  # from here on a copy takes its time
        counts = ", ".join(f"{name} with {count}" for name, count in TOPICS.items())
        self.screen.say(
            f"Topics placed by rack, {factor} replicas: {counts} partitions; records are written all the while."
        )

    def _live(self) -> tuple[int, ...]:
        active = self.rig.active
        return () if active is None else controller_of(active).describe().live_brokers

    def _show_plan(self, plan: Mapping[TopicPartition, Replicas]) -> None:
        rows = []
        for tp, target in list(plan.items())[:6]:
            now = self.rig.partition(tp).replicas
            joins = ", ".join(f"{b} (rack {self.racks[b] or '-'})" for b in target if b not in now)
            rows.append((str(tp), _ids(now), _ids(target), joins))
        self.screen.table(("partition", "replicas", "target", "joins"), rows)
        if len(plan) > len(rows):
            self.screen.say(f"  ... and {len(plan) - len(rows)} more")

    def _drain(self, plan: Mapping[TopicPartition, Replicas]) -> None:
        mishaps = iter(((CANCEL_AT, self._cancel), (OVERRIDE_AT, self._override), (KILL_AT, self._kill)))
        self._follow(plan, mishaps, f"emptying broker {self.leaving}")

    def _drain_rest(self) -> None:
        """What the cancelled move left on the broker goes now."""
        rest = plan_drain(self._partitions(), self.leaving, self.racks)
        if rest:
            self.screen.say(f"The move that was undone is asked for again: {', '.join(map(str, rest))}.")
            self.rig.reassign(rest)
            self._follow(rest, iter(()), "the rest")

    # --- following

    def _follow(
        self, plan: Mapping[TopicPartition, Replicas], mishaps: Iterator[tuple[float, Callable[[], None]]], title: str
    ) -> None:
        due = next(mishaps, None)
        with self.screen.bar(title) as bar:
            for _ in range(DEADLINE_MS // LOOK_MS):
                running = [p for p in self._partitions() if p.move is not None]
                self._show(bar, plan, running)
                if not running:
                    break
                share = self._copied(plan)
                if due is not None and share >= due[0]:
                    due[1]()
                    due = next(mishaps, None)
                self.rig.run(LOOK_MS)
        while due is not None:  # a small cluster may be through before its time
            due[1]()
            due = next(mishaps, None)
        self.rig.until(lambda: all(p.move is None for p in self._partitions()), deadline_ms=DEADLINE_MS)

    def _copied(self, tps: Iterable[TopicPartition]) -> float:
        """Which share of the bytes to copy has been copied."""
        done = total = 0
        for tp in tps:
            partition = self.rig.partition(tp)
            sizes = {b: log.size_bytes for b in self.racks if (log := self.rig.brokers[b].log(tp)) is not None}
            whole = max(sizes.values(), default=0)
            joining = [b for b in partition.target_replicas or partition.replicas if b not in self.before[tp]]
            total += whole * len(joining)
            done += sum(min(whole, sizes.get(b, 0)) for b in joining)
        return done / total if total else 1.0

    def _show(self, bar: Bar, plan: Mapping[TopicPartition, Replicas], running: list[Partition]) -> None:
        waiting = Counter(b for p in running for b in (p.target_replicas or ()) if b not in p.isr)
        listed = ", ".join(f"{broker} ({count})" for broker, count in waiting.most_common(5))
        active = self.rig.active
        who = "no controller is active" if active is None else f"controller {active.node_id} leads"
        moved = len(plan) - len([p for p in running if p.tp in plan])
        text = f"{moved} of {len(plan)} moves done; waiting on brokers {listed or '-'}; {who}"
        bar.at(self._copied(plan) if running else 1.0, 1.0, text)

    # --- mishaps

    def _running(self) -> list[Partition]:
        """Moves that run and have the most left to copy, first."""
        found = [p for p in self._partitions() if p.move is not None and p.tp not in self.remembered.values()]
        return sorted(found, key=lambda p: (self._copied([p.tp]), p.topic, p.partition))

    def _cancel(self) -> None:
        running = self._running()
        if not running:
            return
        tp, move = running[0].tp, running[0].move
        assert move is not None
        self.remembered["cancelled"] = tp
        answer = self.rig.wait(self.rig.admin.alter_partition_reassignments({tp: None}).values[tp])
        self.screen.event(f"{tp}: cancelled; replicas {_ids(answer.replicas)}, origin {_ids(answer.origin)}")
        self.rig.reassign({tp: answer.origin})
        self.rig.until_replicas({tp: answer.origin})
        self.screen.event(f"{tp}: undone; replicas {_ids(self.rig.partition(tp).replicas)}")

    def _override(self) -> None:
        loads, _ = spread(self._partitions())
        for partition in self._running():
            target = another_target(partition, self.leaving, self.racks, loads)
            if target is not None and partition.move is not None:
                self.remembered["overridden"] = partition.tp
                old = partition.move.target
                self.rig.reassign({partition.tp: target})
                self.screen.event(f"{partition.tp}: target {_ids(old)} replaced by {_ids(target)} while it moves")
                return

    def _kill(self) -> None:
        active = self.rig.active
        if active is None:
            return
        dead = active.node_id
        self.rig.kill_controller(dead)
        self.screen.event(f"controller {dead} was killed; its session ends, the stand-by takes over")
        self.rig.until(lambda: self.rig.active is not None, what="the stand-by took over")
        successor = self.rig.active
        assert successor is not None
        self.remembered["killed"] = dead
        epoch = controller_of(successor).controller_epoch
        self.screen.event(f"controller {successor.node_id} took over under epoch {epoch} and goes on")

    # --- the end

    def _result(
        self, plan: Mapping[TopicPartition, Replicas], before: tuple[Counter[int], Counter[int]]
    ) -> dict[str, Any]:
        rig = self.rig
        after = spread(self._partitions())
        kept, count = racks_kept(self._partitions(), self.racks)
        rig.check_end()
        return {
            "leaving": self.leaving,
            "moves": len(plan),
            **{what: str(of) for what, of in self.remembered.items()},
            "brokers": {
                str(b): {
                    "rack": rack,
                    "replicas_before": before[0][b],
                    "replicas_after": after[0][b],
                    "leaders_before": before[1][b],
                    "leaders_after": after[1][b],
                }
                for b, rack in sorted(self.racks.items())
            },
            "racks_kept": kept,
            "partitions": count,
            "written": rig.producers.acknowledged(),
            "lost": self._lost(),
            "virtual_ms": rig.clock.elapsed_ms,
        }

    def _lost(self) -> int:
        """Acknowledged records that are not in the log of the partition's leader."""
        lost = 0
        for tp in self.rig.producers.partitions:
            leader = self.rig.leader(tp)
            log = None if leader is None else leader.log(tp)
            if log is None:
                lost += self.rig.producers.acknowledged(tp)
            else:
                lost += sum(run.count for run in self.rig.producers.lost(tp, log))
        return lost


def _ids(brokers: Replicas) -> str:
    return ",".join(map(str, brokers))
