"""The failures of controllers, by name: of their processes, sessions and connections. Each happens at once; time does
not pass."""

from __future__ import annotations

from typing import Literal

from ...stores.faults import Plan
from ..simulated.network import CallbackFaults
from .controllers import Controllers
from .node import State


class ControllerMishaps:
    """Causes failures of the controllers of a rig. Raises KeyError for an unknown node or broker."""

    def __init__(self, rig: Controllers) -> None:
        self._rig = rig

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
            _ = self._rig.brokers[int(from_)]  # raises KeyError
            self._rig.network.cut(node_id, int(from_))
        self._rig.timeline.say("rig", f"cuts controller {node_id} off from {from_}")

    def mend(self, node_id: int) -> None:
        node = self._rig.nodes[node_id]
        if node.process is not None:
            node.process.inner.reconnect()
        self._rig.network.mend(controller_id=node_id)
        self._rig.timeline.say("rig", f"mends the ways of controller {node_id}")

    def plan_store_faults(self, node_id: int, plan: Plan = ()) -> None:
        """The faults of the node's calls to the store from here on (`kedge.stores.faults`); empty: none."""
        process = self._rig.nodes[node_id].process
        if process is not None:
            process.store.play(plan)

    def heal_controllers(self) -> None:
        """End all failures of controllers and connections: all nodes are up, and late commits arrive."""
        self._rig.network.faults = CallbackFaults()
        for node in self._rig.nodes.values():
            node.deliver_late()
            node.clock.skew_ms = 0
            if node.state is State.DOWN:
                self.restart_controller(node.node_id)
            elif node.state is State.PAUSED:
                self.resume_controller(node.node_id)
            self.plan_store_faults(node.node_id)
            self.mend(node.node_id)
