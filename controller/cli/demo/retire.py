"""Act 2: a broker is emptied while records are written, moves are changed, and the active controller is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from ...model.plural import counted
from ...model.requests import NewTopic
from ...model.values import Partition, Replicas, TopicPartition
from ...rig import Rig
from ...rig.server import RecordingServer
from ...runtime.journal import Journal, MemorySink
from ..printing import ids
from .drain import Mishaps, plan_drain, racks_kept, spread, widen
from .screen import Bar, Screen
from .takeover import controller_of

TOPICS: Final = {"web.requests": 18, "search.events": 12, "metrics": 9}
REPLICATION_FACTOR_MAX: Final = 3
RECORD_BYTES: Final = 1_000
RECORDS_BEFORE: Final = 6_000  # per partition
RECORDS_PER_S: Final = 300
COPY_BYTES_S: Final = 1_500_000  # into each broker
LOOK_MS: Final = 200
DEADLINE_MS: Final = 600_000


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
    server: RecordingServer | None = None
    sink: MemorySink = attrs.field(factory=MemorySink)
    remembered: dict[str, Any] = attrs.field(factory=dict)
    before: dict[TopicPartition, Replicas] = attrs.field(factory=dict)
    widened: list[TopicPartition] = attrs.field(factory=list)  # two of their replicas are replaced
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
            server=self.server,
        )

    @property
    def traced(self) -> str | None:
        """The partition whose move is left alone, for its journal to be shown."""
        return str(self.widened[0]) if self.widened else None

    # --- the act

    def run(self) -> dict[str, Any]:
        """Everything, in order; what came of it."""
        self._fill()
        writer = self.rig.write(list(self.rig.committed.partitions), RECORDS_PER_S)
        self.before = {p.tp: p.replicas for p in self.partitions()}
        before = spread(self.partitions())
        plan = plan_drain(self.partitions(), self.leaving, self.racks)
        self.widened = widen(plan, self.partitions(), self.leaving, self.racks, 2)
        self.screen.say(f"Plan: broker {self.leaving} leaves, {len(plan)} partitions move.")
        self._show_plan(plan)
        self.rig.reassign(plan)
        self._drain(plan)
        self._drain_rest()
        writer.stop()
        self.rig.wait.until_converged()
        return self._result(plan, before)

    def partitions(self) -> list[Partition]:
        return list(self.rig.committed.partitions.values())

    def _fill(self) -> None:
        rig = self.rig
        rig.until(lambda: rig.active is not None and len(self._live()) == len(self.racks), what="all brokers are live")
        factor = min(REPLICATION_FACTOR_MAX, len(self.racks) - 1)
        created = rig.admin.create_topics({name: NewTopic(count, factor) for name, count in TOPICS.items()})
        rig.result(created.all())
        rig.wait.until_converged()
        for tp in list(rig.committed.partitions):
            rig.produce(tp, self.records_before)
        rig.until(lambda: not rig.producers.waiting, what="every record is acknowledged")
        rig.copying.rate_bytes_s = COPY_BYTES_S  # from here on a copy takes its time
        counts = ", ".join(f"{name} with {count}" for name, count in TOPICS.items())
        self.screen.say(
            f"Topics placed by rack, {counted(factor, 'replica')}: {counts} partitions; records are written meanwhile."
        )

    def _live(self) -> tuple[int, ...]:
        active = self.rig.active
        return () if active is None else controller_of(active).describe().live_brokers

    def _show_plan(self, plan: Mapping[TopicPartition, Replicas]) -> None:
        rows = []
        for tp, target in list(plan.items())[:6]:
            now = self.rig.partition(tp).replicas
            joins = ", ".join(f"{b} (rack {self.racks[b] or '-'})" for b in target if b not in now)
            rows.append((str(tp), ids(now), ids(target), joins))
        self.screen.table(("partition", "replicas", "target", "joins"), rows)
        if len(plan) > len(rows):
            self.screen.say(f"  ... and {len(plan) - len(rows)} more")

    def _drain(self, plan: Mapping[TopicPartition, Replicas]) -> None:
        self._follow(plan, f"emptying broker {self.leaving}", Mishaps(self))

    def _drain_rest(self) -> None:
        """What the cancelled move left on the broker goes now."""
        rest = plan_drain(self.partitions(), self.leaving, self.racks)
        if rest:
            self.screen.say(f"The cancelled move is requested again: {', '.join(map(str, rest))}.")
            self.rig.reassign(rest)
            self._follow(rest, "the rest")

    # --- following

    def _follow(self, plan: Mapping[TopicPartition, Replicas], title: str, mishaps: Mishaps | None = None) -> None:
        with self.screen.bar(title) as bar:
            for _ in range(DEADLINE_MS // LOOK_MS):
                running = [p for p in self.partitions() if p.move is not None]
                self._show(bar, plan, running)
                if not running:
                    break
                if mishaps is not None:
                    mishaps.look(self.copied(plan))
                self.rig.run(LOOK_MS)
        if mishaps is not None:
            mishaps.rest()  # a small cluster may be through before its time
        self.rig.until(lambda: all(p.move is None for p in self.partitions()), timeout_s=DEADLINE_MS / 1000)

    def copied(self, tps: Iterable[TopicPartition]) -> float:
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
        done = f"{moved} of {counted(len(plan), 'move')} done"
        text = f"of the bytes copied; {done}; waiting on brokers {listed or '-'}; {who}"
        bar.at(self.copied(plan) if running else 1.0, 1.0, text)

    # --- the end

    def _result(
        self, plan: Mapping[TopicPartition, Replicas], before: tuple[Counter[int], Counter[int]]
    ) -> dict[str, Any]:
        rig = self.rig
        after = spread(self.partitions())
        kept, count = racks_kept(self.partitions(), self.racks)
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
