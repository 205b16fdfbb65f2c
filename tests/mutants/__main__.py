"""`scripts/mutants rules --sample 300 --seed 1`: small defects, one at a time, and whether a test of the room fails.

mutmut makes the mutants and runs, for each, the fast tests that reach the changed function. The command prints each
survivor as a diff, then the score. It takes from minutes to hours, so no other check runs it.

Rules
* Work goes on in `build/mutants/ROOM`, which links to the checkout; a run that was interrupted goes on where it ended.
* A mutant without any test is a survivor. One that never ends, or crashes the interpreter, is killed.
* A survivor that changes nothing that anybody can observe is a row of `equivalent.toml`, with the reason.
* Assertions are not mutated: they state what holds anyway, and no user sees their words. `strict` of a `zip` is one
  too, so a mutant that alters only that is equivalent.
* hypothesis draws few examples and the same ones each time, so that a run can be repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import attrs

from tests.mutants.rooms import ROOMS, Room

CHECKOUT: Final = Path(__file__).resolve().parents[2]
LINKED: Final = ("controller", "pipeline", "stores")
"""Folders that are packages below `kedge` through links. mutmut names mutants by their paths, Python by the package: so
both find them below `kedge`."""
BESIDE: Final = ("benchmarks", "docs", "examples", "scripts", "servers", "README.md")
"""What tests read that is no code of the product."""
SURVIVED: Final = frozenset({0, 5, 33})  # the last two: no test reaches it
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")


@attrs.frozen
class Mutant:
    """`change`: the lines that were removed and added, with their signs, without spaces around them."""

    name: str
    is_killed: bool
    change: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """The dotted name of the function, as it is written in the source."""
        module, _, mangled = self.name.partition("__mutmut_")[0].rpartition(".")
        return ".".join((module, *mangled.removeprefix("x_").removeprefix("xǁ").split("ǁ")))


class Bench:
    """A folder in which mutmut works for one room."""

    def __init__(self, name: str, room: Room, checkout: Path = CHECKOUT) -> None:
        self.folder = checkout / "build" / "mutants" / name
        self._mutants = self.folder / "mutants"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "kedge").mkdir(exist_ok=True)
        beside = [checkout / name for name in (*LINKED, *BESIDE, "tests", "pyproject.toml")]
        for file in (*beside, *(checkout / "kedge").iterdir()):
            link = self.folder / file.relative_to(checkout)
            if not link.exists():
                link.symlink_to(file.resolve())
        (self.folder / "setup.cfg").write_text(_settings(room))
        self._forget_old_stats(checkout, room)

    def _forget_old_stats(self, checkout: Path, room: Room) -> None:
        """A mutant of a function that tests reach since would survive: what tests reach is measured once, and kept."""
        stats = self._mutants / "mutmut-stats.json"
        named = [checkout / name for name in (*LINKED, *room.tests)]
        files = [
            file for name in named for file in (name, *name.rglob("*")) if file.is_file() and file.suffix != ".pyc"
        ]
        if stats.exists() and any(file.stat().st_mtime > stats.stat().st_mtime for file in files):
            stats.unlink()

    def run(self, names: Sequence[str]) -> int:
        """Try these mutants, or make all and try none if there are no names. Returns mutmut's exit code."""
        environment = {**os.environ, "KEDGE_TEST_EXAMPLES": "few", "KEDGE_NO_SERVERS": "1"}
        # mutmut has no command that only makes mutants; with a name that does not exist, it stops after that.
        command = ["run", "--max-children", "1", *(names or ["none"])]
        return subprocess.run(_mutmut(command), cwd=self.folder, env=environment, check=False).returncode

    def found(self) -> dict[str, int | None]:
        """Every mutant by name, with the exit code of its tests; None: not tried yet."""
        found: dict[str, int | None] = {}
        for file in sorted(self._mutants.rglob("*.py.meta")):
            found |= json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
        return found

    def change(self, name: str) -> tuple[str, ...]:
        """What the mutant changes."""
        shown = subprocess.run(_mutmut(["show", name]), cwd=self.folder, capture_output=True, text=True, check=True)
        lines = shown.stdout.splitlines()
        return tuple(f"{line[0]} {line[1:].strip()}" for line in lines if line[:1] in "+-" and line[:3] not in _HEADS)

    def clear(self) -> None:
        """Forget what was made and tried."""
        shutil.rmtree(self._mutants, ignore_errors=True)


