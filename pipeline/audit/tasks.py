"""An audit in several processes: files checked for their order at once, then topics spread over groups, with the same
functions and the same result as in one process.

* A process is `python -m pipeline.audit.tasks`: a task per line of its input, an answer per line of its output, both
  JSON. It inherits nothing, so threads of whoever asks do not matter.
* The first round reads every line, holds it to its kind, its hash and its place, and notes for each, as a byte, which
  group it is of (`sharing`). In the second round a group takes the lines that are its own, and looks at no other.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import Any, TypeAlias

from controller.codec.journal import row_of
from pipeline.audit.edges import text_of
from pipeline.audit.groups import Marks, audit_throttles, audit_topics
from pipeline.audit.order import FileOrder
from pipeline.audit.rest import Rest
from pipeline.audit.sharing import Shares, shared
from pipeline.journal.files import Part, cuts, read_lines, read_part, split
from pipeline.journal.lines import Event, plain_row

Answer: TypeAlias = dict[str, Any]


def answer(task: dict[str, Any]) -> Answer:
    """What a task comes to, as JSON can say it."""
    if task["what"] == "order":
        return order(Part(*task["part"]), task["groups"])
    marks = _marks(task["marks"])
    chosen = _chosen(task)
    if task["what"] == "throttles":
        return {"found": audit_throttles(chosen, marks), "partitions": 0}
    found, partitions = audit_topics(chosen, marks)
    return {"found": found, "partitions": partitions}


def _marks(said: dict[str, Any]) -> Marks:
    """Places are tuples, which JSON has not."""
    places = {name: [tuple(place) for place in said[name]] for name in ("lost", "torn", "rises")}
    return Marks(**{**said, **places})


def order(part: Part, groups: int) -> Answer:
    """The edge of a file, what of it is no event, and whose its lines are."""
    held, rest, shares = FileOrder(part.path), Rest(), Shares(groups)
    for one in split(part):
        for event in read_part(one):
            held.take(event)
            if event.row is None:
                rest.take(event)
            else:
                shares.add(event.line, event.row)
    put_aside = [rest.quarantine, rest.gaps, sorted(rest.gone)]
    return {"edge": text_of(held.edge()), "rest": put_aside, "shares": shares.text()}


def _chosen(task: dict[str, Any]) -> Iterator[Event]:
    """The events that the task is about, in the order of the journal."""
    group = None if task["what"] == "throttles" else task["group"]
    for fields, text in zip(task["parts"], task["shares"], strict=True):
        part = Part(*fields)
        is_ours = iter(shared(text, group))
        for number, line in compress(enumerate(_lines(part), part.first_line), is_ours):
            row = plain_row(line)
            yield Event(part.path, number, "", row_of(line) if row is None else row)
        if next(is_ours, None) is not None:
            raise EOFError(f"{part.path} is shorter than it was")


def _lines(part: Part) -> Iterator[bytes]:
    """Lines without their ends. A file that went since the first round ends it with OSError."""
    with Path(part.path).open("rb") as file:
        file.seek(part.start)
        yield from chain.from_iterable(read_lines(file, end - start) for start, end in cuts(part))


def tasks_of(parts: Sequence[Part], shares: Sequence[str], marks: Marks, groups: int) -> Iterable[dict[str, Any]]:
    """The tasks of the second round. `shares`: of each file, as the first round gave them."""
    about = {"parts": parts, "shares": shares, "marks": marks._asdict()}
    return [{"what": "topics", "group": group, **about} for group in range(groups)] + [{"what": "throttles", **about}]


def main() -> None:
    """Answer the tasks of standard input."""
    gc.disable()  # nothing of an audit refers to itself, and the collector would look at all of it again and again
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
