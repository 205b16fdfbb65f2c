"""Every commit of a story x every kind of trouble: it is run once to count its commits, then once for each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from kedge.controller.model.values import Settings
from kedge.controller.rig import Node, Rig
from kedge.stores.faults import DeliverLater, FailBefore, Fault, LoseReply, LoseRequest, at_commit
from tests.simulation.clusters import leading

Scenario: TypeAlias = Callable[[Rig], None]
Make: TypeAlias = Callable[[Settings], Rig]

LOSSES: Final[dict[str, tuple[Fault, ...]]] = {
    "not sent": (FailBefore(),),
    "applied, reply lost": (LoseReply(),),
    "request lost": (LoseRequest(),),
    "arrives after the next": (DeliverLater(1),),
    "arrives at the end": (DeliverLater(),),
}
BATCHES: Final = (Settings(), Settings(commit_decisions_max=1))
"""Decisions in one commit as they come, and each in a commit of its own: there are more points to crash at then."""
SESSION_MS: Final = 200
"""Of controllers that die again and again: each next one waits for it each time, and nothing else happens then."""
CRASHES: Final = ("before it is sent", "applied, reply lost", "acknowledged, nothing sent", "half of the sends")


def commits(rig: Rig) -> int:
    """How many commits the process that leads has made."""
    node = leading(rig)
    assert node.process is not None
    return node.process.store.commits


@attrs.frozen
class Story:
    """What makes the rig, what happens, and the check of how it ends."""

    make: Make
    scenario: Scenario
    end: Scenario

    def run(self, rig: Rig) -> None:
        """To its end."""
        self.scenario(rig)
        self.end(rig)


@functools.cache
def points(story: Story, settings: Settings) -> range:
    """The commits from the beginning of the story to its end, counted from 1."""
    rig = story.make(settings)
    before = commits(rig)
    story.run(rig)
    assert commits(rig) > before, "a story without a commit shows nothing"
    return range(1, commits(rig) - before + 1)


def lost(story: Story, loss: str, batches: tuple[Settings, ...]) -> None:
    """The reply to each commit in turn is lost, or the commit: the story ends all the same."""
    for settings in batches:
        for nth in points(story, settings):
            rig = story.make(settings)
            rig.mishaps.plan_store_faults(leading(rig).node_id, at_commit(nth, *LOSSES[loss]))
            story.run(rig)


def crashed(story: Story, crash: str) -> None:
    """The controller dies at each commit in turn: another one ends the story."""
    for settings in BATCHES:
        for nth in points(story, settings):
            rig = story.make(settings)
            crash_at(rig, leading(rig), nth, crash)
            story.run(rig)


def crash_at(rig: Rig, node: Node, nth: int, crash: str, *, expires: bool = False) -> None:
    """The node dies at its `nth` commit from now; `expires`: and its session with it, not when its time is over."""
    fault: dict[str, Fault] = {"before it is sent": FailBefore(), "applied, reply lost": LoseReply()}
    if crash in fault:
        rig.mishaps.plan_store_faults(node.node_id, at_commit(nth, fault[crash]))
    if crash == "half of the sends":
        for broker in (1, 3, 5):
            rig.mishaps.cut_off(node.node_id, from_=broker)
    assert node.process is not None
    process, dies_at = node.process, node.process.store.commits + nth
    step, steps_left = rig.step, 1 if crash == "half of the sends" else 0

    def step_and_crash() -> bool:
        nonlocal steps_left
        moved = step()
        if node.process is process and process.store.commits >= dies_at:
            if steps_left == 0:
                if expires:
                    rig.mishaps.expire_session(node.node_id)
                rig.mishaps.kill_controller(node.node_id)
                rig.network.mend(node.node_id)
            steps_left -= 1
        return moved

    rig.step = step_and_crash  # type: ignore[method-assign]


def until_so(rig: Rig, is_so: Callable[[], bool], ask: Callable[[], object]) -> None:
    """Ask, and ask again, until it is so: the active controller may die before the answer."""
    for _ in range(40):
        if is_so():
            return
        process = leading(rig).process
        ask()
        for _ in range(500):
            if is_so() or not any(node.process is process for node in rig.nodes.values()):
                break
            rig.step()
    raise AssertionError("asked forty times, and it is not so")
