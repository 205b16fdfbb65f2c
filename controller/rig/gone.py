"""What must hold when a topic is deleted, and after: the keys go in their order, and nothing of it is left anywhere.

7. A topic's key goes only when no broker holds a log of it any more, but for brokers that were forgotten. (Each
   commit.)
8. State keys go only under the key that asks for the deletion, before the topic's key; that one before the key that
   asked. In the end no key names a topic that there is not, and nobody holds a log of one. (Each commit, the end.)

Who is forgotten was asked for, and is not registered when its key goes; whoever comes under its id holds nothing that
nobody waits for (7, 8, as of any other).
"""

from __future__ import annotations

from collections.abc import Callable

from controller.codec import keys
from controller.rig.committed import CommittedTree
from controller.rig.parts import Parts
from controller.rig.server import Committed
from stores.base import Delete

Require = Callable[[object, int, str], None]


def check_deletes(commit: Committed, committed: CommittedTree, rig: Parts, require: Require) -> None:
    """Before `commit` is taken in: what it deletes may go now."""
    gone = {op.key for op in commit.ops if isinstance(op, Delete)}
    for key in gone:
        of, name = keys.partition_of(key), keys.topic_of(key)
        if of is not None:
            require(of[0] in committed.deleting, 8, f"{key} goes, and nobody asked for it")
        elif name is not None:
            require(name in committed.deleting, 8, f"{key} goes, and nobody asked for it")
            left = [tp for tp in committed.states_of(name) if keys.state(*tp) not in gone]
            require(not left, 8, f"{key} goes before the state keys of {left}")
            _held_by_nobody(committed, rig, name, require)
        elif key.startswith(keys.DELETE_TOPICS + "/"):
            topic = key.rpartition("/")[2]
            is_gone = topic not in committed.topics or keys.topic(topic) in gone
            require(is_gone or not rig.settings.delete_topic_enable, 8, f"{key} goes before its topic")
        elif key.startswith(keys.ADMITTED + "/"):
            broker = int(key.rpartition("/")[2])
            require(broker in rig.asked_to_forget, 7, f"broker {broker} is forgotten, and nobody asked for it")
            rig.forgotten.add(broker)  # maybe asked for before it was there for a while, and decided now
            require(keys.broker(broker) not in rig.server.table.rows, 7, f"broker {broker} is forgotten while it lives")


def _held_by_nobody(committed: CommittedTree, rig: Parts, name: str, require: Require) -> None:
    topic = committed.topic(name)
    for broker in rig.brokers.values():
        held = [place for place in broker.replicas if topic is not None and place[0] == topic.topic_id]
        is_forgotten = broker.broker_id in rig.forgotten
        require(is_forgotten or not held, 7, f"{name} goes while broker {broker.broker_id} holds {held}")


def left_over(rig: Parts) -> list[str]:
    """What is left of topics that there are not (any more), one line each."""
    committed, found = rig.committed, []
    for key in rig.server.table.rows:
        parts = key.split("/")
        if key.startswith((keys.TOPICS + "/", keys.CONFIG_TOPICS + "/")) and parts[3] not in committed.topics:
            found.append(f"{key} is left of a topic that there is not")
        elif key.startswith(keys.DELETE_TOPICS + "/"):
            found.append(f"{key}: a topic is being deleted")
    ids = {topic.topic.topic_id for topic in committed.topics.values()}
    for broker in rig.brokers.values():
        if broker.broker_id in rig.forgotten:
            continue
        held = [f"{r.topic}-{r.partition}" for place, r in broker.replicas.items() if place[0] not in ids]
        found += [f"broker {broker.broker_id} holds {tp} of a topic that there is not" for tp in held]
        if broker.is_up:
            known = [tp for tp in broker.metadata if tp not in committed.partitions]
            found += [f"broker {broker.broker_id} knows {tp}, which there is not" for tp in known]
    return found
