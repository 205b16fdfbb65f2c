"""`kedge demo`: the command and its third act, the account of the other two."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from controller.cli.demo.files import JUMBO, BadInput, read_layout, read_tree_file, recorded_tree
from controller.cli.demo.retire import Retirement
from controller.cli.demo.screen import Plain, Rich, Screen, Silent
from controller.cli.demo.takeover import take_over
from controller.cli.demo.trace import columns, longest_plain_trace
from controller.cli.demo.trees import check_tree

SEED_MAX: Final = 2**63 - 1


@click.command()
@click.option("--layout", type=click.Path(path_type=Path), help='Brokers and racks: {"<id>": "<rack>" or null}.')
@click.option("--tree", type=click.Path(path_type=Path), help="A recorded metadata tree: path -> value, version.")
@click.option(
    "--seed", type=click.IntRange(0, SEED_MAX), default=1, show_default=True, help="The same one, the same run."
)
@click.option("--plain", is_flag=True, help="No colours, no live bar; so it is, too, where stdout is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Only the result, as one JSON object.")
def demo(layout: Path | None, tree: Path | None, seed: int, *, plain: bool, as_json: bool) -> None:
    """Take over a real cluster's metadata, then empty a broker while a controller dies.

    Real controllers, simulated brokers, virtual time: nothing is listened to, nothing is left behind.
    """
    try:
        racks = dict(JUMBO) if layout is None else read_layout(layout)
        entries = recorded_tree() if tree is None else read_tree_file(tree)
        check_tree(entries)  # what cannot be used is said before anything is shown
        result = _acts(racks, entries, seed, _screen(plain=plain, as_json=as_json))
    except BadInput as error:
        click.echo(f"kedge demo: {error}", err=True)
        sys.exit(2)
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


def _acts(racks: dict[int, str | None], tree: Any, seed: int, screen: Screen) -> dict[str, Any]:
    takeover = take_over(tree, seed, screen)
    screen.act("2. Retire a broker")
    retirement = Retirement(racks, seed, screen)
    result = retirement.run()
    screen.act("3. The account")
    _account(result, screen)
    leave_out = [str(tp) for tp in (result.get("cancelled"), result.get("overridden")) if tp]
    trace = longest_plain_trace(retirement.sink.lines, leave_out, retirement.traced)
    if trace is not None:
        screen.say(f"The journal of {trace[0]} (replicas, in sync, target, leader/epoch, row):")
        screen.table(("R", "I", "T", "leader", "event"), [columns(row) for row in trace[1]])
    result["trace"] = None if trace is None else {"partition": trace[0], "rows": [columns(row) for row in trace[1]]}
    return {"seed": seed, "takeover": takeover, "retirement": result}


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
