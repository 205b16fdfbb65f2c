"""The failures of a cluster, by name: nodes, brokers, disks, connections. Each happens at once; time does not pass."""

from __future__ import annotations

from typing import Literal

import attrs

from controller.model.values import TARGETS_SINCE, TopicPartition
from controller.rig.node import State
from controller.rig.parts import Parts
from controller.rig.server import write
from controller.simulated.broker import Life
from controller.simulated.network import CallbackFaults
from stores.faults import Plan


class Mishaps:
    """`rig.mishaps`: causes failures in the cluster of a rig. Raises KeyError for an unknown node or broker."""

    def __init__(self, rig: Parts) -> None:
        self._rig = rig

    # --- controllers

    def kill_controller(self, node_id: int) -> None:
        """The process ends without closing anything: its session runs out, its futures never complete."""
        self._rig.nodes[node_id].kill()
        self._rig.timeline.say("rig", f"kills controller {node_id}")

    def restart_controller(self, node_id: int, *, leader_and_isr_version: int | None = None) -> None:
        """A new process with this id, killed before if it still ran; with another version, if one is given: below 3 it
        sends no `target_replicas`, and nothing to brokers that are only targets."""
        node = self._rig.nodes[node_id]
        node.kill()
        if leader_and_isr_version is not None:
            node.leader_and_isr_version = leader_and_isr_version
            self._rig.has_old_versions |= leader_and_isr_version < TARGETS_SINCE
        node.start()
        self._rig.timeline.say("rig", f"starts controller {node_id}")

    def pause_controller(self, node_id: int, for_ms: int | None = None) -> None:
        """The process is paused, until `resume_controller` or for `for_ms`. Beyond the session time it comes back as a
        zombie: it continues where it was, and learns of the end of its session some steps later."""
        node = self._rig.nodes[node_id]
        if node.state is State.UP:
            node.pause(self._rig.clock.now_ms(), int(self._rig.server.session_timeout_s * 1000), for_ms)
            self._rig.timeline.say("rig", f"pauses controller {node_id}")

    def resume_controller(self, node_id: int, *, deaf_ms: int | None = None) -> None:
        """It continues; for `deaf_ms` it gets no events of its session (default: five ticks)."""
        node = self._rig.nodes[node_id]
        if node.state is State.PAUSED:
            node.resume(self._rig.clock.now_ms(), 5 * self._rig.tick_ms if deaf_ms is None else deaf_ms)
            self._rig.timeline.say("rig", f"resumes controller {node_id}")

    def expire_session(self, node_id: int, *, deaf_ms: int = 0) -> None:
        """The server ends the session of a live node."""
        process = self._rig.nodes[node_id].process
        if process is not None:
            process.store.is_deaf = deaf_ms > 0
            self._rig.nodes[node_id].deaf_until_ms = self._rig.clock.now_ms() + deaf_ms
            self._rig.server.expire(process.inner.session.session_id)
            self._rig.timeline.say("rig", f"expires the session of controller {node_id}")

    def cut_off(self, node_id: int, *, from_: Literal["store"] | int = "store") -> None:
        """Cut the connection of the node to the store, or to the broker with this id, until `mend`."""
        if from_ == "store":
            if (process := self._rig.nodes[node_id].process) is not None:
                process.inner.disconnect()
        else:
            self._rig.network.cut(node_id, self._rig.brokers[int(from_)].broker_id)
        self._rig.timeline.say("rig", f"cuts controller {node_id} off from {from_}")

    def mend(self, node_id: int) -> None:
        """Restore all connections of the node."""
        node = self._rig.nodes[node_id]
        if node.process is not None:
            node.process.inner.reconnect()
        self._rig.network.mend(controller_id=node_id)
        self._rig.timeline.say("rig", f"mends the ways of controller {node_id}")

    def plan_store_faults(self, node_id: int, plan: Plan = ()) -> None:
        """The faults of the node's calls to the store from here on (`stores.faults`); empty: none."""
        process = self._rig.nodes[node_id].process
        if process is not None:
            process.store.play(plan)

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
        if broker_id in self._rig.forgotten:
            self._rig.forgotten.remove(broker_id)
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
        """It continues where it was."""
        broker = self._rig.brokers[broker_id]
        if broker.life is Life.PAUSED:
            broker.life = Life.UP
            self._rig.timeline.say("rig", f"resumes broker {broker_id}")

    def expire_broker_session(self, broker_id: int) -> None:
        """The server ends the session of a live broker: it registers again, under a new epoch."""
        self._rig.duties[broker_id].expire_session()
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
        self._rig.network.faults = CallbackFaults()
        for key in list(self._rig.broken_keys):
            self.mend_key(key)
        for node in self._rig.nodes.values():
            node.deliver_late()
            node.clock.skew_ms = 0
            if node.state is State.DOWN:
                self.restart_controller(node.node_id)
            elif node.state is State.PAUSED:
                self.resume_controller(node.node_id)
            self.plan_store_faults(node.node_id)
            self.mend(node.node_id)
        for broker in self._rig.brokers.values():
            broker.clock.skew_ms = 0
            # A broker that shuts down gets no leaderships until it registers again; one without a disk deletes nothing.
            if broker.life is Life.DOWN or self._rig.duties[broker.broker_id].leaving is not None or broker.disks_gone:
                self.restart_broker(broker.broker_id)
            self.resume_broker(broker.broker_id)
