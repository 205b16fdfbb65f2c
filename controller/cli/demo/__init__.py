"""`kedge demo`: five acts with real controllers, simulated brokers, and the metadata of a recorded Kafka cluster.

Here are the options, and act 3, the account of the two acts before it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click

from ..options import OUTPUT, command, json_option, option, quiet_option
from ..printing import confirm, ids, is_quiet, say
from .reduce import ReducedTopic
from .retire import Retirement
from .screen import Plain, Rich, Screen, Silent
from .stage import ROOT, Ended, Interrupted, Stage, ended_by_sigterm, staged
from .stage import clean as remove_what_is_left
from .takeover import take_over
from .throttle import ThrottledMove
from .trees import JUMBO, BadInput, check_tree, read_layout, read_tree_file, recorded_tree

SEED_MAX: Final = 2**63 - 1
_INTERRUPTED: Final = 130  # as shells say it: 128 and the number of the signal
_TERMINATED: Final = 143
_TRACE: Final = {"TargetSet", "IsrChanged", "ReplicasGrown", "ReplicasChanged", "TargetCleared", "IsrShrunk"}


_FILE: Final = click.Path(path_type=Path)
_SEED: Final = click.IntRange(0, SEED_MAX)


@command("demo", example="kedge demo --seed 7")
@option("--seed", type=_SEED, metavar="N", default=1, help="Number that selects the run; each is repeatable.")
@option("--layout", type=_FILE, none="nine brokers in three racks", help='Brokers as JSON: {"ID": "RACK" or null}.')
@option("--tree", type=_FILE, none="a recorded Kafka 3.9", help="Keys to take over, as recorded from ZooKeeper.")
@option("--store", "url", metavar="URL", default="memory:", help="Where to keep the metadata.")
@option("--root", metavar="NAME", default=ROOT, help="Key below which the demo works.")
@option("--keep", is_flag=True, help="Keep the demo's keys in the store.")
@option("--clean", is_flag=True, help="Remove the keys that an earlier demo left, and run none.")
@option("--plain", is_flag=True, group=OUTPUT, help="Print no colours and no bar, as when stdout is not a terminal.")
@json_option("Print only the result, as one JSON object.")
@quiet_option
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
    """Watch a simulated cluster move partitions while controllers fail.

    Real controllers and simulated brokers in virtual time: they take over the metadata of a Kafka cluster, empty a
    broker while a controller dies, throttle a move, and reduce a topic. No port is opened.

    URL is memory:, zookeeper://HOST:PORT/CHROOT or etcd://HOST:PORT/PREFIX. The key --root must
    not exist there; it is removed at the end.

    Exit code: 0 no record was lost; 1 records were lost, or the store failed; 2 the input cannot be used; 130 or 143
    ended by Ctrl-C or SIGTERM.
    """
    try:
        if clean:
            confirm(remove_what_is_left(url, root))
            return
        racks = dict(JUMBO) if layout is None else read_layout(layout)
        entries = recorded_tree() if tree is None else read_tree_file(tree)
        check_tree(entries)  # an error comes before any output
        with ended_by_sigterm(), staged(url, root, keep=keep) as place:
            result = _acts(racks, entries, seed, _screen(plain=plain, as_json=as_json), place)
    except BadInput as error:
        say(str(error))
        sys.exit(2)
    except Interrupted as error:
        say(str(error))
        sys.exit(1)
    except KeyboardInterrupt as error:  # it comes through the stage, which has removed what was made
        by, code = ("SIGTERM", _TERMINATED) if isinstance(error, Ended) else ("Ctrl-C", _INTERRUPTED)
        left = "its keys stay in the store" if keep else "its keys are removed"
        say(f"ended by {by}; {left}")
        sys.exit(code)
    if as_json:
        click.echo(json.dumps(result, indent=2))
    lost = result["retirement"]["lost"]
    if not as_json:
        click.echo(f"lost: {lost}")
    sys.exit(1 if lost else 0)


def _screen(*, plain: bool, as_json: bool) -> Screen:
    if as_json or is_quiet():
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
        shrunk = ReducedTopic(racks, seed, screen, server).run()
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


def traces(lines: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each partition that are a trace's, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        row = json.loads(line)
        if row["event"] in _TRACE:
            found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row)
    return found


def longest_plain_trace(
    lines: Iterable[str], leave_out: Iterable[str], preferred: str | None = None
) -> tuple[str, list[dict[str, Any]]] | None:
    """The partition whose one move has the most rows, of those that went through undisturbed; `preferred` if it did."""
    left_out = set(leave_out)
    whole = {
        name: rows
        for name, rows in traces(lines).items()
        if name not in left_out
        and [row["event"] for row in rows].count("TargetSet") == 1
        and any(row["event"] == "TargetCleared" and row["cause"] == "completed" for row in rows)
    }
    name = max(whole, key=lambda name: (name == preferred, len(whole[name]), name), default=None)
    return None if name is None else (name, _from_target_on(whole[name]))


def _from_target_on(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first = next(i for i, row in enumerate(rows) if row["event"] == "TargetSet")
    return rows[first:]


def columns(row: dict[str, Any]) -> tuple[str, ...]:
    """R, I, T, leader and epoch, event."""
    target = "-" if "target" not in row else _ids(row["target"])
    leader = f"{row['leader']}/{row['leader_epoch']}"
    return (f"R {_ids(row['replicas'])}", f"I {_ids(row['isr'])}", f"T {target}", leader, row["event"])


def _ids(brokers: list[int]) -> str:
    return f"[{ids(brokers)}]"
