"""An audit in several processes: files are checked for their order in parallel, then topics are spread over groups.

The first round reads every line, checks its form, its hash and its place, and notes the group of each line as a byte.
In the second round a group decodes only its own lines. Rows without a topic are few and go to every group; rows about
throttles go to one more group, which judges them.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, compress
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_DFL, SIGINT, signal
from typing import Any, Final, NamedTuple, TypeAlias

from ...controller.codec.journal import row_of
from ..journal.files import Part, cuts, read_lines, read_parts
from ..journal.lines import Event, plain_row
from .edges import Edge
from .fold import Found, Marks, judged, marks_of, merged
from .order import FileOrder
from .rest import Rest
from .stitched import Stitched
from .throttles import EVENTS

Told = Callable[[int, int], None]
Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
Result: TypeAlias = tuple[Stitched, Rest, Found, int]
"""The order, what is no event, the findings and the number of partitions, as `conclude` takes them."""

_GROUPS_MAX: Final = 100
_NO_GROUP: Final = _GROUPS_MAX  # a row without a topic, or a line that cannot be read
_THROTTLES: Final = 128  # added for a row about throttles


class First(NamedTuple):
    """The result of the first round for a file. `side`: its rows without a topic; `whose`: the group of each line as a
    byte, compressed."""

    edge: Edge
    rest: Rest
    side: list[Event]
    whose: bytes


def audit_in(count: int, parts: Sequence[Part], told: Told) -> Result:
    """Audit in `count` processes. Raises BrokenProcessPool, and OSError or EOFError if a file was deleted or cut
    meanwhile."""
    groups = min(count, _GROUPS_MAX)
    with ProcessPoolExecutor(groups, get_context("spawn"), _begin) as pool:
        return rounds(parts, groups, pool.map, told)


def _begin() -> None:
    gc.disable()  # an audit has no reference cycles, and the collector would traverse it again and again
    signal(SIGINT, SIG_DFL)  # on a terminal, the parent process reports the interrupt


def rounds(parts: Sequence[Part], groups: int, each: Each, told: Told) -> Result:
    """Both rounds, with `each` instead of `map`."""
    size, steps = sum(part.end for part in parts), len(parts) + groups + 1
    order, rest = Stitched(), Rest()
    side: list[Event] = []
    whose = []
    for done, one in enumerate(each(partial(first_round, groups), parts), 1):
        rest.add(one.rest)
        order.add(one.edge, is_gone=one.edge.file in rest.gone)
        side += one.side
        whose.append(one.whose)
        told(size * done // steps, size)
    second = partial(second_round, parts, whose, side, marks_of(order))
    found: Found = []
    partitions = 0
    for done, (some, here) in enumerate(each(second, (None, *range(groups))), len(parts) + 1):
        found, partitions = found + some, partitions + here
        told(size * done // steps, size)
    return order, rest, found, partitions


def first_round(groups: int, part: Part) -> First:
    """Read a file whose topics are spread over `groups`."""
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
            group = of_topics[topic] = zlib.crc32(topic.encode()) % groups
        if event.line > len(whose) + 1:
            whose += bytes((_NO_GROUP,)) * (event.line - 1 - len(whose))
        whose.append(group | _THROTTLES if event.row["event"] in EVENTS else group)
    return First(order.edge(), rest, side, zlib.compress(whose, 1))


def second_round(
    parts: Sequence[Part], whose: Sequence[bytes], side: Sequence[Event], marks: Marks, group: int | None
) -> tuple[Found, int]:
    """Judge a group of topics; None: throttles."""
    ours = bytes(v >= _THROTTLES if group is None else v % _THROTTLES == group for v in range(256))
    own = (event for part, packed in zip(parts, whose, strict=True)
              for event in _chosen(part, zlib.decompress(packed).translate(ours)))  # fmt: skip
    return judged(merged(own, side, marks.place), marks, throttles=group is None)


def _chosen(part: Part, is_ours: bytes) -> Iterator[Event]:
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
