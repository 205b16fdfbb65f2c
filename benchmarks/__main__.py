"""`python -m benchmarks [NAME...] [--store STORE | --connect URL] [--content CONTENT] ...`: print figures."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from types import ModuleType

from benchmarks.conditions import DRIVERS, FIXED, Conditions
from benchmarks.content import CONTENTS
from benchmarks.figures import under, yardstick
from benchmarks.hosts import HOSTS
from benchmarks.place import STORES, place

NOWHERE = ("produce", "fixture", "groups", "plan", "planning", "samples", "audit", "hostile")  # of no store
MEMORY = ("memory", "alter", "isr", "listing", "metrics", "wire")  # of the memory store
HERE = (*MEMORY, *NOWHERE)
ANYWHERE = ("load", "bounce", "moves", "death", "reads", "throttle", "removal", "reduce")
BETWEEN = ("migrate",)  # two stores


def main(arguments: list[str]) -> int:
    asked = _parsed(arguments)
    elsewhere = asked.connect is not None or asked.store not in {None, "memory"}
    if elsewhere and (wrong := [name for name in asked.names if name in HERE]):
        print(f"measured on the memory store only: {', '.join(wrong)}", file=sys.stderr)
        return 2
    if len(asked.names) == 1 and asked.content != "both":
        return _run(asked.names[0], asked)
    # each in a process of its own: memory of one is no burden of the next
    for command in _commands(asked, elsewhere=elsewhere):
        done = subprocess.run([sys.executable, "-m", "benchmarks", *command], check=False)  # noqa: S603 - our own names
        if done.returncode:
            return done.returncode
    return 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", choices=[*HERE, *ANYWHERE, *BETWEEN, []], help="default: all"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--store", choices=STORES, help=f"for {', '.join(ANYWHERE)}; default: memory, or all of them")
    parser.add_argument("--to", choices=STORES, default="memory", help=f"where {', '.join(BETWEEN)} moves a cluster")
    where.add_argument("--connect", metavar="URL", help="a store that holds a cluster in Kafka's layout")
    headline = Conditions()
    for name, choices, what in (
        ("content", (*CONTENTS, "both"), "what partitions look like"),
        ("driver", DRIVERS, "threads of the controller's own, or poll_once"),
        ("host", HOSTS, "what the host does with what it is handed"),
    ):
        default = getattr(headline, name)
        parser.add_argument(f"--{name}", choices=choices, default=default, help=f"{what}; default: {default}")
    parser.add_argument("--journal", action="store_true", help="write a journal to a folder")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=N",
        type=_size,
        help="another size, as TOPICS=2000",
    )
    return parser.parse_args(arguments)


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"NAME=N with a number N, not {text}")
    return name, int(number)


def _commands(asked: argparse.Namespace, *, elsewhere: bool) -> Iterator[list[str]]:
    """Arguments of one run each."""
    same = [f"--driver={asked.driver}", f"--host={asked.host}", f"--to={asked.to}"]
    same += ["--journal"] * asked.journal + [f"--set={name}={number}" for name, number in asked.set]
    for name in asked.names or (ANYWHERE if elsewhere else HERE + ANYWHERE + BETWEEN):
        everywhere = name in ANYWHERE and len(asked.names) != 1
        stores = [asked.store] if asked.store else STORES if everywhere else ["memory"]
        places = [f"--connect={asked.connect}"] if asked.connect else [f"--store={store}" for store in stores]
        varies = asked.content == "both" and not asked.connect and "content" not in FIXED.get(name, {})
        contents = CONTENTS if varies else [asked.content.replace("both", Conditions().content)]
        for where, content in product(places, contents):
            yield [name, where, f"--content={content}", *same]


def _run(name: str, asked: argparse.Namespace) -> int:
    module = import_module(f"benchmarks.{name}")
    for constant, number in asked.set:
        if not isinstance(getattr(module, constant, None), int):
            print(f"{name} has no size {constant}", file=sys.stderr)
            return 2
        setattr(module, constant, number)
    conditions = Conditions(asked.content, asked.driver, asked.host, "on" if asked.journal else "off").of(name)
    if asked.connect is not None:
        conditions = conditions.but({"content": "found"})
    under({**conditions.line, **({"set": dict(asked.set)} if asked.set else {})})
    yardstick("before")
    _measure(name, module, asked, conditions)
    yardstick("after")
    return 0


def _measure(name: str, module: ModuleType, asked: argparse.Namespace, conditions: Conditions) -> None:
    if name in NOWHERE:
        module.run()
        return
    with place(asked.store or "memory", asked.connect, conditions) as somewhere:
        if name not in BETWEEN:
            module.run(somewhere)
            return
        with place(asked.to, None, conditions) as elsewhere:
            module.run(somewhere, elsewhere)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
