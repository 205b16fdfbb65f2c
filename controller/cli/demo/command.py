"""`kedge demo`: the command and its third act, the account of the two before it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from controller.cli.demo.files import JUMBO, BadInput, read_layout, read_tree_file, recorded_tree
from controller.cli.demo.retire import Retirement
from controller.cli.demo.screen import Plain, Rich, Screen, Silent
from controller.cli.demo.shrink import Shrinking
from controller.cli.demo.stage import ROOT, Ended, Interrupted, Stage, ended_by_sigterm, stage
from controller.cli.demo.stage import clean as remove_what_is_left
from controller.cli.demo.takeover import take_over
from controller.cli.demo.throttle import ThrottledMove
from controller.cli.demo.trace import columns, longest_plain_trace
from controller.cli.demo.trees import check_tree

SEED_MAX: Final = 2**63 - 1
_INTERRUPTED: Final = 130  # as shells say it: 128 and the number of the signal
_TERMINATED: Final = 143


@click.command()
@click.option("--layout", type=click.Path(path_type=Path), help='Brokers and racks: {"<id>": "<rack>" or null}.')
@click.option("--tree", type=click.Path(path_type=Path), help="A recorded metadata tree: path -> value, version.")
@click.option(
    "--seed", type=click.IntRange(0, SEED_MAX), default=1, show_default=True, help="The same one, the same run."
)
@click.option("--store", "url", metavar="URL", default="memory:", show_default=True, help="Where the metadata stand.")
@click.option("--root", default=ROOT, show_default=True, help="The key below the url that the demo works under.")
@click.option("--keep", is_flag=True, help="Leave what was made in the store for a look at it.")
@click.option("--clean", is_flag=True, help="Remove what a demo left below its root; run none.")
@click.option("--plain", is_flag=True, help="No colours, no live bar; so it is, too, where stdout is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Only the result, as one JSON object.")
def demo(
    layout: Path | None,
    tree: Path | None,
    seed: int,
    *,
    url: str,
    root: str,
    keep: bool,
    clean: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """Take over a real cluster's metadata, empty a broker while a controller dies, throttle, shrink a topic.

    Real controllers, simulated brokers, virtual time: nothing is listened to, nothing is left behind. The store is in
    this process, or a real one: zookeeper://HOST:PORT/CHROOT or etcd://HOST:PORT/PREFIX, where a root below the url is
    taken that must be empty, and is empty again at the end.
    """
    try:
        if clean:
            click.echo(remove_what_is_left(url, root))
            return
        racks = dict(JUMBO) if layout is None else read_layout(layout)
        entries = recorded_tree() if tree is None else read_tree_file(tree)
        check_tree(entries)  # what cannot be used is said before anything is shown
        with ended_by_sigterm(), stage(url, root, keep=keep) as place:
            result = _acts(racks, entries, seed, _screen(plain=plain, as_json=as_json), place)
    except BadInput as error:
        click.echo(f"kedge demo: {error}", err=True)
        sys.exit(2)
    except Interrupted as error:
        click.echo(f"kedge demo: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt as error:  # it comes through the stage, which has removed what was made
        by, code = ("SIGTERM", _TERMINATED) if isinstance(error, Ended) else ("Ctrl-C", _INTERRUPTED)
        left = "what was made stays" if keep else "nothing is left"
        click.echo(f"kedge demo: ended by {by}; {left}", err=True)
        sys.exit(code)
    if as_json:
        click.echo(json.dumps(result, indent=2))
    lost = result["retirement"]["lost"]
    if not as_json:
        click.echo(f"lost: {lost}")
    sys.exit(1 if lost else 0)


def _screen(*, plain: bool, as_json: bool) -> Screen:
    if as_json:
        return Silent()
    return Plain() if plain or not sys.stdout.isatty() else Rich()


def _acts(racks: dict[int, str | None], tree: Any, seed: int, screen: Screen, place: Stage) -> dict[str, Any]:
    with place.server("takeover") as server:
        takeover = take_over(tree, seed, screen, place.words, server)
    screen.act("2. Retire a broker")
    with place.server("retirement") as server:
        retirement = Retirement(racks, seed, screen, server=server)
        result = retirement.run()
    screen.act("3. The account")
    _account(result, screen)
    leave_out = [str(tp) for tp in (result.get("cancelled"), result.get("overridden")) if tp]
    trace = longest_plain_trace(retirement.sink.lines, leave_out, retirement.traced)
    if trace is not None:
        screen.say(f"The journal of {trace[0]} (replicas, in sync, target, leader/epoch, row):")
        screen.table(("R", "I", "T", "leader", "event"), [columns(row) for row in trace[1]])
    result["trace"] = None if trace is None else {"partition": trace[0], "rows": [columns(row) for row in trace[1]]}
    screen.act("4. A throttle that removes itself")
    with place.server("throttle") as server:
        throttled = ThrottledMove(racks, seed, screen, server).run()
    screen.act("5. Fewer partitions")
    with place.server("shrink") as server:
        shrunk = Shrinking(racks, seed, screen, server).run()
    told = {"takeover": takeover, "retirement": result, "throttle": throttled, "shrink": shrunk}
    return {"store": place.url, "seed": seed, **told}


def _account(result: dict[str, Any], screen: Screen) -> None:
    screen.table(
        ("broker", "rack", "replicas before", "after", "leaders before", "after"),
        [
            (
                broker,
                row["rack"] or "-",
                str(row["replicas_before"]),
                str(row["replicas_after"]),
                str(row["leaders_before"]),
                str(row["leaders_after"]),
            )
            for broker, row in result["brokers"].items()
        ],
    )
    racks = {row["rack"] for row in result["brokers"].values()} - {None}
    if racks:
        screen.say(
            f"racks respected: {result['racks_kept']} of {result['partitions']} partitions in as many racks as can be"
        )
    else:
        screen.say("racks: none are set")
    screen.say(
        f"records written and acknowledged: {result['written']}; virtual seconds: {result['virtual_ms'] / 1000:.1f}"
    )
