"""Rows about reassignments: of the tables PROGRESS, STUCK, BROKER_REASSIGNMENT and ETA_CALIBRATION."""

from __future__ import annotations

from typing import NamedTuple

from ...controller.model.copying import Copy
from ..audit.values import RejectedRow


class Move(NamedTuple):
    """A row of PROGRESS. `joined`: how many of `adding` are in sync; `waiting_on`: the targets that are not in sync.
    `ended` None: it runs. `last_ms`: the time of its last progress."""

    topic: str
    partition: int
    controller_epoch: int
    started_ms: int
    last_ms: int
    ended_ms: int | None
    ended: str | None
    origin: tuple[int, ...] | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    target: tuple[int, ...]
    leader: int
    adding: tuple[int, ...] = ()
    waiting_on: tuple[int, ...] = ()
    joined: int = 0
    isr_losses: int = 0
    bytes_copied: int | None = None
    bytes_total: int | None = None
    eta_ms: int | None = None
    eta_low_ms: int | None = None
    eta_high_ms: int | None = None

    @property
    def copy(self) -> Copy:
        """How far it is; a journal has no rates."""
        return Copy(self.bytes_copied, self.bytes_total)


class Told(NamedTuple):
    """A reassignment, and the leaders of its partition with the times from which they led."""

    move: Move
    leads: tuple[tuple[int, int], ...]


class World(NamedTuple):
    """Everything else at the end of the journal. `left`: brokers that have left; `rates_bps`: broker -> the rate of its
    throttle, bytes/s; `is_led`: whether a controller's term runs."""

    left: tuple[int, ...]
    rates_bps: tuple[tuple[int, float], ...]
    is_led: bool
    last_ts_ms: int


class Stuck(NamedTuple):
    """A row of STUCK. `still_ms`: the time without progress."""

    topic: str
    partition: int
    since_ms: int
    still_ms: int
    waiting_on: tuple[int, ...]
    causes: tuple[str, ...]


class Reassigning(NamedTuple):
    """A row of BROKER_REASSIGNMENT: in the time from `ts_ms` on, for the length of the series' step."""

    ts_ms: int
    broker_id: int
    reassigning_partitions: int
    bytes_in: int
    bytes_out: int


class Calibration(NamedTuple):
    """A row of ETA_CALIBRATION: `ratio` is real over predicted. `basis`: bytes or duration."""

    topic: str
    partition: int
    started_ms: int
    basis: str
    predicted_ms: int
    real_ms: int
    ratio: float


class WaveTime(NamedTuple):
    """A row of WAVE_CALIBRATION: a wave of an exported plan. `moves`: those that copy; `completed`: how many of them
    have ended, by the journal; `ratio`: real over expected; `verdict`: where the real time lies, or why there is
    none."""

    plan: str
    wave: int
    moves: int
    completed: int
    bytes: int | None
    started_ms: int | None
    ended_ms: int | None
    eta_s: float | None
    eta_low_s: float | None
    eta_high_s: float | None
    real_s: float | None
    ratio: float | None
    verdict: str


class Progress(NamedTuple):
    """The whole result. `as_of_ms`: its moment; `step_ms`: of the series; `waves`: of the plans that were named."""

    as_of_ms: int
    moves: tuple[Move, ...]
    stuck: tuple[Stuck, ...]
    series: tuple[Reassigning, ...]
    step_ms: int
    calibration: tuple[Calibration, ...]
    rejected_rows: tuple[RejectedRow, ...]
    waves: tuple[WaveTime, ...] = ()
