"""What comes and goes leaves nothing behind in a controller: brokers, topics, moves, sessions, threads."""

from __future__ import annotations

import gc
import threading
import types
from array import array
from collections import Counter, deque
from collections.abc import Iterator

import pytest

from kedge.controller.runtime.executors import ThreadExecutor
from tests.kit.waiting import until
from tests.runtime.world import Cluster, cluster_of_three

CYCLES = 20
# Numbers of deleted partitions are used again only after the next takeover; an index drops stale ones at a thousand.
BY_NUMBER = {"rows", "versions", "generations", "_versions", "_index"}
OF_THE_TEST = {"_host", "host", "_script", "_inner"}
LEAVES = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, str, bytes, int)


def entries(root: object) -> Counter[str]:
    """How many entries there are in all containers that an object reaches, by the attributes that lead to them."""
    found, seen, waiting = Counter[str](), {id(root)}, [(root, "")]
    while waiting:
        one, path = waiting.pop()
        if isinstance(one, dict | list | set | deque | array | bytearray):
            found[path] += len(one)
        for name, part in parts(one):
            if id(part) not in seen and not isinstance(part, LEAVES) and name not in BY_NUMBER | OF_THE_TEST:
                seen.add(id(part))
                waiting.append((part, f"{path}.{name}" if name else path))
    return found


def parts(one: object) -> Iterator[tuple[str, object]]:
    names = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
    named = {name: getattr(one, name) for name in names if isinstance(name, str) and hasattr(one, name)}
    named |= getattr(one, "__dict__", {})
    yield from named.items() if named else (("", part) for part in gc.get_referents(one))


def come_and_go(cluster: Cluster, number: int) -> None:
    """A broker registers, holds a replica of a new topic, loses it by a move, dies and is forgotten."""
    broker, topic, admin = 100 + number, f"u{number}", cluster.controller.admin
    cluster.join(broker)
    cluster.create(topic, (broker, 1))
    cluster.done(cluster.move((1, 2), topic))
    cluster.done(cluster.isr((broker, 1, 2), topic))
    cluster.done(admin.delete_topics([topic]).all())
    cluster.leave(broker)
    cluster.done(admin.forget_broker(broker))
    cluster.wait(200)


@pytest.mark.slow
def test_what_came_and_went_leaves_nothing_in_memory() -> None:
    cluster = cluster_of_three()
    for number in range(CYCLES):
        come_and_go(cluster, number)
    cluster.wait(120_000, 1_000)
    before = entries(cluster.controller)
    for number in range(CYCLES, 2 * CYCLES):
        come_and_go(cluster, number)
    cluster.wait(120_000, 1_000)
    after = entries(cluster.controller)
    assert before["._loop.term.state.topics"] == 1
    assert {path: count - before[path] for path, count in after.items() if count >= before[path] + CYCLES // 2} == {}


def test_threads_of_callbacks_end_when_idle() -> None:
    executor = ThreadExecutor("came-and-went", idle_s=0.02)
    called: list[int] = []

    def running() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("came-and-went")]

    for _ in range(2):
        for broker in range(20):
            executor.submit(broker, lambda: called.append(1))
        until(lambda: not running(), "the threads end")
    assert len(called) == 40
    executor.close(5)
