"""Journals of several clusters in two rounds, for any number of workers: processes (`audit_in`), or those of Spark.

The first round reads every line, file by file, checks its form, its hash and its place, and notes the group of each
line as a byte. In the second round a group decodes only the lines of its own topics. Rows without a topic are few and
go to every group; rows about throttles are one more group, NO_TOPIC.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, compress, islice
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_DFL, SIGINT, signal
from typing import Any, Final, NamedTuple, TypeAlias

from ...controller.codec.journal import row_of
from ..journal.files import Part, cuts, read_lines, read_parts
from ..journal.lines import Event, plain_row
from .conclusion import conclude
from .edges import Edge
from .fold import Found, Marks, judged, marks_of, merged
from .order import FileOrder
from .rest import Rest
from .stitched import Stitched
from .throttles import EVENTS
from .values import Audit

Told = Callable[[int, int], None]
Each: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""A `map` whose calls run in workers. It raises the OSError or EOFError of a call."""

GROUPS_MAX: Final = 100
NO_TOPIC: Final = -1
"""The group of all rows about throttles."""
_NO_GROUP: Final = GROUPS_MAX  # a row without a topic, or a line that cannot be read
_THROTTLES: Final = 128  # added for a row about throttles


class Files(NamedTuple):
    """A journal to read: its files in order, and over how many groups its topics are spread."""

    parts: Sequence[Part]
    groups: int


class First(NamedTuple):
    """The result of the first round for a file. `side`: its rows without a topic; `whose`: the group of each line as a
    byte, compressed."""

    edge: Edge
    rest: Rest
    side: list[Event]
    whose: bytes


class Journal(NamedTuple):
    """The result of the first round for a journal: the same of all its files."""

    files: Files
    order: Stitched
    rest: Rest
    side: Sequence[Event]
    whose: Sequence[bytes]
    marks: Marks

    def rows(self, group: int) -> Iterator[Event]:
        """The rows of a group and those without a topic, in the order of the journal. Raises OSError or EOFError if a
        file was deleted or cut since the first round."""
        ours = bytes(v >= _THROTTLES if group == NO_TOPIC else v % _THROTTLES == group for v in range(256))
        chosen = (zlib.decompress(packed).translate(ours) for packed in self.whose)
        own = chain.from_iterable(map(_chosen, self.files.parts, chosen))
        return merged(own, self.side, self.marks.place)


def audits(journals: Mapping[str, Files], each: Each) -> dict[str, Audit]:
    """The audits by cluster. Raises NoJournal if a cluster has no line of a journal, and the errors of `each`."""
    read = first_rounds(journals, each)
    found: dict[str, Found] = {cluster: [] for cluster in read}
    partitions = dict.fromkeys(read, 0)
    for cluster, (some, count) in second_rounds(read, _judged, each, throttles=True):
        found[cluster] += some
        partitions[cluster] += count
    return {one: conclude(journal.order, journal.rest, found[one], partitions[one]) for one, journal in read.items()}


def _judged(journal: Journal, group: int) -> tuple[Found, int]:
    return judged(journal.rows(group), journal.marks, throttles=group == NO_TOPIC)


def audit_in(count: int, parts: Sequence[Part], told: Told) -> Audit:
    """Audit in `count` processes. Raises BrokenProcessPool, and OSError or EOFError if a file was deleted or cut
    meanwhile."""
    files, size, done = Files(parts, min(count, GROUPS_MAX)), sum(part.end for part in parts), 0
    steps = len(parts) + files.groups + 1
    with ProcessPoolExecutor(files.groups, get_context("spawn"), _begin) as pool:

        def each(work: Callable[[Any], Any], given: Sequence[Any]) -> Iterator[Any]:
            nonlocal done
            for result in pool.map(work, given):
                done += 1
                told(size * done // steps, size)
                yield result

        return audits({"": files}, each)[""]


def _begin() -> None:
    gc.disable()  # an audit has no reference cycles, and the collector would traverse it again and again
    signal(SIGINT, SIG_DFL)  # on a terminal, the parent process reports the interrupt


def first_rounds(journals: Mapping[str, Files], each: Each) -> dict[str, Journal]:
    firsts = iter(each(first_round, [(part, files.groups) for files in journals.values() for part in files.parts]))
    return {one: _together(files, islice(firsts, len(files.parts))) for one, files in journals.items()}


def _together(files: Files, firsts: Iterable[First]) -> Journal:
    order, rest = Stitched(), Rest()
    side: list[Event] = []
    whose = []
    for one in firsts:
        rest.add(one.rest)
        order.add(one.edge, is_gone=one.edge.file in rest.gone)
        side += one.side
        whose.append(one.whose)
    return Journal(files, order, rest, side, whose, marks_of(order))


def second_rounds(
    journals: Mapping[str, Journal], work: Callable[[Journal, int], Any], each: Each, *, throttles: bool
) -> Iterator[tuple[str, Any]]:
    """The result of `work` for each group, with its cluster. `throttles`: also for the group NO_TOPIC."""
    first = NO_TOPIC if throttles else 0
    items = [(one, group) for one, journal in journals.items() for group in range(first, journal.files.groups)]
    for (cluster, _), result in zip(items, each(partial(_in_group, work, journals), items), strict=True):
        yield cluster, result


def _in_group(work: Callable[[Journal, int], Any], journals: Mapping[str, Journal], item: tuple[str, int]) -> Any:
    cluster, group = item
    return work(journals[cluster], group)


def group_of(topic: str, groups: int) -> int:
    return zlib.crc32(topic.encode()) % groups


def first_round(item: tuple[Part, int]) -> First:
    """Read a file whose topics are spread over so many groups."""
    part, groups = item
    order, rest, whose = FileOrder(part.path), Rest(), bytearray()
    side: list[Event] = []
    of_topics: dict[str, int] = {}
    for event in read_parts(part):
        order.take(event)
        if event.row is None:
            rest.take(event)
            continue
        topic = event.row.get("topic")
        if topic is None:
            side.append(event)
            continue
        group = of_topics.get(topic)
        if group is None:
            group = of_topics[topic] = group_of(topic, groups)
        if event.line > len(whose) + 1:
            whose += bytes((_NO_GROUP,)) * (event.line - 1 - len(whose))
        whose.append(group | _THROTTLES if event.row["event"] in EVENTS else group)
    return First(order.edge(), rest, side, zlib.compress(whose, 1))


def _chosen(part: Part, is_ours: bytes) -> Iterator[Event]:
    if not any(is_ours):  # the file may be gone, which the first round has reported
        return
    left = iter(is_ours)
    for number, line in compress(enumerate(_lines(part), part.first_line), left):
        row = plain_row(line)
        yield Event(part.path, number, "", row_of(line) if row is None else row)
    if next(left, None) is not None:
        raise EOFError(f"{part.path} was cut while it was read")


def _lines(part: Part) -> Iterator[bytes]:
    with Path(part.path).open("rb") as file:
        file.seek(part.start)
        yield from chain.from_iterable(read_lines(file, end - start) for start, end in cuts(part))
