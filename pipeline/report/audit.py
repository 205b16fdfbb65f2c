"""The report of an audit: the verdict, what was checked, terms and moves over time, and the tables below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Final

from ...controller.model.plural import counted
from ..amounts import duration
from ..audit.values import GAPS, KINDS, VIOLATION_COLUMNS, Audit
from ..cautions import known_amount
from ..progress.values import Move, Progress, Reassigning, WaveTime
from .page import facts, page, plot, table, verdict
from .svg import Band, Mark, bars, lines, points, timeline

BROKERS_MAX: Final = 7
"""So many brokers, those with the largest sums, have a line of their own in a plot; the others share one."""


def audit_page(audit: Audit, progress: Progress | None = None, *, title: str = "Audit of a journal") -> str:
    """A whole document. The same input gives the same bytes."""
    spans = audit.counts.spans
    moment = "no lines" if not spans else f"{_moment(min(s[1] for s in spans))} to {_moment(max(s[2] for s in spans))}"
    parts = [
        verdict(*_verdict(audit)),
        _facts(audit),
        _timeline(audit),
        _kinds(audit),
        _rules(audit),
        _violations(audit),
        _gaps(audit),
    ]
    parts.append(_rejected(audit))
    if progress is not None:
        parts += _progress(progress)
    events = [(event, n) for event, n in sorted(audit.counts.events, key=lambda one: (-one[1], one[0]))]
    parts.append(table("Events", ("event", "lines"), events))
    parts.append(table("Events that no rule covers", ("event", "lines"), audit.unchecked))
    return page(title, moment, [part for part in parts if part])


def _verdict(audit: Audit) -> tuple[str, str]:
    unsure = len(audit.gaps)
    places = f" Lines are missing at {counted(unsure, 'place')}, where nothing is proved." if unsure else ""
    if audit.violations:
        first = audit.violations[0]
        n = len(audit.violations)
        return f"{counted(n, 'violation')}; the first one, at {first.place}: {first.text}.{places}", "bad"
    return f"Every rule was kept in {counted(audit.counts.lines, 'line', ',')}.{places}", "warn" if unsure else ""


def _facts(audit: Audit) -> str:
    counts = audit.counts
    found = [
        ("violations", len(audit.violations)),
        ("gaps", len(audit.gaps)),
        ("rejected lines", len(audit.rejected_rows)),
        ("lines", counts.lines),
        ("commits", counts.commits),
        ("terms", counts.terms),
        ("partitions", counts.partitions),
        ("files", counts.files),
    ]
    return facts([(what, f"{n:,}") for what, n in found])


def _timeline(audit: Audit) -> str:
    bands = [
        Band(first, last, str(epoch), f"controller epoch {epoch}: {_moment(first)} to {_moment(last)}")
        for epoch, first, last in audit.counts.spans
    ]
    marks = (
        {"violations": [Mark(v.ts_ms, f"{v.place}: {v.text}") for v in audit.violations]} if audit.violations else {}
    )
    caption = "Each band is the term of one controller, named by its epoch. Times are UTC."
    return plot("Terms", timeline(bands, marks, "terms of controllers over time"), caption)


def _kinds(audit: Audit) -> str:
    found = Counter(v.kind for v in audit.violations)
    ordered = dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
    return plot(
        "Violations by kind", bars({k: float(n) for k, n in ordered.items()}, "violations by kind", "var(--bad)"), ""
    )


def _rules(audit: Audit) -> str:
    found = Counter(v.kind for v in audit.violations)
    rows = [(kind, KINDS[kind], n) for kind, n in sorted(found.items(), key=lambda one: (-one[1], one[0]))]
    return table("Broken rules", ("kind", "rule", "violations"), rows)


def _violations(audit: Audit) -> str:
    return table("Violations", VIOLATION_COLUMNS, [v.cells for v in audit.violations], "None.")


def _place(file: str, line: int) -> str:
    name = PurePath(file).name
    return f"{name}:{line}" if line else name


def _gaps(audit: Audit) -> str:
    rows = [(g.kind, _place(g.file, g.line), g.text, GAPS[g.kind]) for g in audit.gaps]
    return table("Gaps", ("kind", "where", "what", "what that means"), rows, "None: no lines are missing.")


def _rejected(audit: Audit) -> str:
    rows = [(_place(q.source, q.line), q.reason, q.raw[:200]) for q in audit.rejected_rows]
    return table("Rejected lines", ("where", "reason", "text"), rows)


# --- moves


def _progress(progress: Progress) -> list[str]:
    ended = [m for m in progress.moves if m.ended is not None]
    series = _by_broker(progress.series, "reassigning_partitions", progress)
    moved = _by_broker(progress.series, "bytes_in", progress)
    found = [
        (c.predicted_ms / 1000, c.real_ms / 1000, f"{c.topic}-{c.partition}: {c.predicted_ms} ms, real {c.real_ms} ms")
        for c in progress.calibration
    ]
    seconds = f"{progress.step_ms / 1000:g} s"
    return [
        plot(
            "Partitions being reassigned",
            lines(series, "partitions being reassigned, by broker"),
            f"By the broker that leads them, in steps of {seconds} (KIP-352).",
        ),
        plot("Bytes copied", lines(moved, "bytes copied, by broker"), f"Into each broker, per step of {seconds}."),
        plot(
            "Predicted and real time of moves",
            points(found, "predicted and real seconds of moves", ("predicted, s", "real, s")),
            "Each point is a completed move; on the dashed line the prediction was right.",
        ),
        *_waves(progress.waves),
        table(
            "Moves by their end",
            ("ended", "moves", "median ms", "longest ms"),
            [(ended_as, *figures) for ended_as, figures in _endings(ended)],
        ),
        table(
            "Running moves",
            ("partition", "target", "waiting on", "joined", "of", "since"),
            [
                (f"{m.topic}-{m.partition}", m.target, m.waiting_on, m.joined, len(m.adding), _moment(m.started_ms))
                for m in progress.moves
                if m.ended is None
            ],
        ),
        table(
            "Stuck",
            ("partition", "waiting on", "ms without progress", "causes"),
            [(f"{s.topic}-{s.partition}", s.waiting_on, s.still_ms, s.causes) for s in progress.stuck],
        ),
    ]


def _waves(waves: Sequence[WaveTime]) -> list[str]:
    """Expected and real times of the waves of the named plans; empty if there are none."""
    if not waves:
        return []
    over = [
        (w.eta_s, w.real_s, f"{w.plan}, wave {w.wave}: {duration(w.eta_s)} expected, took {duration(w.real_s)}")
        for w in waves
        if w.eta_s is not None and w.real_s is not None
    ]
    rows = [
        (
            w.plan,
            w.wave,
            f"{w.completed} of {w.moves}",
            known_amount(w.bytes),
            *map(_time, _times(w)),
            w.ratio,
            w.verdict,
        )
        for w in waves
    ]
    columns = ("plan", "wave", "moves", "bytes", "expected", "at least", "at most", "took", "real/expected", "verdict")
    return [
        plot(
            "Expected and real time of waves",
            points(over, "expected and real seconds of waves", ("expected, s", "real, s")),
            "Each point is a finished wave; above the dashed line it took longer than expected.",
        ),
        table("Waves", columns, [tuple("" if cell is None else cell for cell in row) for row in rows]),
    ]


def _times(wave: WaveTime) -> tuple[float | None, ...]:
    return wave.eta_s, wave.eta_low_s, wave.eta_high_s, wave.real_s


def _time(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _endings(ended: Sequence[Move]) -> list[tuple[str, tuple[int, int, int]]]:
    times: dict[str, list[int]] = {}
    for move in ended:
        times.setdefault(move.ended or "", []).append((move.ended_ms or move.started_ms) - move.started_ms)
    return [(name, (len(ms), sorted(ms)[len(ms) // 2], max(ms))) for name, ms in sorted(times.items())]


def _by_broker(series: Sequence[Reassigning], field: str, progress: Progress) -> dict[str, list[tuple[int, float]]]:
    """A line per broker: 0 where it has no row. The brokers with the largest sums have their own, the rest is
    `others`."""
    sums: Counter[int] = Counter()
    for one in series:
        sums[one.broker_id] += getattr(one, field)
    own = sorted(broker for broker, n in sums.most_common(BROKERS_MAX) if n)
    if not own:
        return {}
    steps = range(min(s.ts_ms for s in series), max(s.ts_ms for s in series) + 2 * progress.step_ms, progress.step_ms)
    found: dict[str, dict[int, float]] = {f"broker {b}": dict.fromkeys(steps, 0.0) for b in own}
    if any(n for broker, n in sums.items() if broker not in own):
        found["others"] = dict.fromkeys(steps, 0.0)
    for one in series:
        name = f"broker {one.broker_id}" if one.broker_id in own else "others"
        if name in found:
            found[name][one.ts_ms] += getattr(one, field)
    return {name: list(values.items()) for name, values in found.items()}


def _moment(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"
