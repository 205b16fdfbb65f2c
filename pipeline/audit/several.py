"""Processes for an audit: each is given the next task when it has answered the last one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self, TypeAlias

from pipeline.audit.edges import Edge, edge_of
from pipeline.audit.groups import marks_of
from pipeline.audit.rest import Rest
from pipeline.audit.sharing import GROUPS_MAX
from pipeline.audit.stitched import stitch
from pipeline.audit.tasks import tasks_of
from pipeline.audit.values import Gap, Quarantined, Violation
from pipeline.journal.files import Part

Told = Callable[[int, int], None]
Answers: TypeAlias = Callable[[Sequence[dict[str, Any]], Callable[[int], None]], list[dict[str, Any]]]
"""Tasks to their answers, in their order; told how many are done."""
Found: TypeAlias = tuple[list[Edge], Rest, list[Violation | Gap], int]
"""Edges, what is no event, what topics and throttles showed, how many partitions: as `conclude` takes them."""


class ProcessEnded(RuntimeError):
    """One of the processes ended before it had answered."""


class Processes:
    """So many processes, which end with the `with` block."""

    def __init__(self, count: int) -> None:
        self._free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        self._all = [_started() for _ in range(count)]
        for one in self._all:
            self._free.put(one)
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._all:
            one.kill()
        self._threads.shutdown(cancel_futures=True)  # whoever waits for an answer has its end now
        for one in self._all:
            one.wait()
            for pipe in (one.stdin, one.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):
                    pipe.close()

    def answers(self, tasks: Sequence[dict[str, Any]], told: Callable[[int], None]) -> list[dict[str, Any]]:
        """The answers in the order of the tasks. `told`: how many are there. Raises ProcessEnded."""
        found = []
        for done, answer in enumerate(self._threads.map(self._ask, tasks), 1):
            told(done)
            found.append(answer)
        return found

    def _ask(self, task: dict[str, Any]) -> dict[str, Any]:
        process = self._free.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            self._free.put(process)
        if not line:
            raise ProcessEnded(task["what"])
        answer: dict[str, Any] = json.loads(line)
        return answer


def _started() -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]  # from which it is imported here, wherever it is run
    command, pipe = [sys.executable, "-c", _PROGRAM, str(root)], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)  # noqa: S603 - ours


_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from pipeline.audit.tasks import main; main()"


def audit_in(count: int, parts: Sequence[Part], told: Told) -> Found:
    """In so many processes. Raises ProcessEnded."""
    count = min(count, GROUPS_MAX)
    with Processes(count) as processes:
        return by_tasks(parts, count, processes.answers, told)


def by_tasks(parts: Sequence[Part], groups: int, answers: Answers, told: Told) -> Found:
    """By tasks, whoever answers them."""
    size = sum(part.end for part in parts)
    rest, edges, shares = Rest(), [], []
    first = [{"what": "order", "part": part, "groups": groups} for part in parts]
    for answer in answers(first, lambda done: told(size * done // (2 * len(first)), size)):
        edges.append(edge_of(answer["edge"]))
        quarantine, gaps, gone = answer["rest"]
        rest.add([Quarantined(*one) for one in quarantine], [Gap(*one) for one in gaps], gone)
        shares.append(answer["shares"])
    marks = marks_of(edges, stitch(edges, rest.gone))
    found: list[Violation | Gap] = []
    partitions = 0
    second = list(tasks_of(parts, shares, marks, groups))
    for answer in answers(second, lambda done: told(size * (len(second) + done) // (2 * len(second)), size)):
        partitions += answer["partitions"]
        found += [value(one) for one in answer["found"]]
    return edges, rest, found, partitions


def value(one: list[Any]) -> Violation | Gap:
    """A violation or a gap that came as JSON."""
    return Gap(*one) if len(one) == len(Gap._fields) else Violation(*one)
