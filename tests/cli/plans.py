"""What the tests of `kedge plan` share: tables of generated clusters, and what a command prints and writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kedge.pipeline.generating import generate
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import BROKER, TABLES
from kedge.pipeline.tables.files import Place
from tests.cli.ran import refused
from tests.kit.commands import plan as run


def said(*arguments: object) -> tuple[int, Any]:
    """The exit code and what --json prints; nothing is on stderr."""
    result = run(*arguments, "--json")
    assert result.stderr == ""
    return result.exit_code, json.loads(result.stdout)


def is_refused(*arguments: object, says: str) -> bool:
    """Whether the command ends with exit code 2, one line on stderr that has these words, and nothing on stdout."""
    return says in refused(run(*arguments))


def files(folder: Path) -> dict[str, bytes]:
    """The contents of all files below it, by their paths."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(
    tables: Path,
    cluster: str = "east",
    snapshot: str = "1",
    *,
    size: tuple[int, int, int] = (9, 4, 6),
    seed: int = 1,
    **first: Any,
) -> None:
    """Tables of a generated cluster. `size`: brokers, topics, partitions of a topic. `first`: of its first broker."""
    brokers, topics, partitions = size
    made = generate(brokers=brokers, topics=topics, partitions=partitions, seed=seed)
    rows = made[BROKER.name].to_pylist()
    rows[0] |= first
    made[BROKER.name] = from_rows(BROKER, [list(row.values()) for row in rows])
    for name, table in made.items():
        Place(tables, cluster, snapshot).write(TABLES[name], table)
