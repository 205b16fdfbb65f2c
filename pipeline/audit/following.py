"""Whether a line may follow another: its link of the chain, its term, its numbers.

A violation is reported at the line that follows wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...controller.codec.journal import STARTS_CHAIN
from .edges import Last, Light, Lost, said
from .values import Gap, Violation


def lost_before(before: Last | None, now: Light, reached_ms: int) -> Lost:
    """The place between two lines where rows are missing."""
    unended = (-1, -1) if before is None or before.ended else before.line.at
    epoch, seq = (-1, -1) if now.row == 0 else now.at
    return Lost(now.line, epoch, seq, unended, reached_ms)


def after(before: Last, now: Light, *, lost: bool) -> Last:
    goes_on = not before.ended and not lost and now.seq == before.line.seq and now.epoch == before.line.epoch
    begun, is_torn = (before.begun, before.is_torn) if goes_on else (now.row, lost)
    return Last(now, begun, ended=now.rows is not None, is_torn=is_torn)


def between(file: str, before: Last, now: Light, *, lost: bool, bad_hash: str | None = None) -> Iterator[Violation]:
    """The violations of `now` after the line `before`. `lost`: lines between them are missing; `bad_hash`: the hash of
    a rejected line between them."""
    yield from _link(file, before, now, lost=lost, bad_hash=bad_hash)
    yield from _term(file, before, now, lost=lost)
    yield from _number(file, before, now, lost=lost)


def _link(file: str, before: Last, now: Light, *, lost: bool, bad_hash: str | None) -> Iterator[Violation]:
    if now.prev is None:
        if now.event not in STARTS_CHAIN:
            yield said(file, "chain", now, "prev, since the line is not the first of its term", "none")
    elif now.epoch != before.line.epoch:
        if not lost:
            yield said(file, "chain", now, f"the Takeover of epoch {now.epoch} to begin the chain", "a link")
    elif not lost or bad_hash is not None:
        expected = before.line.hash if bad_hash is None else bad_hash
        if now.prev != expected:
            yield said(file, "chain", now, f"prev {expected[:12]}... of the line before", f"{now.prev[:12]}...")


def _term(file: str, before: Last, now: Light, *, lost: bool) -> Iterator[Violation]:
    was = before.line
    if now.epoch == was.epoch and now.event != "Takeover":
        if was.event == "Resigned":
            yield said(file, "term", now, "nothing after Resigned", now.event)
    elif now.epoch < was.epoch:
        yield superseded(file, now, f"at least {was.epoch}, which took over earlier")
    elif now.epoch == was.epoch:
        yield said(file, "term", now, f"a controller epoch above {was.epoch}", now.epoch)
    elif now.event not in STARTS_CHAIN and not lost:
        yield said(file, "term", now, f"the Takeover of epoch {now.epoch}", now.event)


def superseded(file: str, now: Light, expected: str) -> Violation:
    return said(file, "superseded epoch", now, f"a controller epoch of {expected}", now.epoch)


def _number(file: str, before: Last, now: Light, *, lost: bool) -> Iterator[Violation]:
    was, is_next = before.line, now.seq == before.line.seq
    if now.seq < was.seq:
        yield said(file, "numbering", now, f"seq {was.seq} or above", now.seq)
        return
    if lost:
        return
    if not before.ended and not is_next:
        yield said(file, "numbering", now, f"the remaining rows of seq {was.seq}", f"seq {now.seq}")
        return
    expected = was.row + 1 if is_next else 0
    if now.row != expected:
        yield said(file, "numbering", now, f"row {expected} of seq {now.seq}", now.row)


def ends(file: str, last: Last) -> Iterator[Violation]:
    now, expected = last.line, last.line.row - last.begun + 1
    if now.rows is not None and now.rows != expected and not (last.is_torn and now.rows > expected):
        yield said(file, "numbering", now, f"{expected} rows in this commit", now.rows)


def missing_tail(file: str, before: tuple[int, int], now: Light) -> Gap | None:
    """Commits between two terms without lines: their controller ended before it wrote them. `before`: epoch and seq of
    the line before."""
    epoch, seq = before
    if now.event != "Takeover" or now.seq <= seq + 1 or now.epoch <= epoch:
        return None
    text = f"no lines of seq {seq + 1} to {now.seq - 1}, before the Takeover of epoch {now.epoch}"
    return Gap("missing tail", file, now.line, epoch, text)
