"""The failures of a cluster, by name: brokers, disks, keys, and those of controllers (`controller_mishaps`). Each
happens at once; time does not pass."""

from __future__ import annotations

import attrs

from ..model.values import TARGETS_SINCE, TopicPartition
from ..simulated.broker import Life
from .controller_mishaps import ControllerMishaps
from .parts import Parts
from .server import write


class Mishaps(ControllerMishaps):
    """`rig.mishaps`: causes failures in the cluster of a rig. Raises KeyError for an unknown node or broker."""

    _rig: Parts

    def __init__(self, rig: Parts) -> None:
        super().__init__(rig)

    def restart_controller(self, node_id: int, *, leader_and_isr_version: int | None = None) -> None:
        """As above, and the rig knows that a controller may send no targets."""
        self._rig.has_old_versions |= (leader_and_isr_version or TARGETS_SINCE) < TARGETS_SINCE
        super().restart_controller(node_id, leader_and_isr_version=leader_and_isr_version)

    # --- brokers

    def kill_broker(self, broker_id: int, *, at_once: bool = True) -> None:
        """The process ends; its registration with it, or (not `at_once`) when its session has run out."""
        broker = self._rig.brokers[broker_id]
        if broker.life is not Life.DOWN:
            self._rig.duties[broker_id].leave(at_once=at_once)
            broker.stopped()
            self._rig.timeline.say("rig", f"kills broker {broker_id}")

    def shut_down_broker(self, broker_id: int, patience_ms: int = 5_000) -> None:
        """It requests a controlled shutdown, and its process ends when it leads nothing any more, or after
        `patience_ms`: `until` its `life` is Life.DOWN."""
        if self._rig.brokers[broker_id].life is Life.UP and self._rig.duties[broker_id].leaving is None:
            self._rig.duties[broker_id].shut_down(patience_ms)
            self._rig.timeline.say("rig", f"shuts broker {broker_id} down")

    def restart_broker(self, broker_id: int, *, leader_and_isr_version: int | None = None) -> None:
        """The broker is up, by a new process, under a new broker epoch, with its former logs; with another LeaderAndIsr
        version, if one is given. After a request to forget it, it is another machine under its id: it only has logs of
        partitions that it is still a member of (then it was not forgotten)."""
        broker = self._rig.brokers[broker_id]
        if broker.life is not Life.DOWN:
            self.kill_broker(broker_id)
        if leader_and_isr_version is not None:
            broker.registration = attrs.evolve(broker.registration, leader_and_isr_version=leader_and_isr_version)
            self._rig.has_old_versions |= not broker.knows_targets
        if broker_id in self._rig.operators.forgotten:
            self._rig.operators.forgotten.remove(broker_id)
            broker.replaced(self._rig.committed.held_by_right(broker_id))
        broker.life = Life.UP
        self._rig.network.started(broker)
        self._rig.timeline.say("rig", f"starts broker {broker_id}")
        self._rig.duties[broker_id].register()

    def bounce_broker(self, broker_id: int) -> None:
        """It ends and is up again before a controller noticed: the new registration replaces the old one."""
        self.kill_broker(broker_id, at_once=False)
        self.restart_broker(broker_id)

    def pause_broker(self, broker_id: int) -> None:
        """It is paused and stays registered: it copies nothing, serves no requests, and delays its callbacks."""
        broker = self._rig.brokers[broker_id]
        if broker.life is Life.UP:
            broker.life = Life.PAUSED
            self._rig.timeline.say("rig", f"pauses broker {broker_id}")

    def resume_broker(self, broker_id: int) -> None:
        broker = self._rig.brokers[broker_id]
        if broker.life is Life.PAUSED:
            broker.life = Life.UP
            self._rig.timeline.say("rig", f"resumes broker {broker_id}")

    def expire_broker_session(self, broker_id: int) -> None:
        """The server ends the session of a live broker: it registers again, under a new epoch."""
        self._rig.duties[broker_id].registration.expire()
        self._rig.timeline.say("rig", f"expires the session of broker {broker_id}")

    def lose_disk(self, broker_id: int, tp: TopicPartition | None = None) -> None:
        """The logs of `tp`, or all, are gone on the broker, which answers KAFKA_STORAGE_ERROR for them until it is
        restarted (with an empty disk). It registers again, as a host does after a disk failure."""
        self._rig.brokers[broker_id].disk_failed(tp)
        self._rig.timeline.say("rig", f"takes the disk of broker {broker_id}")
        self.expire_broker_session(broker_id)

    # --- keys

    def break_key(self, key: str, value: bytes = b"{") -> None:
        """Another program writes an undecodable value to a key, until `mend_key`. Raises KeyError for no such key."""
        stood = self._rig.server.table.rows[key][0]
        broken, before = self._rig.broken_keys.get(key, (None, stood))
        self._rig.broken_keys[key] = (value, before if broken == stood else stood)
        write(self._rig.server, key, value)
        self._rig.timeline.say("rig", f"breaks {key}")

    def mend_key(self, key: str) -> None:
        """Restore the value from before it was broken. A key that was written or deleted since stays so, without the
        check of fields that others had added to it."""
        broken, before = self._rig.broken_keys.pop(key)
        row = self._rig.server.table.rows.get(key)
        if row is not None and row[0] == broken:
            write(self._rig.server, key, before)
            self._rig.timeline.say("rig", f"mends {key}")
        else:
            self._rig.foreign_fields.pop(key, None)

    # --- all

    def heal(self) -> None:
        """End all failures: of connections, clocks, keys, and planned faults; all nodes and brokers are up; failed
        disks are replaced by empty ones. Late commits arrive. Lost logs stay lost."""
        for key in list(self._rig.broken_keys):
            self.mend_key(key)
        self.heal_controllers()
        for broker in self._rig.brokers.values():
            broker.clock.skew_ms = 0
            # A broker that shuts down gets no leaderships until it registers again; one without a disk deletes nothing.
            if broker.life is Life.DOWN or self._rig.duties[broker.broker_id].leaving is not None or broker.disks_gone:
                self.restart_broker(broker.broker_id)
            self.resume_broker(broker.broker_id)
