"""`python -m benchmarks [NAME...] [--store STORE | --connect URL] [--to STORE]`: print figures."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module

from benchmarks.place import STORES, place

HERE = (
    "memory",
    "alter",
    "isr",
    "listing",
    "metrics",
    "wire",
    "produce",
    "plan",
    "planning",
    "audit",
)  # of the memory store, or of none
ANYWHERE = ("load", "bounce", "moves", "death", "reads", "throttle", "removal", "reduce")
BETWEEN = ("migrate",)  # two stores


def main(arguments: list[str]) -> int:
    asked = _parsed(arguments)
    elsewhere = asked.connect is not None or asked.store not in {None, "memory"}
    if elsewhere and (wrong := [name for name in asked.names if name in HERE]):
        print(f"measured on the memory store only: {', '.join(wrong)}", file=sys.stderr)
        return 2
    if len(asked.names) == 1:
        _run(asked.names[0], asked.store or "memory", asked.connect, asked.to)
        return 0
    # each in a process of its own: memory of one is no burden of the next
    for name in asked.names or (ANYWHERE if elsewhere else HERE + ANYWHERE + BETWEEN):
        for store in (
            STORES if name in ANYWHERE and not asked.store and not asked.connect else (asked.store or "memory",)
        ):
            where = ["--connect", asked.connect] if asked.connect else ["--store", store]
            subprocess.run([sys.executable, "-m", "benchmarks", name, *where, "--to", asked.to], check=True)  # noqa: S603 - our own names
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
    return parser.parse_args(arguments)


def _run(name: str, store: str, connect: str | None, to: str) -> None:
    module = import_module(f"benchmarks.{name}")
    if name in HERE:
        module.run()
        return
    with place(store, connect) as somewhere:
        if name in ANYWHERE:
            module.run(somewhere)
            return
        with place(to, None) as elsewhere:
            module.run(somewhere, elsewhere)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
