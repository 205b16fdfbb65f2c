"""An audit in several processes: files checked for their order at once, then topics spread over groups, with the same
functions and the same result as in one process.

* A process is `python -m pipeline.audit.tasks`: a task per line of its input, an answer per line of its output, both
  JSON. It inherits nothing, so threads of whoever asks do not matter.
* The first round reads every line and holds it to its kind. The second reads what a group is about: of which topic a
  line is stands in its first bytes, as the controller writes them. A line that begins otherwise is read by all groups.
* Lines that were found to be bad in the first round are not looked for again where a file has none.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

from controller.codec.journal import row_of
from pipeline.audit import throttles as t
from pipeline.audit.edges import light, text_of
from pipeline.audit.groups import Marks, audit_throttles, audit_topics
from pipeline.audit.order import FileOrder
from pipeline.audit.rest import Rest
from pipeline.journal.files import LINE_BYTES_MAX, Part, read_part, split
from pipeline.journal.lines import Event, read_line

Answer: TypeAlias = dict[str, Any]

_HEAD: Final = re.compile(
    rb'\{"epoch":[0-9]+,"seq":[0-9]+,"row":[0-9]+,"ts":[0-9]+,"event":"([A-Za-z]+)"(?:,"topic":"([^"\\]*)")?'
)
_TOPIC: Final = b'"topic":'


def answer(task: dict[str, Any]) -> Answer:
    """What a task comes to, as JSON can say it."""
    if task["what"] == "order":
        return order(Part(*task["part"]))
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


def order(part: Part) -> Answer:
    """The edge of a file, and what of it is no event."""
    held, rest = FileOrder(part.path), Rest()
    for event in (event for one in split(part) for event in read_part(one)):
        now = light(event)
        if now is not None:
            held.feed(now)
        if event.row is None:
            rest.take(event)
    is_clean = not rest.quarantine and not rest.gone
    return {"edge": text_of(held.edge()), "rest": [rest.quarantine, rest.gaps, sorted(rest.gone)], "clean": is_clean}


def _chosen(task: dict[str, Any]) -> Iterator[Event]:
    """The events that the task is about, in the order of the journal."""
    group, groups = task["group"], task["groups"]
    wanted = {name.encode() for name in t.EVENTS} if task["what"] == "throttles" else None
    for fields, is_clean in zip(task["parts"], task["clean"], strict=True):
        part = Part(*fields)
        for number, line in _lines(part):
            head = _HEAD.match(line)
            if head is not None and not _is_asked_for(line, head, wanted, group, groups):
                continue
            event = _event(part.path, number, line, is_clean=is_clean)
            if event.row is not None and (wanted is None or event.row["event"] in t.EVENTS):
                if wanted is None and not _is_in(event.row.get("topic"), group, groups):
                    continue
                yield event


def _is_asked_for(line: bytes, head: re.Match[bytes], wanted: set[bytes] | None, group: int, groups: int) -> bool:
    """True also where the first bytes do not say it: a name that stands twice has its last value, and
    may be spelled otherwise."""
    event, topic = head.groups()
    if line.count(b'"event":') > 1 or line.count(_TOPIC) != (topic is not None) or b"\\u" in line:
        return True
    return event in wanted if wanted is not None else topic is None or crc32(topic) % groups == group


def _is_in(topic: object, group: int, groups: int) -> bool:
    """Rows without a topic are of every group."""
    return not isinstance(topic, str) or crc32(topic.encode("utf-8", "surrogatepass")) % groups == group


def _event(path: str, number: int, line: bytes, *, is_clean: bool) -> Event:
    return Event(path, number, "", row_of(line)) if is_clean else read_line(path, number, line)


def _lines(part: Part) -> Iterator[tuple[int, bytes]]:
    """Numbers and lines, without their ends. A file that went since the first round ends it with OSError."""
    number, left = part.first_line, part.end - part.start
    with Path(part.path).open("rb") as file:
        file.seek(part.start)
        while left > 0 and (line := file.readline(min(left, LINE_BYTES_MAX))):
            left -= len(line)
            yield number, line.removesuffix(b"\n")
            number += 1


def tasks_of(parts: Sequence[Part], clean: Sequence[bool], marks: Marks, groups: int) -> Iterable[dict[str, Any]]:
    """The tasks of the second round."""
    about = {"parts": parts, "clean": clean, "marks": marks._asdict(), "groups": groups}
    return [{"what": "topics", "group": group, **about} for group in range(groups)] + [
        {"what": "throttles", "group": 0, **about}
    ]


def main() -> None:
    """Answer the tasks of standard input."""
    gc.disable()  # nothing of an audit refers to itself, and the collector would look at all of it again and again
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
