"""What a seeded run requests of the controllers and writes to the brokers, and how brokers fail: tables of weights and
functions. Each function does one thing, and returns it in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ...admin import ALL
from ...model.requests import ElectionType, NewPartitions, NewTopic
from ...model.values import Partition
from ...simulated.broker import Life
from .. import trouble
from ..chances import Chances
from ..hosted.rig import HostRig
from ..hosted.under_test import Ability

TOPICS_MAX: Final = 4


class Scene(Chances):
    """The rig of a seed. `trouble`, `work`: how likely a failure and a request are, per step."""

    rig: HostRig

    def __init__(self, rig: HostRig, trouble: float, work: float) -> None:
        super().__init__(rig)
        self.trouble, self.work = trouble, work
        self.topics_made = 0

    def can(self, *needs: Ability) -> bool:
        return self.rig.host.abilities >= set(needs)

    def partitions(self, *, moving: bool | None = None) -> list[Partition]:
        found = [p for _, p in self.rig.partitions]
        return [p for p in found if moving is None or (p.move is not None) is moving]


Deed: TypeAlias = Callable[[Scene], str]


# --- requests


def create_topic(scene: Scene) -> str:
    """A new topic; one more partition if there are enough topics."""
    if len(scene.rig.committed.topics) >= TOPICS_MAX:
        return expand(scene)
    scene.topics_made += 1
    name = f"topic-{scene.topics_made}"
    new = NewTopic(scene.between(1, 2), scene.between(1, 3))
    return scene.ask(f"create {name} {new}", lambda admin: admin.create_topics({name: new}).all())


def delete_topic(scene: Scene) -> str:
    if not (partitions := scene.partitions()):
        return elect_preferred(scene)
    name = scene.pick(partitions).topic
    return scene.ask(f"delete {name}", lambda admin: admin.delete_topics([name]).all())


def create_again(scene: Scene) -> str:
    """A topic with the name of one that was deleted."""
    tree = scene.rig.committed
    names = sorted({*tree.deleted, *tree.deleting})
    if not names or len(tree.topics) >= TOPICS_MAX:
        return create_topic(scene)
    name, new = scene.pick(names), NewTopic(1, scene.between(1, 3))
    return scene.ask(f"create {name} again", lambda admin: admin.create_topics({name: new}).all())


def expand(scene: Scene) -> str:
    """One more partition for a topic, up to three."""
    counts = {name: len(topic.assignments) for name, topic in scene.rig.committed.topics.items()}
    names = [name for name, count in sorted(counts.items()) if count < 3]
    if not names:
        return delete_topic(scene)
    name = scene.pick(names)
    new = NewPartitions(counts[name] + 1)
    return scene.ask(f"expand {name} to {new.total_count}", lambda admin: admin.create_partitions({name: new}).all())


def reassign(scene: Scene) -> str:
    if not scene.can(Ability.TARGETS) or not (partitions := scene.partitions()):
        return create_topic(scene)
    tp, target = scene.pick(partitions).tp, scene.brokers(scene.between(1, 3))
    what = f"move {tp} to {target}"
    return scene.ask(what, lambda admin: admin.alter_partition_reassignments({tp: target}).all())


def cancel(scene: Scene) -> str:
    if not (moving := scene.partitions(moving=True)):
        return reassign(scene)
    tp = scene.pick(moving).tp
    return scene.ask(f"cancel {tp}", lambda admin: admin.alter_partition_reassignments({tp: None}).all())


def elect_preferred(scene: Scene) -> str:
    return scene.ask("elect preferred", lambda admin: admin.elect_leaders(ElectionType.PREFERRED, ALL))


def write(scene: Scene) -> str:
    """Records for a partition, mostly to its leader."""
    partitions = [p for p in scene.partitions() if p.leader >= 0]
    if not scene.can(Ability.RECORDS) or not partitions:
        return create_topic(scene)
    p, count = scene.pick(partitions), scene.between(1, 20)
    broker = p.leader if scene.happens(0.8) else scene.pick(list(scene.rig.brokers))
    return f"broker {broker} takes {scene.rig.append(broker, p.tp, count)} of {count} records for {p.tp}"


WORK: Final[tuple[tuple[int, Deed], ...]] = (
    (3, create_topic),
    (1, delete_topic),
    (2, create_again),
    (1, expand),
    (8, reassign),
    (2, cancel),
    (2, elect_preferred),
    (14, write),
)
"""How often, in proportion, and what."""


# --- failures of brokers


def kill_broker(scene: Scene) -> str:
    """The process of a broker ends, and another one starts later, with the logs of the first."""
    broker, at_once = scene.pick(list(scene.rig.brokers)), scene.happens(0.5)
    if not scene.can(Ability.RESTART) or not scene.rig.brokers[broker].is_up:
        return expire_broker(scene)
    scene.rig.kill(broker, at_once=at_once)
    scene.later(trouble.for_ms(scene), lambda: start_if_down(scene, broker))
    return f"broker {broker} dies {'at once' if at_once else 'without a word'}"


def start_if_down(scene: Scene, broker: int) -> None:
    if scene.rig.brokers[broker].life is Life.DOWN:
        scene.rig.start(broker)


def bounce_broker(scene: Scene) -> str:
    """A broker is another process before a controller noticed."""
    broker = scene.pick(list(scene.rig.brokers))
    if not scene.can(Ability.RESTART) or not scene.rig.brokers[broker].is_up:
        return expire_broker(scene)
    scene.rig.kill(broker, at_once=False)
    scene.rig.start(broker)
    return f"broker {broker} bounces"


def expire_broker(scene: Scene) -> str:
    """The store ends the session of a broker that lives."""
    broker = scene.pick(list(scene.rig.brokers))
    if scene.rig.brokers[broker].is_up:
        scene.rig.expire(broker)
    return f"the session of broker {broker} ends"


def fail_callback(scene: Scene) -> str:
    broker = scene.pick(list(scene.rig.brokers))
    if not scene.can(Ability.FAILURE):
        return expire_broker(scene)
    scene.rig.fail_next(broker)
    return f"the next callback to broker {broker} raises"


def hold_isr_answers(scene: Scene) -> str:
    link, for_ms = scene.rig.isr_link, trouble.for_ms(scene)
    link.holds_answers = True
    scene.later(for_ms, lambda: setattr(link, "holds_answers", False))
    return f"no answer to alter_isr arrives for {for_ms} ms"


def lose_isr_answers(scene: Scene) -> str:
    """Calls of alter_isr, or their answers, are lost: leaders get an error."""
    link, for_ms = scene.rig.isr_link, trouble.for_ms(scene)
    link.loses_answers = True
    scene.later(for_ms, lambda: setattr(link, "loses_answers", False))
    return f"the answers to alter_isr are lost for {for_ms} ms"


def repeat_request(scene: Scene) -> str:
    """The last LeaderAndIsr to a broker arrives twice."""
    broker = scene.pick(list(scene.rig.brokers))
    scene.rig.network.repeat(broker)
    return f"the last LeaderAndIsr to broker {broker} arrives again"


def lose_disk(scene: Scene) -> str:
    """The disk of a replica fails, and is replaced later; one disk at a time, and none without another in-sync replica
    that lives."""
    rig = scene.rig
    if not scene.can(Ability.DISKS) or any(broker.disk_is_gone for broker in rig.brokers.values()):
        return bounce_broker(scene)
    found = [
        (place, p, broker)
        for place, p in rig.partitions
        for broker in p.isr
        if rig.brokers[broker].is_up and any(rig.brokers[b].is_up for b in p.isr if b != broker)
        if place in rig.brokers[broker].has_log
        if not any(one.lost for one in rig.brokers.values() if one.lost & {place})
    ]
    if not found:
        return bounce_broker(scene)
    place, p, broker_id = scene.pick(found)
    rig.lose_disk(broker_id, place)
    scene.later(trouble.for_ms(scene), lambda: replace_if_gone(scene, broker_id))
    return f"broker {broker_id} loses the disk of {p.tp}"


def replace_if_gone(scene: Scene, broker: int) -> None:
    """The disk is replaced, if that is still due."""
    if scene.rig.brokers[broker].disk_is_gone:
        scene.rig.replace_disk(broker)


TROUBLE: Final[tuple[tuple[int, Deed], ...]] = (
    (3, trouble.kill_controller),
    (4, trouble.pause_controller),
    (2, trouble.cut_from_store),
    (4, trouble.cut_from_broker),
    (2, trouble.expire_session),
    (1, trouble.jump),
    (4, trouble.one_commit_fails),
    (2, trouble.shaky_store),
    (1, trouble.forced_resync),
    (2, trouble.late_commits),
    (6, trouble.bad_network),
    (3, trouble.slow_broker),
    (6, kill_broker),
    (4, bounce_broker),
    (3, expire_broker),
    (3, fail_callback),
    (3, hold_isr_answers),
    (3, lose_isr_answers),
    (5, repeat_request),
    (2, lose_disk),
)
"""How often, in proportion, and what."""
