"""The journal on disk as bytes: the names of its files, where a commit ends, the required fields of a line.

* `<cluster>-<controller_epoch>-<n>.jsonl`, n from 0.
* The last line of a commit has `rows`: a commit is whole if and only if that line is there, with its line end.
* The writer (`kedge.controller.runtime.journal`) and readers without a controller (`pipeline`) share this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from json.scanner import make_scanner
from typing import Any, Final, NamedTuple, Protocol, TypeVar

FIRST_BYTES: Final = b'{"epoch":'
STARTS_CHAIN: Final = ("Takeover", "Gap")
"""Events of a line without `prev`; a Gap where the Takeover itself was lost."""

REQUIRED: Final[Mapping[str, type]] = {"epoch": int, "seq": int, "row": int, "ts": int, "event": str}

NAME: Final = re.compile(r"([A-Za-z0-9._-]+)-([0-9]{1,10})-([0-9]{1,10})\.jsonl")
_ENDS_COMMIT: Final = re.compile(rb',"rows":([0-9]{1,9})(?:,"prev":"[0-9a-f]{64}")?\}\Z')
_END_BYTES_MAX: Final = 120  # more than _ENDS_COMMIT can match


class FileName(NamedTuple):
    """The parts of a file's name. Sorted: by cluster, then in the order in which the files were written."""

    cluster: str
    controller_epoch: int
    n: int


def file_name(name: str) -> FileName | None:
    """The parts of the name of a journal file (without folders); None for any other file."""
    match = NAME.fullmatch(name)
    return None if match is None else FileName(match[1], int(match[2]), int(match[3]))


class HasName(Protocol):
    """A path: `name` is its last part."""

    @property
    def name(self) -> str: ...


_File = TypeVar("_File", bound=HasName)


def in_order(files: Iterable[_File]) -> list[_File]:
    """The files, each once: those of a journal in the order in which they were written, then those with other names in
    the given order. Raises ValueError where there is none, or they belong to several clusters."""
    found = [(file_name(one.name), one) for one in dict.fromkeys(files)]
    named = sorted(((name, one) for name, one in found if name is not None), key=lambda pair: (pair[0], str(pair[1])))
    clusters = sorted({name.cluster for name, _ in named})
    if len(clusters) > 1:
        raise ValueError(f"journals of several clusters: {', '.join(clusters)}")
    if not found:
        raise ValueError("nothing to read")
    return [one for _, one in named] + [one for name, one in found if name is None]


def ends_commit(line: bytes) -> int | None:
    """The number of lines of the commit that ends with `line` (without line end); None: the commit continues, or this
    is no line of a journal."""
    match = _ENDS_COMMIT.search(line[-_END_BYTES_MAX:])
    return None if match is None else int(match[1])


class Content(Protocol):
    """Bytes that can be searched: `bytes`, or a file that is mapped."""

    def rfind(self, sub: bytes, start: int, end: int, /) -> int: ...
    def __getitem__(self, at: slice, /) -> bytes: ...
    def __len__(self) -> int: ...


def whole_bytes(content: Content, start: int = 0) -> int:
    """Where the last whole commit of `content` ends, `start` where there is none after it. It searches backwards: a
    torn end is short, the whole part may be long."""
    end = content.rfind(b"\n", start, len(content))
    while end >= 0:
        before = content.rfind(b"\n", start, end)
        if ends_commit(content[max(before + 1, start, end - _END_BYTES_MAX) : end]) is not None:
            return end + 1
        end = before
    return start


def row_of(line: bytes) -> dict[str, Any]:
    """A line as a row, with every field that each row has. Raises ValueError with a short reason."""
    try:
        row = _read(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if type(row) is dict:
        for name, kind in REQUIRED.items():
            if type(row.get(name)) is not kind:
                break
        else:
            return row
    raise ValueError("not a line of a journal")


_scan: Final[Callable[[str, int], tuple[Any, int]]] = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]


def _read(line: bytes) -> Any:
    """Equals json.loads, which takes 50 percent longer because it detects the encoding and skips spaces."""
    if line.startswith(FIRST_BYTES):
        text = line.decode("utf-8", "surrogatepass")
        try:
            row, end = _scan(text, 0)
        except StopIteration as error:
            raise ValueError(error) from None
        if end == len(text):
            return row
    return json.loads(line)
