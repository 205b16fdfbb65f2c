"""`python -m tests.verify exhaust`: its options, and what it prints.

Exit status 0: all that was met holds; 1: something does not, with the path to it, the timeline and the command that
replays it; 2: an option is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

from kedge.controller.rig.command import OneLine, at_least
from tests.verify.exhaustion.search import Limits, Outcome, Search, replay
from tests.verify.exhaustion.small_world import FAULTS, REQUESTS, SmallWorld, build

SMALL_FAULTS: Final = ("commit-unanswered", "callback-lost")


def some_of(names: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """`all`, `none`, or some of `names`, with commas."""

    def parsed(text: str) -> tuple[str, ...]:
        chosen = {"all": list(names), "none": []}.get(text, text.split(","))
        unknown = [name for name in chosen if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)!r}; known: all, none, {', '.join(names)}")
        return tuple(chosen)

    return parsed


def add_to(commands: argparse._SubParsersAction[OneLine]) -> None:
    """The command and its options."""
    command = commands.add_parser(
        "exhaust", help="meet every state of a small world and hold the invariants in each", allow_abbrev=False
    )
    command.add_argument("--small", action="store_true", help="a world that is exhausted in less than a minute")
    command.add_argument("--requests", type=some_of(REQUESTS), help="what is asked, each once at most (all)")
    command.add_argument("--faults", type=some_of(FAULTS), help="what goes wrong, each once at most (all)")
    command.add_argument("--faults-max", type=at_least(0), default=1, help="of these so many in all (%(default)s)")
    command.add_argument("--pairs", action="store_true", help="each pair of the faults in a search of its own")
    command.add_argument("--partitions", type=int, choices=(1, 2), default=1, help="of the topic (%(default)s)")
    command.add_argument("--waits-max", type=at_least(0), help="how often time passes (1; 0 with --small)")
    command.add_argument("--depth", type=at_least(1), help="cut off after so many actions in a row")
    command.add_argument("--states-max", type=at_least(1), help="cut off after so many states")
    command.add_argument("--seconds", type=at_least(1), help="cut off after so long")
    command.add_argument(
        "--heal-every", type=at_least(0), default=20, help="heal each nth state (%(default)s; 0: none)"
    )
    command.add_argument("--path", help="replay these actions, with commas, then heal; nothing is searched")


def run(options: argparse.Namespace) -> int:
    """Run the command; its exit status."""
    if options.path is not None:
        return _replay(options.path, options.partitions)
    small = options.small
    requests = (("move",) if small else REQUESTS) if options.requests is None else options.requests
    faults = (SMALL_FAULTS if small else FAULTS) if options.faults is None else options.faults
    waits_max = (0 if small else 1) if options.waits_max is None else options.waits_max
    limits = Limits(options.depth, options.states_max, options.seconds, options.heal_every)
    if not options.pairs:
        start = build(requests, faults, options.faults_max, waits_max, options.partitions)
        return _search(start, limits, options.partitions)
    for pair in combinations(faults, 2):
        _say(f"both of {', '.join(pair)}")
        if code := _search(build(requests, pair, 2, waits_max, options.partitions), limits, options.partitions):
            return code
    return 0


def _search(start: SmallWorld, limits: Limits, partitions: int) -> int:
    """Search and print; the exit status."""
    outcome = Search(start, limits, _say).run()
    _say(_summary(outcome))
    if outcome.broken is None:
        return 0
    path = ",".join(outcome.broken.path)
    lines, _ = _replayed(outcome.broken.path, partitions)
    _say("\n".join(lines))
    _say(f"BROKEN {'when healed' if outcome.broken.healing else 'there'}: {outcome.broken.error}")
    world = "" if partitions == 1 else f"--partitions {partitions} "
    _say(f"replay: python -m tests.verify exhaust {world}--path {path}")
    return 1


def _replay(path: str, partitions: int) -> int:
    actions = [action for action in path.split(",") if action]
    try:
        lines, error = _replayed(actions, partitions)
    except (ValueError, TypeError, KeyError, StopIteration, IndexError) as wrong:
        sys.stderr.write(f"python -m tests.verify exhaust: --path: {wrong!s:.300}\n")
        return 2
    _say("\n".join(lines))
    _say("holds" if error is None else f"BROKEN: {error}")
    return 0 if error is None else 1


def _replayed(path: Sequence[str], partitions: int) -> tuple[list[str], str | None]:
    return replay(build(REQUESTS, FAULTS, len(FAULTS), len(path), partitions), path)


def _summary(outcome: Outcome) -> str:
    how = "exhausted" if outcome.cut_off is None else f"cut off by {outcome.cut_off}"
    if outcome.broken is not None:
        how = "broken"
    rate = outcome.states / max(0.001, outcome.seconds)
    return (
        f"{outcome.states} states, {outcome.edges} edges, depth {outcome.depth}, {outcome.healed} healed: {how}; "
        f"{outcome.seconds:.1f} s, {rate:.0f} states a second"
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
