"""What cannot be used, as transcripts: each command, and below it the line that it prints on stderr.

The exit code is 1 where the line begins with "Error:", as that of Kafka's tools, and 2 otherwise. Nothing is on stdout,
and no file changes. A line that ends with "..." goes on in words of a library. `KEDGE_RECORD=1` records all lines.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Final

import pytest

from kedge.stores import MemoryServer
from kedge.stores.tree import TreeEntry
from tests.check.trees import entries, good
from tests.cli.plans import files, put
from tests.kit.commands import run
from tests.pipeline_journal.journals import write, written

FOLDER: Final = Path(__file__).resolve().parent / "transcripts"
GOES_ON: Final = "..."


def cases() -> Iterator[tuple[str, str, str]]:
    """Name of the transcript, command and line."""
    for file in sorted(FOLDER.glob("*.txt")):
        for block in file.read_text(encoding="utf-8").removeprefix("$ ").split("\n$ "):
            command, _, line = block.partition("\n")
            yield file.stem, command, line.strip()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tables of three snapshots, a journal, a store, files that are none of these, and an empty folder."""
    folder = tmp_path_factory.mktemp("here")
    for snapshot in ("1", "2026-11-20", "2026-11-21"):
        put(folder / "tables", snapshot=snapshot)
    write(folder / "journal", written())
    server = MemoryServer()
    server.plant(TreeEntry(e.key, e.value, e.generation) for e in entries(good()) if e.owner is None)
    server.save(folder / "store.json")
    (folder / "plan.json").write_text(
        json.dumps({"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}), encoding="utf-8"
    )
    (folder / "file").touch()
    (folder / "torn.json").write_text("{")
    (folder / "text.py").write_text("no JSON\n")
    (folder / "taken" / "east.json").mkdir(parents=True)
    (folder / "empty").mkdir()

    with chdir(folder):
        yield folder


@pytest.mark.parametrize("name, command, line", list(cases()), ids=lambda text: text[:60])
def test_what_cannot_be_used_is_one_line_and_changes_nothing(here: Path, name: str, command: str, line: str) -> None:
    if "--engine spark" in command:
        pytest.importorskip("pyspark")
    before = files(here)
    done = run(*shlex.split(command))
    said = done.stderr.replace(str(here), "/here")
    if os.environ.get("KEDGE_RECORD"):
        file = FOLDER / f"{name}.txt"
        if not (line.endswith(GOES_ON) and said.startswith(line.removesuffix(GOES_ON))):
            file.write_text(file.read_text().replace(f"$ {command}\n{line}\n", f"$ {command}\n{said}"))
        return
    assert (done.exit_code, done.stdout, said.count("\n")) == (1 if line.startswith("Error:") else 2, "", 1), said
    assert said == f"{line}\n" or (line.endswith(GOES_ON) and said.startswith(line.removesuffix(GOES_ON)))
    assert files(here) == before
