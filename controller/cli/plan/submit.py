"""`kedge plan submit`: an exported plan is handed over wave after wave, and followed until its last move is complete.

* By the brokers of a gateway or of a Kafka cluster (`--bootstrap-server`), with throttles; or by the store that the
  controller stands on: by its legacy key, without throttles, or with `--admin` by the admin API that a module of the
  host's gives, with them.
* No controller is embedded here: one without a host would win the election, and tell no broker.
* Exit code: 0 done; 1 done but for what is told, or not everything moved (asking again goes on with it); 2 the plan or
  the cluster cannot be used as they are, and nothing was handed over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import attrs
import click

from controller.cli.kafka import Endpoint, Failed, connected, endpoint_options
from controller.cli.plan.running import say_json
from controller.cli.printing import clean, fail, of_system, one_line, without_place
from controller.cli.printing import say as complain
from controller.cli.store.opening import ToldTitle, opened, titled_bar
from pipeline.amounts import amount, duration
from pipeline.cautions import size_words
from pipeline.errors import BadInput, PipelineError, Refused, Stopped
from pipeline.submit import Event, Options, Outcome, Reach, cancel, roll_back
from pipeline.submit import submit as hand_over
from pipeline.submit.exported import read_export
from stores import StoreError, public_url

_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([smhd]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_IN_MEMORY: Final = (
    "a memory store is its process's own: its file is read when that starts and written by it alone, and what is put "
    "there meanwhile is seen by nobody; call pipeline.submit.submit in that process"
)


class Duration(click.ParamType[float]):
    """Seconds: 90, 90s, 15m, 2h, 1d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _DURATION.fullmatch(str(value))
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r:.80} is no duration, as 90s, 15m or 2h are", param, ctx)
        return float(found[1]) * _SECONDS[found[2]]


@attrs.define
class _Teller:
    """What is printed while it goes on; `told` draws the bar."""

    as_json: bool
    told: ToldTitle = lambda title, done, total: None  # noqa: ARG005 - nobody looks
    is_dry: bool = False
    has_sent: bool = False
    running: int = 0
    said: str = ""

    def __call__(self, event: Event) -> None:
        if event.kind == "sent" and not self.is_dry:
            self.has_sent, self.running = True, event.wave
        elif event.kind == "following":
            self.running = event.wave
            done, whole = (event.bytes_done, event.bytes) if event.bytes else (event.moves_done, event.moves)
            self.told(_title(event), 100 * done // max(1, whole), 100)
        elif event.kind == "waiting" and event.text != self.said:
            self.said = event.text
            complain(f"waits: {event.text}")
        elif event.kind == "told":
            complain(event.text)
        elif event.kind in ("wave", "sent"):
            self._say_wave(event)

    def _say_wave(self, event: Event) -> None:
        if event.kind == "wave":
            self.running = 0
        state = "done" if event.kind == "wave" else "to be handed over"
        if self.as_json:
            at = {"wave": event.wave, "waves": event.waves, "state": state}
            say_json({**at, "partitions": event.moves, "bytes": event.bytes, "seconds": round(event.seconds, 3)})
        else:
            took = f", {duration(event.seconds)}" if event.kind == "wave" else ""
            what = f"{event.moves} partitions, {size_words(event.bytes)}{took}: {state}"
            click.echo(f"wave {event.wave} of {event.waves}  {what}")


def _title(event: Event) -> str:
    left = "" if event.eta_s is None else f", {duration(event.eta_s)} left"
    sizes = f", {amount(event.bytes_done)} of {amount(event.bytes)}" if event.bytes else ""
    return f"wave {event.wave} of {event.waves}: {event.moves_done} of {event.moves} moves{sizes}{left}"


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(file_okay=False))
@endpoint_options
@click.option("--store", "url", metavar="URL", help="By the controller's store instead: zookeeper:// or etcd://.")
@click.option(
    "--admin",
    metavar="MODULE:NAME",
    help="With --store: a function that gives the admin API of the active controller.",
)
@click.option("--no-throttle", is_flag=True, help="Hand it over without the rates that it has.")
@click.option("--from-wave", type=click.IntRange(1), help="The first wave.")
@click.option("--to-wave", type=click.IntRange(1), help="The last wave.")
@click.option("--timeout", type=Duration(), help="Of each wave: 90s, 15m, 2h. Default: as long as it takes.")
@click.option("--poll", type=Duration(), default="1s", show_default=True, help="How often to look.")
@click.option("--rollback", is_flag=True, help="Undo the waves that were begun, the last one first.")
@click.option("--cancel", "cancels", is_flag=True, help="Cancel what runs of it; with --store it needs --admin.")
@click.option("--dry-run", is_flag=True, help="Check, say what would be handed over, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object per wave, and one at the end.")
@click.option("--plain", is_flag=True, help="No progress bar; so it is, too, where stderr is no terminal.")
def submit(folder: str, *, as_json: bool, plain: bool, **asked: Any) -> None:
    """Hand an exported plan over wave after wave, and follow it until its last move is complete.

    FOLDER is what kedge plan export wrote. --bootstrap-server names brokers of Kedge's gateway or of any Kafka cluster
    since 2.4. After an interruption the same command continues; its progress is in FOLDER.progress.json.
    """
    _check_place(asked)
    if sum((asked["rollback"], asked["cancels"], asked["dry_run"] and asked["cancels"])) > 1:
        raise click.UsageError("give one of --rollback and --cancel; --cancel has no --dry-run")
    if (asked["rollback"] or asked["cancels"]) and (asked["from_wave"] or asked["to_wave"]):
        raise click.UsageError("--rollback and --cancel are of every wave that was begun: no --from-wave, no --to-wave")
    try:
        read_export(Path(folder))
        options = _options(asked, teller := _Teller(as_json, is_dry=asked["dry_run"]))
    except PipelineError as error:
        fail(one_line(error))
    with (
        _reached(asked) as to,
        _ending(teller, asked["url"]),
        titled_bar("looking", shown=not plain) as teller.told,
    ):
        outcome = _does(Path(folder), asked)(to, options)
    by = "the admin API" if asked["admin"] else "the legacy key" if asked["url"] else "the brokers"
    throttles = by != "the legacy key" and not asked["no_throttle"]
    _say_end(outcome, by, as_json=as_json, throttles=throttles)
    sys.exit(1 if outcome.told and (outcome.sent or outcome.end == "cancelled") else 0)