_HEADS: Final = ("+++", "---")


def _mutmut(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "mutmut", *arguments]


def _settings(room: Room) -> str:
    lists = {
        "source_paths": [
            f"kedge/{path.name}" for path in sorted((CHECKOUT / "kedge").iterdir()) if path.name[0] != "."
        ],
        "only_mutate": [f"kedge/{pattern}" for pattern in room.code],
        "do_not_mutate_patterns": (r"^\s*assert\b.*",),
        "also_copy": BESIDE,
        "pytest_add_cli_args": ("-mnot full and not server", "-pno:cacheprovider"),
        "pytest_add_cli_args_test_selection": room.tests,
    }
    # An empty first line makes a list also of one entry; git knows nothing of a folder in build.
    parts = [f"{name} =\n" + "".join(f"    {each}\n" for each in values) for name, values in lists.items()]
    return "[mutmut]\n" + "".join(parts) + "use_git_change_detection = false\ntimeout_multiplier = 3\n"


def chosen(names: Iterable[str], sample: int | None, seed: int) -> list[str]:
    """All names, or a sample of them: the same for the same seed."""
    ordered = sorted(names)
    return ordered if sample is None or sample >= len(ordered) else sorted(Random(seed).sample(ordered, sample))


def equivalents(file: Path = EQUIVALENT) -> dict[tuple[str, tuple[str, ...]], str]:
    """Function and change of each mutant that behaves as the product does, and why."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]
    return {(row["function"], tuple(row["change"])): row["why"] for row in rows}


def report(mutants: Sequence[Mutant], known: Mapping[tuple[str, tuple[str, ...]], str]) -> str:
    """The survivors that are not known to be equivalent, by function, and the score."""
    counts, lines = Counter[str](), []
    for mutant in mutants:
        is_known = (mutant.function, mutant.change) in known or _alters_only_strict(mutant.change)
        end = "killed" if mutant.is_killed else "equivalent" if is_known else "survived"
        counts[end] += 1
        if end == "survived":
            lines += [f"\n{mutant.function}  ({mutant.name})", *(f"    {line}" for line in mutant.change)]
    good = counts["killed"] + counts["equivalent"]
    share = f"{good / max(1, len(mutants)):.1%}"
    told = f"{counts['killed']} killed, {counts['equivalent']} equivalent, {counts['survived']} survived"
    return "\n".join((*lines, f"\n{len(mutants)} mutants: {told}; {share} killed or equivalent"))


def _alters_only_strict(change: Sequence[str]) -> bool:
    return len({re.sub(r", (strict=\w+)?\)", ")", line[2:]) for line in change}) == 1


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("room", choices=ROOMS, help="the code that is mutated")
    parser.add_argument("--sample", type=int, metavar="COUNT", help="how many mutants to try (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="which ones a sample holds (default: 1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants with this in their name (default: all)")
    parser.add_argument("--again", action="store_true", help="make all mutants anew, and try those of before again")
    parser.add_argument("--survivors", action="store_true", help="try those again that survived before")
    parser.add_argument("--tests", action="append", default=[], help="more tests than the room's own")
    asked = parser.parse_args(arguments)
    room = ROOMS[asked.room]
    bench = Bench(asked.room, attrs.evolve(room, tests=(*room.tests, *asked.tests)))
    if asked.again:
        bench.clear()
    bench.run([])
    found = bench.found()
    names = chosen((name for name in found if asked.only in name), asked.sample, asked.seed)
    if not names:
        sys.stderr.write("no mutants were made; what mutmut printed above says why\n")
        return 2
    again = SURVIVED if asked.survivors else frozenset()
    untried = [name for name in names if found[name] is None or found[name] in again]
    if untried and (failed := bench.run(untried)):
        return failed
    ends = bench.found()
    mutants = [
        Mutant(name, is_killed, () if is_killed else bench.change(name))
        for name in names
        for is_killed in [ends[name] not in SURVIVED]
    ]
    sys.stdout.write(report(mutants, equivalents()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
