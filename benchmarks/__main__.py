"""`python -m benchmarks NAME...`: print the figures of these benchmarks, or of all."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

NAMES = ("memory", "load", "moves", "alter", "death", "isr", "listing")


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in NAMES]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    if len(arguments) == 1:
        import_module(f"benchmarks.{arguments[0]}").run()
        return 0
    # each in a process of its own: memory of one is no burden of the next
    for name in arguments or NAMES:
        subprocess.run([sys.executable, "-m", "benchmarks", name], check=True)  # noqa: S603 - our own names
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
