"""`python -m kedge.rig explore --host MODULE:CLASS`: seeded failures against a host of your own.

Prints what is left out for abilities that the host does not declare, and for each seed that fails the rule, what broke
it, and the command that repeats it.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from .command import OneLine, at_least, seeds
from .host_seeds import STEPS, Run, left_out, run_seed
from .hosted.under_test import HostUnderTest, made

SEEDS: Final = range(1, 21)
LINE_MAX: Final = 400  # characters of an exception of the host
CLASS_HELP: Final = """\
CLASS is a subclass of kedge.controller.rig.host_suite.HostUnderTest, in a module that
can be imported from here. It is called without arguments, once for each seed.
Required methods: open, close, registered, held. Each ability that it declares
in `abilities` adds failures and rules; what is left out is printed first:

  records, copies, isr, contents  acknowledged records: append, use, read
  isr      the calls of alter_isr: use; else the rig calls it for the leaders
  restart  processes that end and start again: restart
  disks    disks that fail: lose_disk, replace_disk
  failure  callbacks that raise: fail_next
  targets  moves of partitions
  strict   error 56 for a replica that should have a log and has none
  metadata comparison of what brokers know by UpdateMetadata: known

exit status: 0 no seed failed, 1 a seed failed, 2 an option is wrong

example: python -m kedge.rig explore --host my_module:MyHost --seeds 1..50
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = OneLine(prog="python -m kedge.rig", description="The test kit of Kedge as a command.")
    commands = parser.add_subparsers(dest="command", required=True)
    explore = commands.add_parser(
        "explore",
        help="run seeded failures against a host of your own",
        description="Run seeded failures against a host of your own, and check its rules at every step.",
        epilog=CLASS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    explore.add_argument("--host", required=True, metavar="MODULE:CLASS", help="the host under test")
    explore.add_argument("--seeds", type=seeds, default=SEEDS, help="a seed or a range (default: 1..20)")
    explore.add_argument(
        "--steps", type=at_least(1), default=STEPS, help="steps of 10 ms with failures (default: %(default)s)"
    )
    explore.add_argument("--timeline", action="store_true", help="print all events of each seed (default: off)")
    options = parser.parse_args(arguments)
    try:
        make = found(options.host)
        host = made(make)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        parser.error(f"--host {options.host}: {error}")
    # Failures are injected, so their warnings would only confuse. The timeline has everything.
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    return _explore(make, host, options)


def found(name: str) -> Callable[[], HostUnderTest]:
    """The class or function `MODULE:CLASS`. Raises ValueError, ImportError, AttributeError."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ValueError("expected MODULE:CLASS")
    sys.path.insert(0, "")
    make: Callable[[], HostUnderTest] = getattr(importlib.import_module(module), attribute)
    return make


def _explore(make: Callable[[], HostUnderTest], host: HostUnderTest, options: argparse.Namespace) -> int:
    started_s, failed = time.perf_counter(), 0
    for line in left_out(host.abilities):
        _say(f"left out: {line}")
    for seed in options.seeds:
        run = run_seed(make, seed, options.steps)
        failed += run.error is not None
        _report(run, options)
    count = len(options.seeds)
    _say(f"{host.name}: {count} seeds, {failed} failed, {(time.perf_counter() - started_s) / count:.2f} s a seed")
    return 1 if failed else 0


def _report(run: Run, options: argparse.Namespace) -> None:
    if options.timeline:
        _say("\n".join(run.timeline))
    if run.error is None:
        return
    steps = "" if options.steps == STEPS else f" --steps {options.steps}"
    _say(f"seed {run.seed} FAILED\n{run.error}")
    if run.raised:
        _say(f"{len(run.raised)} callbacks raised, the last one:\n  {run.raised[-1]:.{LINE_MAX}}")
    _say(f"replay: python -m kedge.rig explore --host {options.host} --seeds {run.seed}{steps} --timeline")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
