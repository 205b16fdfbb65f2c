"""The floors of the house hold in the real tree, and the checker finds what is planted in a false one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.floors import IMPURE, OTHER_TOPS, ROOMS, circle, modules, room_of, violations, within

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_import_of_the_real_tree_keeps_to_the_floors() -> None:
    assert [str(violation) for violation in violations(CHECKOUT)] == []


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(CHECKOUT) == []


def test_a_circle_is_found_also_where_it_is_for_types_alone(tmp_path: Path) -> None:
    plant(tmp_path, "stores.one", "from stores.two import B\n")
    plant(tmp_path, "stores.two", "if TYPE_CHECKING:\n    from stores.one import A\n")
    assert set(circle(tmp_path)) == {"stores.one", "stores.two"}


def test_the_real_tree_is_found() -> None:
    """A checker that reads an empty folder would pass for ever."""
    assert {"controller.model.records", "stores.base"} <= set(modules(CHECKOUT))


def test_every_room_below_the_runtime_is_pure() -> None:
    below = [room for room in ROOMS if room.name.rpartition(".")[2] in {"model", "rules", "codec", "state", "machine"}]
    assert len(below) == 5
    assert all(room.pure for room in below)


def test_only_the_command_line_needs_more_than_the_two_dependencies() -> None:
    """Backends and the collector name their client, which comes with their extra; the rest stands on attrs and
    tenacity."""
    more = {room.name for room in ROOMS if set(room.third_party) - {"attrs", "tenacity"}}
    more = {name for name in more if not within(name, "pipeline")}  # an extra of its own
    assert more == {
        "controller.cli",
        "controller.cli.kafka",
        "controller.metrics.prometheus",
        "controller.wire",
        "stores.zookeeper",
        "stores.etcd",
    }


def test_model_imports_alone_in_a_fresh_interpreter() -> None:
    """`import controller.model` pulls in neither the runtime nor a store: no module of ours but model."""
    program = "import controller.model, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ours = [name for name in json.loads(done.stdout) if name.partition(".")[0] in {"controller", "stores"}]
    assert "controller.model" in ours
    assert [name for name in ours if name != "controller" and not within(name, "controller.model")] == []


def plant(tree: Path, module: str, source: str) -> None:
    """Write `source` as the given module below `tree`."""
    file = tree.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)


@pytest.mark.parametrize(
    "module,source,imported",
    [
        ("stores.memory", "import controller.model", "controller.model"),
        ("stores.memory", "from pipeline import plan", "pipeline"),
        ("stores.base", "from stores.memory import MemoryStore", "stores.memory"),
        ("stores.memory", "import kazoo.client", "kazoo.client"),
        ("controller.model.values", "import tenacity", "tenacity"),
        ("controller.model.values", "from controller.rules import isr", "controller.rules"),
        ("controller.model.values", "def late():\n    import threading", "threading"),
        ("controller.model.values", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import io", "io"),
        ("controller.rules.isr", "from ..state import rows", "controller.state"),
        ("controller.rules.isr", "from time import monotonic", "time"),
        ("controller.rules.isr", "import importlib\n", "importlib"),
        ("controller.codec.keys", "from stores import memory", "stores"),
        ("controller.state.rows", "from controller.codec import keys", "controller.codec"),
        ("controller.state.rows", "from concurrent.futures import Future", "concurrent.futures"),
        ("controller.machine", "import controller.runtime.loop", "controller.runtime.loop"),
        ("controller.machine", "import random", "random"),
        ("controller.runtime.loop", "from controller.admin import Admin", "controller.admin"),
        ("controller.runtime.loop", "import click", "click"),
        ("controller.runtime.loop", "from tests import conftest", "tests"),
        ("controller.quota", "__import__('controller.runtime')", "controller.runtime"),
        ("pipeline.tables.files", "from controller.runtime import loop", "controller.runtime"),
        ("pipeline.kernel.drain", "import pyarrow", "pyarrow"),
        ("pipeline.kernel.drain", "import random", "random"),
        ("controller.rules.isr", "import pipeline", "pipeline"),
        ("controller.new_room.thing", "import enum", "anything"),
        ("controller.runtime.loop", "from kedge import Controller", "kedge"),
        ("kedge.names", "import controller.wire", "controller.wire"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, module: str, source: str, imported: str) -> None:
    plant(tmp_path, module, source)
    assert [(found.module, found.imported) for found in violations(tmp_path)] == [(module, imported)]


@pytest.mark.parametrize(
    "module,source",
    [
        ("stores.memory", "import threading\nfrom stores.base import Put"),
        ("stores.zookeeper.session", "import kazoo\nfrom stores import recipes"),
        ("controller.model.values", "import enum\nimport attrs\nfrom controller.model.errors import Refused"),
        ("controller.rules.isr", "from controller.model import Partition\nfrom . import leaders"),
        ("controller.codec.keys", "import json\nfrom stores.base import Put"),
        (
            "controller.runtime.loop",
            "import time\nfrom stores import MemoryStore\nfrom controller.machine import decide",
        ),
        ("controller.cli.topics", "import click\nfrom controller.rig import Rig"),
    ],
)
def test_what_stands_below_may_be_imported(tmp_path: Path, module: str, source: str) -> None:
    plant(tmp_path, module, source)
    assert violations(tmp_path) == []


def test_every_row_gives_a_reason() -> None:
    assert all(room.why for room in ROOMS)
    assert all(IMPURE.values())
    assert len({room.name for room in ROOMS}) == len(ROOMS)


def test_rooms_name_only_rooms() -> None:
    """A row that allows a room which does not exist under that name allows nothing, or too much."""
    named = {name for room in ROOMS for name in room.ours}
    assert {name for name in named if room_of(name, ROOMS) is None} == set()
    assert not named & set(OTHER_TOPS)
