"""`kedge plan submit`: submits an exported plan to brokers of Kedge or Kafka, wave by wave, and follows each wave until
its last move is complete."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import click

from ....pipeline.amounts import amount, duration
from ....pipeline.cautions import size_words
from ....pipeline.errors import PipelineError, Stopped
from ....pipeline.submit import Brokers, Event, Options, Outcome, Reach, cancel, roll_back, set_throttle
from ....pipeline.submit import submit as hand_over
from ....pipeline.submit.exported import read_export
from ....pipeline.submit.route import Time
from ....pipeline.windows import window
from ...model.plural import counted
from ..copying import described
from ..extras import need
from ..kafka.options import endpoint_options
from ..options import Amount, Duration, command, group, json_option, option, plain_option, quiet_option
from ..printing import clean, confirm, fail, note, of_system, one_line
from ..printing import say as complain
from ..signals import Interrupts, interrupts
from ..store.opening import ToldTitle, titled_bar
from .options import dry_run_option
from .running import say_json

_THROTTLE: Final = "Bytes per second of each broker, also while a wave is running."
_GOES_ON: Final = "what runs continues in the cluster; the same command continues, --rollback undoes"


@attrs.define
class _Teller:
    """What is printed meanwhile; `told` draws the bar."""

    as_json: bool
    told: ToldTitle = lambda title, done, total: None  # noqa: ARG005 - no bar is drawn
    is_dry: bool = False
    has_sent: bool = False
    said: str = ""

    def __call__(self, event: Event) -> None:
        if event.kind == "sent" and not self.is_dry:
            self.has_sent = True
        elif event.kind == "following":
            copied, to_copy = event.copy.copied, event.copy.to_copy
            done, whole = (copied or 0, to_copy) if to_copy else (event.moves_done, event.moves)
            self.told(_title(event), 100 * done // max(1, whole), 100)
        elif event.kind == "waiting" and event.text != self.said:
            self.said = event.text
            note(f"waiting: {event.text}")
        elif event.kind == "note":
            complain(event.text)
        elif event.kind in ("wave", "sent"):
            self._say_wave(event)

    def _say_wave(self, event: Event) -> None:
        state = "done" if event.kind == "wave" else "to be submitted"
        if self.as_json:
            at = {"wave": event.wave, "waves": event.waves, "state": state}
            say_json({**at, "partitions": event.moves, "bytes": event.bytes, "seconds": round(event.seconds, 3)})
        else:
            took = f", {duration(event.seconds)}" if event.kind == "wave" else ""
            what = f"{counted(event.moves, 'partition')}, {size_words(event.bytes)}{took}: {state}"
            confirm(f"wave {event.wave} of {event.waves}  {what}")


class _Time(Time):
    """Ctrl-C ends a pause, or takes effect before the next request: inside of one it might be lost."""

    def __init__(self, interrupted: Interrupts) -> None:
        self._interrupted = interrupted

    def pause(self, seconds: float) -> None:
        self._interrupted.pause(seconds)

    def checkpoint(self) -> None:
        self._interrupted.check()


def _title(event: Event) -> str:
    at = f"wave {event.wave} of {event.waves}: {event.moves_done} of {counted(event.moves, 'move')}"
    how_far = described(event.copy, event.remaining_s) if event.copy.to_copy else ""
    slowest = f"slowest {event.slowest}" if event.slowest else ""
    return ", ".join(part for part in (at, how_far, slowest) if part)


@command("submit", example="kedge plan submit plan --bootstrap-server broker1:9092 --dry-run")
@click.argument("folder", metavar="FOLDER", type=click.Path(file_okay=False))
@option("--rollback", is_flag=True, help="Undo the waves that were started, the last one first.")
@option("--cancel", "cancels", is_flag=True, help="Cancel what runs, and keep what is complete.")
@group(
    "Waves",
    option("--from-wave", type=click.IntRange(1), metavar="N", none="1", help="Number of the first wave."),
    option("--to-wave", type=click.IntRange(1), metavar="N", none="the last", help="Number of the last wave."),
    option(
        "--window",
        "windows",
        multiple=True,
        metavar="WINDOW",
        none="those of FOLDER, or any time",
        help="Window in which waves may start: '22:00-04:00 UTC'; may be repeated.",
    ),
    option("--throttle", type=Amount(), metavar="BYTES", none="the plan's", help=_THROTTLE),
    option("--no-throttle", is_flag=True, help="Submit the waves without their throttles."),
    option("--pause-between-waves", type=Duration(), none="no pause", help="Time between two waves: 90s, 15m or 2h."),
    option("--ignore-under-replicated", is_flag=True, help="Begin waves although others lack replicas in sync."),
    option("--timeout", type=Duration(), none="no limit", help="Time limit of a wave: 90s, 15m or 2h."),
    option("--poll", type=Duration(), default="1s", help="Time between two requests for the state."),
)
@endpoint_options
@dry_run_option
@json_option("Print one JSON object per wave, and one at the end.")
@plain_option
@quiet_option
def submit(folder: str, *, as_json: bool, plain: bool, **given: Any) -> None:
    """Run an exported plan wave by wave on a cluster.

    FOLDER is the output of `kedge plan export`. The cluster is Kedge, or Kafka since 2.4. Waits for each wave to be
    complete before the next one starts. After an interruption the same command continues; its state is in
    FOLDER.progress.json.

    Exit code: 0 done; 1 not all done, or done with warnings; 2 nothing was submitted, because the plan or the cluster
    cannot be used.
    """
    if given["bootstrap_server"] is None:
        raise click.UsageError("Please specify --bootstrap-server")
    if given["throttle"] is not None and (given["no_throttle"] or given["cancels"] or given["dry_run"]):
        raise click.UsageError("--throttle excludes --no-throttle, --cancel and --dry-run")
    if sum((given["rollback"], given["cancels"], given["dry_run"] and given["cancels"])) > 1:
        raise click.UsageError("--rollback and --cancel exclude each other, and so do --cancel and --dry-run")
    if (given["rollback"] or given["cancels"]) and (given["from_wave"] or given["to_wave"]):
        raise click.UsageError(
            "--rollback and --cancel exclude --from-wave and --to-wave: they are for every wave that was started"
        )
    try:
        read_export(Path(folder))
        options = _options(given, teller := _Teller(as_json, is_dry=given["dry_run"]))
        if given["throttle"] is not None:
            _throttle(Path(folder), given["throttle"], as_json=as_json, is_rollback=given["rollback"])
    except PipelineError as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))
    to = reached(given["bootstrap_server"], given["command_config"])
    with (
        _ending(teller),
        interrupts() as interrupted,
        titled_bar("reading the cluster", shown=not plain) as teller.told,
    ):
        outcome = _does(Path(folder), given)(to, attrs.evolve(options, time=_Time(interrupted)))
    _say_end(outcome, as_json=as_json, throttles=not given["no_throttle"])
    sys.exit(1 if outcome.told and (outcome.waves or outcome.end == "cancelled") else 0)


def reached(servers: str, config_file: Path | None) -> Reach:
    need("wire")
    return Brokers(servers, config_file)


def _throttle(folder: Path, rate: int, *, as_json: bool, is_rollback: bool) -> None:
    """The plan has this rate from now on. If another process submits it, that process sets the rate, and this one ends;
    a rollback does not end so, because it is refused while another process submits the plan."""
    if not set_throttle(folder, rate) or is_rollback:
        return
    if as_json:
        say_json({"end": "throttled", "bytes_per_s": rate})
    else:
        confirm(f"throttled to {amount(rate)}/s: the process that submits the plan sets the rate at its next look")
    sys.exit(0)


def _does(folder: Path, given: dict[str, Any]) -> Callable[[Reach, Options], Outcome]:
    if given["cancels"]:
        return lambda to, options: cancel(folder, to, options)
    if given["rollback"]:
        return lambda to, options: roll_back(folder, to, options, dry_run=given["dry_run"])
    range_ = {"first": given["from_wave"], "last": given["to_wave"]}
    return lambda to, options: hand_over(folder, to, options, **range_, dry_run=given["dry_run"])


def _options(given: dict[str, Any], teller: _Teller) -> Options:
    return Options(
        throttles=not given["no_throttle"],
        timeout_s=given["timeout"],
        poll_s=given["poll"],
        pause_between_waves_s=given["pause_between_waves"] or 0.0,
        ignore_under_replicated=given["ignore_under_replicated"],
        tell=teller,
        windows=tuple(map(window, given["windows"])) or None,
    )


@contextmanager
def _ending(teller: _Teller) -> Iterator[None]:
    """What ends it before its end is one line on stderr, and with --json an object."""
    try:
        yield
    except Stopped as error:
        _end(teller, "stopped", f"{one_line(error)}; the same command continues", 1)
    except PipelineError as error:
        _end(teller, "refused", one_line(error), 1 if teller.has_sent else 2)
    except OSError as error:
        _end(teller, "stopped", of_system(error), 1 if teller.has_sent else 2)
    except KeyboardInterrupt:
        _end(teller, "interrupted", f"interrupted; {_GOES_ON}", 1)


def _end(teller: _Teller, end: str, problem: str, code: int) -> None:
    if teller.as_json:
        say_json({"end": end, "problem": problem})
    complain(problem)
    sys.exit(code)


def _say_end(outcome: Outcome, *, as_json: bool, throttles: bool) -> None:
    if as_json:
        say_json({**attrs.asdict(outcome), "throttles": throttles})
        return
    without = "" if throttles else ", without throttles"
    sent = {"done": "submitted", "cancelled": "cancelled", "dry run": "to be submitted"}[outcome.end]
    what = f"{counted(len(outcome.waves), 'wave')}, {counted(outcome.sent, 'move')} {sent}"
    told = "".join(f"; {text}" for text in outcome.told)
    (click.echo if outcome.told or outcome.end == "dry run" else confirm)(
        clean(f"{outcome.end}: {what}{without}{told}")
    )
