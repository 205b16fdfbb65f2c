"""How the demo is shown: with live lines on a terminal, as plain lines anywhere else.

On a terminal the story is slowed down, so that a person can read what happens. A pipe gets it as fast as it runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Self

import attrs
import click
from rich.console import Console, Group
from rich.live import Live as LiveLines
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

SPEED: Final = 3.0  # seconds of the cluster in a second of the reader
BAR_WIDTH: Final = 24
REPLICAS_MAX: Final = 8  # a whole bar
PLAIN_STEPS: Final = 10  # lines of progress


@attrs.frozen
class BrokerLine:
    """`bytes_s`: what the broker copies for replicas that join."""

    broker: int
    rack: str
    replicas: int
    leaders: int
    bytes_s: float


@attrs.frozen
class Frame:
    """The cluster at one moment. `copied`: the share of the bytes to copy. `active`: the controller that leads."""

    brokers: Sequence[BrokerLine]
    leaving: int
    copied: float
    done: int
    moves: int
    active: int | None

    @property
    def progress(self) -> str:
        return f"{self.copied:.0%} copied, {self.done} of {self.moves} moves done"

    @property
    def controller(self) -> str:
        return "no controller leads" if self.active is None else f"controller {self.active} leads"


def megabytes(bytes_s: float) -> str:
    return f"{bytes_s / 1_000_000:.1f} MB/s"


def _timed(at_ms: int, text: str) -> str:
    return f"{at_ms / 1000:6.1f} s  {text}"


class Plain:
    """Lines of text: no colours, nothing that moves. Progress is a line for each tenth. Times are milliseconds of the
    cluster."""

    def __init__(self) -> None:
        self._steps = 0
        self._first: Frame | None = None
        self._last: Frame | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def begin(self, text: str) -> None:
        click.echo(f"{text}\n")

    def event(self, at_ms: int, text: str) -> None:
        click.echo(_timed(at_ms, text))

    def show(self, at_ms: int, frame: Frame) -> None:
        self._first, self._last = self._first or frame, frame
        step = int(frame.copied * PLAIN_STEPS)
        if step > self._steps:
            self._steps = step
            click.echo(_timed(at_ms, f"  {frame.progress}"))

    def end(self, text: str) -> None:
        assert self._first is not None
        assert self._last is not None
        click.echo("\nbroker  rack  replicas before  after  leaders before  after")
        for was, now in zip(self._first.brokers, self._last.brokers, strict=True):
            click.echo(
                f"{was.broker:<6}  {was.rack:<4}  {was.replicas:<15}  {now.replicas:<5}"
                f"  {was.leaders:<14}  {now.leaders}"
            )
        click.echo(f"\n{text}")


class Live(Plain):
    """Events scroll by above lines that follow the cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(highlight=False)
        self._lines = LiveLines(console=self._console, auto_refresh=False)
        self._shown: tuple[int, float] | None = None

    def __enter__(self) -> Self:
        self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.stop()

    def begin(self, text: str) -> None:
        self._console.print(Text(f"{text}\n"))

    def event(self, at_ms: int, text: str) -> None:
        self._console.print(Text(_timed(at_ms, text), style="yellow"))

    def show(self, at_ms: int, frame: Frame) -> None:
        self._wait_for(at_ms)
        self._lines.update(_drawn(frame), refresh=True)

    def end(self, text: str) -> None:
        self._lines.stop()
        self._console.print(Text(f"\n{text}"))

    def _wait_for(self, at_ms: int) -> None:
        if self._shown is not None:
            shown_ms, since_s = self._shown
            time.sleep(max(0.0, since_s + (at_ms - shown_ms) / 1000 / SPEED - time.monotonic()))
        self._shown = at_ms, time.monotonic()


def _drawn(frame: Frame) -> Group:
    table = Table("broker", "rack", "", "replicas", "leaders", "copies", box=None, header_style="dim", pad_edge=False)
    for line in frame.brokers:
        colour = "red" if line.broker == frame.leaving else "cyan"
        bar = ProgressBar(REPLICAS_MAX, line.replicas, BAR_WIDTH, complete_style=colour, finished_style=colour)
        rate = megabytes(line.bytes_s) if line.bytes_s else "-"
        table.add_row(str(line.broker), line.rack, bar, str(line.replicas), str(line.leaders), rate)
    whole = ProgressBar(1.0, frame.copied, BAR_WIDTH, complete_style="green", finished_style="green")
    below = Table.grid(padding=(0, 2))
    style = "bold red" if frame.active is None else "green"
    below.add_row(whole, frame.progress, Text(frame.controller, style=style))
    return Group(Text(), table, Text(), below)
