"""`python -m tests.verify explore --seeds 1..100`: seeded runs, one line each where something is wrong.

A failing seed prints what broke and the command that replays it; with `--timeline`, all that happened.
`python -m tests.verify groups --seeds 1..100`: the same for consumer groups (`tests.verify.coordinators`).
`python -m tests.verify transactions --seeds 1..100`: for transactions.
`python -m tests.verify exhaust`: every reachable state of a small world (`tests.verify.exhaustion`).
`python -m tests.verify linearize`: histories of clients on real servers that fail (`tests.verify.linearize`).
`python -m tests.verify interrupt`: Ctrl-C at random moments of a store's calls (`tests.verify.interrupt`).
`python -m tests.verify soak`: everything at once on real servers, for hours (`tests.verify.soak`).
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
from collections.abc import Sequence
from typing import Final

from kedge.controller.rig.command import OneLine, at_least, seeds
from tests.verify import coordinators, interrupt, linearize
from tests.verify.exhaustion import command as exhaust
from tests.verify.explore import STEPS, Run, run_seed
from tests.verify.soak import command as soak

SAY_AFTER_S: Final = 10.0
_DEFAULTS: Final = {"explore": STEPS, **dict.fromkeys(coordinators.KINDS, coordinators.MISHAPS)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status: 0 if all held, 1 if something did not, 2 for an option that is wrong."""
    parser = OneLine(prog="python -m tests.verify", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    explore = commands.add_parser(
        "explore", help="run seeds with faults and hold the invariants against them", allow_abbrev=False
    )
    _add_seeds(explore, STEPS, "how many steps things go wrong (default %(default)s)")
    explore.add_argument(
        "--beside-kafka", action="store_true", help="a Kafka broker becomes controller whenever it can"
    )
    for kind in coordinators.KINDS:
        of_kind = commands.add_parser(
            kind, help=f"run {kind} by seeds with faults and hold their promises", allow_abbrev=False
        )
        _add_seeds(of_kind, coordinators.MISHAPS, "how many mishaps there are (default %(default)s)")
    exhaust.add_to(commands)
    linearize.add_to(commands)
    interrupt.add_to(commands)
    soak.add_to(commands)
    options = parser.parse_args(arguments)
    # What goes wrong here is meant to: a log of it would look like failures. The timeline tells all.
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    others = {"exhaust": exhaust.run, "linearize": linearize.run, "interrupt": interrupt.run, "soak": soak.run}
    return others.get(options.command, _seeds)(options)


def _add_seeds(command: argparse.ArgumentParser, steps: int, of_steps: str) -> None:
    command.add_argument("--seeds", type=seeds, default=range(1, 101), help="a seed or a range (default 1..100)")
    command.add_argument("--steps", type=at_least(1), default=steps, help=of_steps)
    command.add_argument("--timeline", action="store_true", help="print what happened, line by line")
    command.add_argument("--traces", action="store_true", help="print the trace hash of every seed")


def _seeds(options: argparse.Namespace) -> int:
    started_s = said_s = time.perf_counter()
    failed = 0
    for done, seed in enumerate(options.seeds, 1):
        if options.command in coordinators.KINDS:
            run = coordinators.run_seed(options.command, seed, options.steps)
        else:
            run = run_seed(seed, options.steps, beside_kafka=options.beside_kafka)
        failed += run.error is not None
        _report(run, options)
        if time.perf_counter() - said_s >= SAY_AFTER_S and done < len(options.seeds):
            said_s = time.perf_counter()
            sys.stderr.write(f"{done} of {len(options.seeds)} seeds, {failed} failed\n")
    taken_s = time.perf_counter() - started_s
    count = len(options.seeds)
    sys.stdout.write(f"{count} seeds, {failed} failed, {taken_s / max(1, count):.2f} s a seed\n")
    return 1 if failed else 0


def _report(run: Run, options: argparse.Namespace) -> None:
    if options.timeline:
        sys.stdout.write("\n".join(run.timeline) + "\n")
    if options.traces:
        sys.stdout.write(f"seed {run.seed} {run.trace}\n")
    if run.error is not None:
        steps = "" if options.steps == _DEFAULTS[options.command] else f" --steps {options.steps}"
        steps += " --beside-kafka" if getattr(options, "beside_kafka", False) else ""
        replay = f"python -m tests.verify {options.command} --seeds {run.seed}{steps} --timeline"
        sys.stdout.write(f"seed {run.seed} FAILED\n{run.error}\nreplay: {replay}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # servers and processes are ended then, too
    sys.exit(main())
