"""What the commands of the test kit share: how they read their options, and how they end for a wrong one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn


class OneLine(argparse.ArgumentParser):
    """A parser that reports a wrong option in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def at_least(least: int) -> Callable[[str], int]:
    """A whole number, not less than `least`."""

    def parsed(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"a whole number from {least} on, not {text!r}")
        return int(text)

    return parsed


def seeds(text: str) -> range:
    """`7` or `1..100`, both ends included."""
    first, dots, last = text.partition("..")
    try:
        found = range(int(first), int(last if dots else first) + 1)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a seed, or a range like 1..100, not {text!r}") from error
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no seed in it")
    return found
