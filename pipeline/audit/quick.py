"""The edge of a file in which nothing is wrong, told from its columns at once; None where something may be, and every
line has to be looked at (`order`).

Most files of most journals are like that, and columns take a tenth of the time. It decides nothing by itself:
what is not plainly in order goes the long way, and a test holds both ways to the same result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.audit.edges import Edge, Last, Light

Numbers = npt.NDArray[np.int64]


def quick_edge(table: pa.Table, light_at: Callable[[int], Light]) -> Edge | None:
    """Of rows of one file, in their order. `light_at`: a row of it as the long way sees it."""
    epoch = _one_epoch(table)
    if epoch is None or not _are_usual(table) or not _is_chained(table):
        return None
    seq, row, rows = (_numbers(table, name) for name in ("seq", "row", "rows"))
    ends = rows >= 0
    starts = np.flatnonzero(np.concatenate(([True], ends[:-1])))
    if not _are_numbered(seq, row, ends) or not _are_counted(row, rows, ends, starts):
        return None
    first, last = light_at(0), light_at(len(table) - 1)
    ts = pc.min_max(pc.cast(table.column("ts"), pa.int64()))
    events = {one["values"]: one["counts"] for one in pc.value_counts(table.column("event")).to_pylist()}
    return Edge(
        table.column("file")[0].as_py(),
        first,
        Last(last, int(row[starts[-1]]), ended=bool(ends[-1]), is_torn=False),
        {epoch: first.seq} if first.event == "Takeover" else {},
        {epoch: last.seq},
        (),
        (),
        (),
        ((first.line, epoch),),
        events,
        int(ends.sum()),
        {epoch: (ts["min"].as_py() // 1000, ts["max"].as_py() // 1000)},
    )


def _one_epoch(table: pa.Table) -> int | None:
    """None for a file of several, or with lines that cannot be read."""
    column = table.column("controller_epoch")
    if not len(table) or column.null_count or table.column("problem").null_count < len(table):
        return None
    found = pc.min_max(column).as_py()
    return int(found["min"]) if found["min"] == found["max"] else None


def _are_usual(table: pa.Table) -> bool:
    """Only the first line is a Takeover, only the last one Resigned, none tells of a gap."""
    events = table.column("event")
    inner = pc.value_counts(events.slice(1)).to_pylist() if len(table) > 1 else []
    before_last = pc.sum(pc.equal(events.slice(0, len(table) - 1), "Resigned")).as_py()
    has_gap = pc.any(pc.equal(events, "Gap")).as_py()
    return not before_last and not has_gap and all(one["values"] != "Takeover" for one in inner)


def _is_chained(table: pa.Table) -> bool:
    prev, hashes = table.column("prev").slice(1), table.column("hash").slice(0, len(table) - 1)
    return prev.null_count == 0 and (not len(prev) or bool(pc.all(pc.equal(prev, hashes)).as_py()))


def _numbers(table: pa.Table, name: str) -> Numbers:
    """-1 where there is none."""
    column = pc.fill_null(pc.cast(table.column(name), pa.int64()), -1)
    found: Numbers = column.combine_chunks().to_numpy(zero_copy_only=False)
    return found


def _are_numbered(seq: Numbers, row: Numbers, ends: npt.NDArray[np.bool_]) -> bool:
    same, rises = seq[1:] == seq[:-1], seq[1:] > seq[:-1]
    follows = np.where(same, row[1:] == row[:-1] + 1, row[1:] == 0)
    return bool((follows & (same | (rises & ends[:-1]))).all())


def _are_counted(row: Numbers, rows: Numbers, ends: npt.NDArray[np.bool_], starts: Numbers) -> bool:
    last = np.flatnonzero(ends)
    return bool((rows[last] == row[last] - row[starts[: len(last)]] + 1).all())
