"""Act 4: a throttled move. The throttle is changed half way, and removed at the end; the operator's value returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...model.config_requests import AlterConfigOp, ConfigResource, ConfigResourceType
from ...model.throttle_configs import RATES
from ...model.throttles import ReassignPartitionsOptions, ThrottledRate
from ...model.values import Replicas, TopicPartition
from ...rig import Rig
from ...rig.outside import configs
from ...rig.server import RecordingServer
from .screen import Screen

TOPIC: Final = "payments"
PARTITIONS: Final = 4
RECORDS: Final = 1_000  # per partition
RECORD_BYTES: Final = 1_000
COPY_BYTES_S: Final = 5_000_000  # into each broker, if nothing throttles
THROTTLE_BYTES_S: Final = 200_000
FASTER_BYTES_S: Final = 400_000
OPERATORS_BYTES_S: Final = 9_000_000
LOOK_MS: Final = 200
TIMEOUT_S: Final = 120.0
LEADER_RATE, FOLLOWER_RATE = RATES["replication"]


@attrs.define(eq=False)
class ThrottledMove:
    """The cluster of the act."""

    racks: Mapping[int, str | None]
    seed: int
    screen: Screen
    server: RecordingServer | None = None
    brokers: Replicas = ()  # that take part
    rig: Rig = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rig = Rig(
            self.seed,
            brokers=dict(self.racks),
            controllers=1,
            record_bytes=RECORD_BYTES,
            copy_rate_bytes_s=COPY_BYTES_S,
            server=self.server,
        )

    def run(self) -> dict[str, Any]:
        """Everything, in order; what came of it."""
        rig, say = self.rig, self.screen.say
        targets = self._fill()
        source = rig.partition(next(iter(targets))).leader
        self._operator_sets(source)
        self.brokers = tuple(sorted({b for tp, to in targets.items() for b in (*rig.partition(tp).replicas, *to)}))
        before = self._settings()
        say(f"An operator has set {LEADER_RATE} = {OPERATORS_BYTES_S} on broker {source}.")
        options = ReassignPartitionsOptions(throttle=THROTTLE_BYTES_S)
        rig.result(rig.admin.reassign_partitions(targets, options).all())
        say(f"{len(targets)} partitions of {TOPIC} move, each broker throttled to {THROTTLE_BYTES_S} bytes/s:")
        self._show(self._settings())
        measured = self._follow(targets, source)
        rig.wait.until_replicas(targets, timeout_s=TIMEOUT_S)
        rig.until(lambda: self._settings() == before, what="the throttle is gone")
        rig.wait.until_converged()
        say("All moves ended. The controller removed the throttle, and the operator's value is back:")
        self._show(before)
        rig.check_end()
        return {
            "moves": len(targets),
            "throttle_bytes_s": [THROTTLE_BYTES_S, FASTER_BYTES_S],
            "measured_bytes_s": measured,
            "left": {owner: found for owner, found in before.items() if found},
            "virtual_ms": rig.clock.elapsed_ms,
        }

    def _fill(self) -> dict[TopicPartition, Replicas]:
        """A topic on the first brokers, that moves to the last ones."""
        brokers = sorted(self.racks)
        half = max(1, min(2, len(brokers) // 2))
        first, last = brokers[:half], brokers[-half:]
        replicas = [first[p % half :] + first[: p % half] for p in range(PARTITIONS)]
        made = self.rig.create_topic(TOPIC, replicas=replicas, records=RECORDS)
        self.rig.wait.until_converged()
        return {tp: tuple(last[p % half :] + last[: p % half]) for p, tp in enumerate(made)}

    def _operator_sets(self, broker: int) -> None:
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker))
        ops = [AlterConfigOp(LEADER_RATE, str(OPERATORS_BYTES_S))]
        self.rig.result(self.rig.admin.incremental_alter_configs({resource: ops}).all())

    def _follow(self, targets: Mapping[TopicPartition, Replicas], source: int) -> list[int]:
        """Bytes a second out of the leader under the first throttle, and under the second one."""
        rig, measured = self.rig, list[int]()
        with self.screen.bar("moving with a throttle") as bar:
            flow, since_ms = rig.watch_flow(source, "leader"), rig.clock.elapsed_ms
            while any(rig.partition(tp).move is not None for tp in targets):
                rig.run(LOOK_MS)
                copied = sum(self._copied(tp, target) for tp, target in targets.items())
                whole = sum(RECORDS * RECORD_BYTES * len(target) for target in targets.values())
                bar.at(min(copied, whole), whole, f"{flow.rate():,.0f} bytes/s out of broker {source}")
                if len(measured) == 0 and copied >= whole / 3:
                    measured.append(_rate(flow.bytes, rig.clock.elapsed_ms - since_ms))
                    self._faster()
                    flow, since_ms = rig.watch_flow(source, "leader"), rig.clock.elapsed_ms
                elif len(measured) == 1 and copied >= whole * 0.9:
                    measured.append(_rate(flow.bytes, rig.clock.elapsed_ms - since_ms))
        return measured

    def _copied(self, tp: TopicPartition, target: Replicas) -> int:
        logs = [self.rig.brokers[broker].log(tp) for broker in target]
        return sum(log.size_bytes for log in logs if log is not None)

    def _faster(self) -> None:
        rates = {b: ThrottledRate(FASTER_BYTES_S, FASTER_BYTES_S) for b in self._throttled()}
        self.rig.result(self.rig.admin.alter_interbroker_throttled_rates(rates).all())
        self.screen.event(f"the throttle is raised to {FASTER_BYTES_S} bytes/s while they move")

    def _throttled(self) -> list[int]:
        active = self.rig.active
        assert active is not None
        assert active.controller is not None
        return [int(broker) for broker in active.controller.describe().throttles_to_remove["brokers"]]

    # --- settings, as they stand in the store

    def _settings(self) -> dict[str, dict[str, str]]:
        """The own settings of all who take part, by whose they are."""
        found = {f"broker {b}": configs(self.rig, "brokers", str(b)) for b in self.brokers}
        return found | {f"topic {TOPIC}": configs(self.rig, "topics", TOPIC)}

    def _show(self, settings: Mapping[str, Mapping[str, str]]) -> None:
        rows = [(owner, name, value) for owner, found in settings.items() for name, value in found.items()]
        self.screen.table(("of", "setting", "value"), rows or [("-", "none", "-")])


def _rate(count: int, ms: int) -> int:
    return round(count * 1000 / ms) if ms else 0
