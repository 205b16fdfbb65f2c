"""Conclusions from reassignments: which are stuck and why, the remaining time and its accuracy, the load of brokers.

* A reassignment is stuck if it runs and made no progress (a target in sync, R grown) for `stuck_ms`. Every cause that
  the journal and the samples show is named; without one the cause is `unknown`.
* A prediction uses only reassignments that had ended when this one began: by bytes if sizes are known, else by
  duration, the median of the last `LEARNED_MAX`. The interval is that of the ratios real to predicted, percentiles 10
  to 90.
* The series is KIP-352's: partitions that are being reassigned, counted at their leader. Bytes are spread evenly over
  the time of a reassignment, since the journal has only their sum.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from ...controller.model.copying import Copy
from .samples import Samples
from .values import Calibration, Move, Progress, Reassigning, Stuck, Told, World

STUCK_MS: Final = 600_000
LEARNED_MAX: Final = 50
LEARNED_MIN: Final = 3
FLAPPING_LOSSES: Final = 3
DISK_FULL: Final = 0.95
STEPS_MAX: Final = 120

COMPLETED: Final = "completed"

Slot: TypeAlias = tuple[int, int]
"""The number of a step, and a broker."""


def conclude(
    told: Iterable[Told], world: World, samples: Samples, *, as_of_ms: int | None = None, stuck_ms: int = STUCK_MS
) -> Progress:
    """The whole result, as of a moment (None: the journal's last row)."""
    at_ms = world.last_ts_ms if as_of_ms is None else as_of_ms
    ordered = sorted(told, key=lambda one: (one.move.started_ms, one.move.topic, one.move.partition, one.move.last_ms))
    sized = [Told(_sized(one.move, samples), one.leads) for one in ordered]
    calibration, moves = calibrate([one.move for one in sized])
    step_ms, series = series_of(sized, at_ms)
    stuck = tuple(one for move in moves if (one := stuck_of(move, world, samples, at_ms, stuck_ms)) is not None)
    return Progress(at_ms, tuple(moves), stuck, series, step_ms, calibration, samples.rejected_rows)


def _sized(move: Move, samples: Samples) -> Move:
    """Add bytes from the sizes of replicas: the total to copy, and, while it runs, what the targets already have."""
    key = move.topic, move.partition
    sizes = samples.size_bytes.get(key)
    if sizes is None:
        size = samples.any_bytes.get(key)
        return move if size is None else move._replace(bytes_total=size * len(move.adding))
    whole = sizes.get(move.leader, max((sizes.get(b, 0) for b in move.replicas), default=0))
    total = whole * len(move.adding)
    copied = move.bytes_copied
    if copied is None and move.ended is None:
        copied = sum(min(whole, sizes.get(b, 0)) for b in move.adding)
    return move._replace(bytes_total=total, bytes_copied=copied)


# --- what is stuck


def stuck_of(move: Move, world: World, samples: Samples, at_ms: int, stuck_ms: int) -> Stuck | None:
    """None for a reassignment that ended, or made progress recently."""
    still_ms = at_ms - move.last_ms
    if move.ended is not None or still_ms < stuck_ms:
        return None
    causes = tuple(causes_of(move, world, samples)) or ("unknown",)
    return Stuck(move.topic, move.partition, move.last_ms, still_ms, move.waiting_on, causes)


def causes_of(move: Move, world: World, samples: Samples) -> Iterable[str]:
    left = set(world.left)
    if not world.is_led:
        yield "no controller"
    if left & set(move.waiting_on):
        yield "target down"
    if move.leader < 0 or move.leader in left:
        yield "source down"
    rate = samples.write_bps.get((move.topic, move.partition))
    rates = dict(world.rates_bps)
    bounds = [rates[b] for b in (*move.waiting_on, move.leader) if b in rates]
    if rate is not None and bounds and min(bounds) <= rate:
        yield "throttle below ingest"
    if any(_is_full(b, samples) for b in move.waiting_on):
        yield "disk full"
    if move.isr_losses >= FLAPPING_LOSSES:
        yield "isr flapping"


def _is_full(broker: int, samples: Samples) -> bool:
    size = samples.disk_bytes.get(broker)
    return size is not None and samples.used_bytes.get(broker, 0) >= DISK_FULL * size


# --- how long it takes


def calibrate(moves: Sequence[Move]) -> tuple[tuple[Calibration, ...], list[Move]]:
    """The accuracy of predictions, and the reassignments, running ones with a prediction. `moves` are ordered by their
    start."""
    ended = sorted((m for m in moves if m.ended == COMPLETED and m.ended_ms is not None), key=lambda m: m.ended_ms or 0)
    times = [m.ended_ms or 0 for m in ended]
    calibration = []
    for move in moves:
        if move.ended == COMPLETED and move.ended_ms is not None:
            known = bisect_right(times, move.started_ms)
            predicted = predict(move, ended[max(0, known - LEARNED_MAX) : known])
            if predicted is not None:
                real = move.ended_ms - move.started_ms
                basis, ms = predicted
                ratio = round(real / max(1, ms), 6)
                one = Calibration(move.topic, move.partition, move.started_ms, basis, ms, real, ratio)
                calibration.append(one)
    ratios = sorted(one.ratio for one in calibration)
    return tuple(calibration), [_with_eta(move, ended, ratios) for move in moves]


def predict(move: Move, learned: Sequence[Move]) -> tuple[str, int] | None:
    """Basis and milliseconds, from the last reassignments that had ended; None if there are too few."""
    if len(learned) < LEARNED_MIN:
        return None
    rates = sorted(1000 * _bytes_of(m) / max(1, _ms_of(m)) for m in learned if _bytes_of(m))
    todo = move.bytes_total if move.bytes_total is not None else move.bytes_copied
    if len(rates) >= LEARNED_MIN and todo:
        remaining_s = Copy(0, todo, rates[len(rates) // 2]).remaining_s
        return "bytes", round(1000 * (remaining_s or 0.0))
    durations = sorted(_ms_of(m) for m in learned)
    return "duration", durations[len(durations) // 2]


def _bytes_of(move: Move) -> int:
    return move.bytes_copied or 0


def _ms_of(move: Move) -> int:
    return (move.ended_ms or move.started_ms) - move.started_ms


def _with_eta(move: Move, ended: Sequence[Move], ratios: Sequence[float]) -> Move:
    predicted = predict(move, ended[-LEARNED_MAX:]) if move.ended is None else None
    if predicted is None:
        return move
    ms = predicted[1]
    low, high = None, None
    if len(ratios) >= LEARNED_MIN:
        low, high = (move.started_ms + round(ms * ratios[int(share * (len(ratios) - 1))]) for share in (0.1, 0.9))
    return move._replace(eta_ms=move.started_ms + ms, eta_low_ms=low, eta_high_ms=high)


# --- load of each broker


def series_of(told: Sequence[Told], at_ms: int) -> tuple[int, tuple[Reassigning, ...]]:
    """The length of a step, and per step and broker what was reassigned."""
    if not told:
        return 1000, ()
    first = min(one.move.started_ms for one in told)
    step = _step(max(at_ms, *(one.move.ended_ms or 0 for one in told)) - first)
    begin = first - first % step
    counts: dict[Slot, int] = {}
    bytes_in: dict[Slot, int] = {}
    bytes_out: dict[Slot, int] = {}
    steps = _Steps(begin, step, at_ms)
    for one in told:
        _count(one, steps, counts)
        _spread(one, steps, bytes_in, bytes_out)
    keys = sorted(counts.keys() | bytes_in.keys() | bytes_out.keys())
    return step, tuple(
        Reassigning(begin + n * step, b, counts.get((n, b), 0), bytes_in.get((n, b), 0), bytes_out.get((n, b), 0))
        for n, b in keys
    )


class _Steps(NamedTuple):
    begin: int
    step: int
    at_ms: int

    def of(self, ms: int) -> int:
        """The number of the step that contains a moment."""
        return max(0, ms - self.begin) // self.step

    def end(self, move: Move) -> int:
        """The end of the reassignment, or the present end if it runs."""
        return max(move.started_ms, self.at_ms if move.ended_ms is None else move.ended_ms)


def _step(span_ms: int) -> int:
    step = 1000
    while span_ms // step >= STEPS_MAX:
        step *= 2
    return step


def _count(one: Told, steps: _Steps, counts: dict[Slot, int]) -> None:
    """A partition counts once per step and leader."""
    end = steps.end(one.move)
    seen = set()
    for i, (since, leader) in enumerate(one.leads):
        until = one.leads[i + 1][0] if i + 1 < len(one.leads) else end
        if leader >= 0:
            seen |= {(n, leader) for n in range(steps.of(since), steps.of(max(since, until)) + 1)}
    for slot in seen:
        counts[slot] = counts.get(slot, 0) + 1


def _spread(one: Told, steps: _Steps, bytes_in: dict[Slot, int], bytes_out: dict[Slot, int]) -> None:
    move = one.move
    if not move.bytes_copied or not move.adding:
        return
    end, total = steps.end(move), move.bytes_copied
    span = max(1, end - move.started_ms)
    last, done = steps.of(end), 0
    for n in range(steps.of(move.started_ms), last + 1):
        begins = steps.begin + n * steps.step
        until = total if n == last else total * (begins + steps.step - move.started_ms) // span
        _add(bytes_out, (n, _leader_at(one, begins)), until - done)
        for i, broker in enumerate(move.adding):
            share = (until - done) * (i + 1) // len(move.adding) - (until - done) * i // len(move.adding)
            _add(bytes_in, (n, broker), share)
        done = until


def _leader_at(one: Told, ms: int) -> int:
    at = bisect_right([since for since, _ in one.leads], ms) - 1
    return one.leads[max(0, at)][1]


def _add(sums: dict[Slot, int], key: tuple[int, int], value: int) -> None:
    if value and key[1] >= 0:
        sums[key] = sums.get(key, 0) + value
