"""The floors of the house hold in the real tree, and the checker finds what is planted in a false one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.floors import IMPURE, OTHER_TOPS, ROOMS
from tests.house.imports import circle, modules, within
from tests.house.violations import room_of, violations

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_import_of_the_real_tree_keeps_to_the_floors() -> None:
    assert [str(violation) for violation in violations(CHECKOUT)] == []


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(CHECKOUT) == []


def test_a_circle_is_found_also_where_it_is_for_types_alone(tmp_path: Path) -> None:
    plant(tmp_path, "kedge.stores.one", "from kedge.stores.two import B\n")
    plant(tmp_path, "kedge.stores.two", "if TYPE_CHECKING:\n    from .one import A\n")
    assert set(circle(tmp_path)) == {"kedge.stores.one", "kedge.stores.two"}


def test_the_real_tree_is_found() -> None:
    """A checker that reads an empty folder would pass for ever."""
    assert {"kedge.controller.model.records", "kedge.stores.base"} <= set(modules(CHECKOUT))


def test_every_room_below_the_runtime_is_pure() -> None:
    below = [room for room in ROOMS if room.name.rpartition(".")[2] in {"model", "rules", "codec", "state", "machine"}]
    assert len(below) == 5
    assert all(room.pure for room in below)


def test_only_the_command_line_needs_more_than_the_two_dependencies() -> None:
    """Backends and the collector name their client, which comes with their extra; the rest stands on attrs and
    tenacity."""
    more = {room.name for room in ROOMS if set(room.third_party) - {"attrs", "tenacity"}}
    more = {name for name in more if not within(name, "kedge.pipeline")}  # an extra of its own
    assert more == {
        "kedge.controller.cli",
        "kedge.controller.cli.kafka",
        "kedge.controller.metrics.prometheus",
        "kedge.controller.wire",
        "kedge.stores.zookeeper",
        "kedge.stores.etcd",
        "kedge.testing",
    }


def test_model_imports_alone_in_a_fresh_interpreter() -> None:
    """`import kedge.controller.model` pulls in neither the runtime nor a store: no module of ours but model."""
    program = "import kedge.controller.model, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ours = [name for name in json.loads(done.stdout) if within(name, "kedge")]
    assert "kedge.controller.model" in ours
    assert {name for name in ours if not within(name, "kedge.controller.model")} == {"kedge", "kedge.controller"}


def plant(tree: Path, module: str, source: str) -> None:
    """Write `source` as the given module below `tree`."""
    file = tree.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)


@pytest.mark.parametrize(
    "module,source,imported",
    [
        ("kedge.stores.memory", "from kedge.pipeline import local", "kedge.pipeline"),
        ("kedge.stores.base", "from kedge.stores.memory import MemoryStore", "kedge.stores.memory"),
        ("kedge.stores.memory", "import kazoo.client", "kazoo.client"),
        ("kedge.controller.model.values", "import tenacity", "tenacity"),
        ("kedge.controller.model.values", "def late():\n    import threading", "threading"),
        ("kedge.controller.model.values", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import io", "io"),
        ("kedge.controller.rules.isr", "from ..state import rows", "kedge.controller.state"),
        ("kedge.controller.rules.isr", "import importlib\n", "importlib"),
        ("kedge.controller.codec.keys", "from kedge.stores import memory", "kedge.stores"),
        ("kedge.controller.state.rows", "from concurrent.futures import Future", "concurrent.futures"),
        ("kedge.controller.runtime.loop", "import click", "click"),
        ("kedge.controller.runtime.loop", "from tests import conftest", "tests"),
        ("kedge.controller.quota", "__import__('kedge.controller.runtime')", "kedge.controller.runtime"),
        ("kedge.pipeline.kernel.drain", "import pyarrow", "pyarrow"),
        ("kedge.controller.new_room.thing", "import enum", "anything"),
        ("kedge.controller.runtime.loop", "from kedge import Controller", "kedge"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, module: str, source: str, imported: str) -> None:
    plant(tmp_path, module, source)
    assert [(found.module, found.imported) for found in violations(tmp_path)] == [(module, imported)]


def test_every_row_gives_a_reason() -> None:
    assert all(room.why for room in ROOMS)
    assert all(IMPURE.values())
    assert len({room.name for room in ROOMS}) == len(ROOMS)


def test_rooms_name_only_rooms() -> None:
    """A row that allows a room which does not exist under that name allows nothing, or too much."""
    named = {name for room in ROOMS for name in room.ours}
    assert {name for name in named if room_of(name, ROOMS) is None} == set()
    assert not named & set(OTHER_TOPS)