def _check_place(asked: dict[str, Any]) -> None:
    """One place, and the options of that place."""
    url, servers = asked["url"], asked["bootstrap_server"]
    if (url is None) == (servers is None):
        raise click.UsageError("give one of --bootstrap-server and --store")
    if servers is None and asked["command_config"] is not None:
        raise click.UsageError("--command-config is of the connection to a --bootstrap-server, which is not given")
    if url is None and asked["admin"] is not None:
        raise click.UsageError("--admin is of the controller of a --store, which is not given")
    if url is not None and url.startswith("memory:"):
        fail(f"{url}: {_IN_MEMORY}")


@contextmanager
def _reached(asked: dict[str, Any]) -> Iterator[Reach]:
    """A connection to what was asked for, for as long as the block runs. Exits with 2 where there is none."""
    if asked["url"] is not None:
        with opened(asked["url"], read_only=asked["dry_run"]) as store:
            yield store
        return
    try:
        with connected(Endpoint(asked["bootstrap_server"], asked["command_config"])) as cluster:
            from controller.cli.plan.by_brokers import by_brokers  # noqa: PLC0415 - kafka-python is there

            yield by_brokers(cluster)
    except Failed as error:
        fail(one_line(error))


def _does(folder: Path, asked: dict[str, Any]) -> Callable[[Reach, Options], Outcome]:
    if asked["cancels"]:
        return lambda to, options: cancel(folder, to, options)
    if asked["rollback"]:
        return lambda to, options: roll_back(folder, to, options, dry_run=asked["dry_run"])
    range_ = {"first": asked["from_wave"], "last": asked["to_wave"]}
    return lambda to, options: hand_over(folder, to, options, **range_, dry_run=asked["dry_run"])


def _options(asked: dict[str, Any], teller: _Teller) -> Options:
    return Options(
        admin=None if asked["admin"] is None else _admin(asked["admin"]),
        throttles=not asked["no_throttle"],
        timeout_s=asked["timeout"],
        poll_s=asked["poll"],
        tell=teller,
    )


def _admin(named: str) -> Callable[[], Any]:
    """The function that MODULE:NAME names. BadInput where there is none."""
    module, colon, name = named.partition(":")
    try:
        found = getattr(import_module(module), name) if module and colon else None
    except Exception as error:  # noqa: BLE001 - the module is the host's, and may raise anything when it is imported
        raise BadInput(f"--admin {named!r:.120}: {one_line(error)}") from None
    if not callable(found):
        raise BadInput(f"--admin {named!r:.120}: expected MODULE:NAME of a function that gives an admin API")
    given: Callable[[], Any] = found
    return given


@contextmanager
def _ending(teller: _Teller, url: str | None) -> Iterator[None]:
    """What ends it before its end is one line on stderr, and with --json an object."""
    try:
        yield
    except Refused as error:
        _end(teller, "refused", one_line(error), 1 if teller.has_sent else 2)
    except Stopped as error:
        _end(teller, "stopped", f"{one_line(error)}; the same command goes on with it", 1)
    except StoreError as error:
        _end(teller, "stopped", f"{public_url(url or '')}: {without_place(error)}", 1 if teller.has_sent else 2)
    except PipelineError as error:
        fail(one_line(error))
    except OSError as error:
        _end(teller, "stopped", of_system(error), 1 if teller.has_sent else 2)
    except KeyboardInterrupt:
        running = f"wave {teller.running} runs on in the cluster" if teller.running else "no wave runs"
        _end(teller, "interrupted", f"interrupted; {running}; the same command goes on, --rollback undoes", 1)


def _end(teller: _Teller, end: str, problem: str, code: int) -> None:
    if teller.as_json:
        say_json({"end": end, "problem": problem})
    complain(problem)
    sys.exit(code)


def _say_end(outcome: Outcome, by: str, *, as_json: bool, throttles: bool) -> None:
    if as_json:
        say_json({**attrs.asdict(outcome), "by": by, "throttles": throttles})
        return
    without = "" if throttles else ", without throttles"
    counted = {"done": "handed over", "cancelled": "cancelled", "dry run": "would be handed over"}[outcome.end]
    told = "".join(f"; {text}" for text in outcome.told)
    click.echo(
        clean(f"{outcome.end}: {len(outcome.waves)} waves, {outcome.sent} moves {counted} by {by}{without}{told}")
    )
