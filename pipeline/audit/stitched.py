"""The order of a whole journal, from the edges of its files: what is missing between them, what was written late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from controller.codec.journal import STARTS_CHAIN, FileName, file_name
from pipeline.audit.edges import TOLD_ONCE, Edge, Last, Light, Lost, said
from pipeline.audit.following import between, lost_before, missing_tail, superseded
from pipeline.audit.values import Gap, Violation


class Order(NamedTuple):
    """The order of a whole journal. `lost`: files, and where in them rows are missing; `suspects`: file, epoch
    and the seq from which on what it holds of this epoch was written too late."""

    violations: tuple[Violation, ...]
    gaps: tuple[Gap, ...]
    lost: tuple[tuple[str, Lost], ...]
    suspects: tuple[tuple[str, int, int], ...]


def stitch(edges: Sequence[Edge], gone: Iterable[str] = ()) -> Order:
    """The order of all files, of which `edges` are given in the order of the journal. `gone`: files that could not be
    read to their end."""
    violations = [violation for edge in edges for violation in edge.violations]
    gaps = [gap for edge in edges for gap in edge.gaps]
    lost = [(edge.file, place) for edge in edges for place in edge.lost]
    vanished, before, name = set(gone), None, None
    rows_gone = False
    for edge in edges:
        missing = missing_before(name, edge.file)
        name = file_name(PurePath(edge.file).name)
        if missing is not None:
            gaps.append(missing)
        is_lost = missing is not None or rows_gone
        if edge.first is not None:
            violations += _first(edge, before, lost=is_lost)
            tail: Gap | None = None
            if before is not None and not is_lost:
                tail = missing_tail(edge.file, before.line.at, edge.first)
            if tail is not None:
                gaps.append(tail)
                lost.append((edge.file, Lost(edge.first.line)))
            elif is_lost:
                lost.append((edge.file, lost_before(edge.first)))
        before = edge.last or before
        rows_gone = edge.file in vanished or edge.ends_lost or (edge.first is None and is_lost)
    return Order(_first_of_terms(violations), tuple(gaps), tuple(lost), tuple(_suspects(edges)))


def missing_before(before: FileName | None, file: str) -> Gap | None:
    """Whether the names of two files in a row leave room for one that is missing."""
    now = file_name(PurePath(file).name)
    if now is None:
        return None
    same_term = before is not None and before[:2] == now[:2]
    expected = before.n + 1 if before is not None and same_term else 0
    if now.n == expected:
        return None
    kind = "missing file" if same_term else "missing start"
    return Gap(
        kind, file, 0, now.controller_epoch, f"expected n {expected} of epoch {now.controller_epoch}, got {now.n}"
    )


def _first(edge: Edge, before: Last | None, *, lost: bool) -> Iterator[Violation]:
    now = edge.first
    assert now is not None
    lost = lost or any(place.line <= now.line for place in edge.lost)
    if before is not None:
        if now.epoch < before.line.epoch:
            yield superseded(edge.file, now, f"at least {before.line.epoch}, which took over before")
            return
        yield from between(edge.file, before, now, lost=lost)
    elif not lost:
        yield from _begins(edge.file, now)


def _begins(file: str, now: Light) -> Iterator[Violation]:
    """The very first line, with nothing before it."""
    if now.event not in STARTS_CHAIN:
        yield said(file, "term", now, f"the Takeover of epoch {now.epoch}", now.event)
    if now.row != 0:
        yield said(file, "numbering", now, f"row 0 of seq {now.seq}", now.row)


def _first_of_terms(found: Iterable[Violation]) -> tuple[Violation, ...]:
    told: set[tuple[str, int]] = set()
    kept = []
    for violation in found:
        key = (violation.kind, violation.controller_epoch)
        if violation.kind not in TOLD_ONCE or key not in told:
            told.add(key)
            kept.append(violation)
    return tuple(kept)


def _suspects(edges: Sequence[Edge]) -> Iterator[tuple[str, int, int]]:
    taken: dict[int, int] = {}
    for edge in edges:
        for epoch, seq in edge.takeovers.items():
            taken[epoch] = min(seq, taken.get(epoch, seq))
    for edge in edges:
        for epoch, seq in sorted(edge.seq_max.items()):
            later = [at for other, at in taken.items() if other > epoch]
            if later and seq >= min(later):
                yield edge.file, epoch, min(later)


def written_late(file: str, lights: Iterable[Light], epoch: int, bound: int) -> Violation | None:
    """The first line of `epoch` whose seq is at or above `bound`, with which a later term took over."""
    for now in lights:
        if now.epoch == epoch and now.seq >= bound:
            return superseded(file, now, f"the term that took over with seq {bound}")
    return None
