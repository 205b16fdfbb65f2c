"""Every missing extra is reported by one sentence, which ends with the `pip install` that adds it."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.controller.cli.extras import NEEDED
from kedge.controller.model import extras as of_controller
from kedge.stores import extras as of_stores

CHECKOUT = Path(__file__).resolve().parents[2]

# What is used, the extra that it needs, and the modules of it that are hidden, one at a time.
IMPORTS = [
    ("kedge.controller.wire", "wire", ("kafka", "scramp")),
    ("kedge.testing", "wire", ("kafka", "scramp")),
    ("kedge.controller.metrics.prometheus", "metrics", ("prometheus_client",)),
    ("kedge.pipeline.generating", "pipeline", ("numpy", "pyarrow")),
    ("kedge.pipeline.report.plan", "pipeline", ("numpy", "pyarrow")),
    ("kedge.pipeline.stages.plan", "pipeline", ("numpy", "pyarrow")),
    ("kedge.pipeline.tables.files", "pipeline", ("numpy", "pyarrow")),
    ("kedge.pipeline.verbs.local", "pipeline", ("numpy", "pyarrow")),
    ("kedge.pipeline.spark.source", "spark", ("pyarrow", "pyspark")),
]
CALLS = [
    ("from kedge.stores import open_store; open_store('zookeeper://h')", "zookeeper", ("kazoo",)),
    (
        "from kedge.stores import open_store; open_store('zookeeper://h?auth=sasl:a:b')",
        "zookeeper",
        ("kazoo", "puresasl"),
    ),
    (
        "from kedge.stores import open_store; open_store('etcd://h/a')",
        "etcd",
        ("etcd3", "google", "google.protobuf", "grpc"),
    ),
    ("from kedge.pipeline.spark import session; session().__enter__()", "spark", ("pyspark",)),
    (
        "from kedge.pipeline import Brokers, Gathered, from_brokers; from_brokers(Brokers('h:1'), Gathered())",
        "cli,wire",
        ("click", "kafka"),
    ),
]
COMMANDS = [
    ("kafka topics --help", "cli", ("click", "rich")),
    ("serve --help", "wire", ("kafka", "scramp")),
    ("serve --metrics 127.0.0.1:0 --listen 127.0.0.1:0 --no-status", "metrics", ("prometheus_client",)),
    ("kafka topics --bootstrap-server 127.0.0.1:1 --list", "wire", ("kafka", "scramp")),
    ("plan drain t --brokers 1", "pipeline", ("numpy", "pyarrow")),
    ("journal audit {journal} --out {folder}", "pipeline", ("numpy", "pyarrow")),
    ("journal progress {journal} --out {folder}", "pipeline", ("numpy", "pyarrow")),
    ("journal progress {journal} --samples {folder}", "pipeline", ("numpy", "pyarrow")),
    ("journal audit {journal} --engine spark", "spark", ("pandas", "pyarrow", "pyspark")),
    ("journal progress {journal} --engine spark", "spark", ("pandas", "pyarrow", "pyspark")),
    (
        "journal audit {journal} --engine spark --follow --checkpoint {folder}/of",
        "spark",
        ("pandas", "pyarrow", "pyspark"),
    ),
    ("store ping zookeeper://127.0.0.1:1", "zookeeper", ("kazoo",)),
    ("store ping etcd://127.0.0.1:1/a", "etcd", ("etcd3", "google.protobuf", "grpc")),
]
PACKAGES = {
    "google": "protobuf",
    "google.protobuf": "protobuf",
    "grpc": "grpcio",
    "kafka": "kafka-python",
    "prometheus_client": "prometheus-client",
    "puresasl": "pure-sasl",
}


def each(rows: list[tuple[str, str, tuple[str, ...]]]) -> list[tuple[str, str, str]]:
    return [(used, extra, module) for used, extra, modules in rows for module in modules]


def run(module: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in which a module cannot be imported."""
    hidden = f"import sys; sys.modules[{module!r}] = None\n{program}"
    return subprocess.run(
        [sys.executable, "-c", hidden, *arguments],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def sentence(extra: str, module: str) -> str:
    return f"{PACKAGES.get(module, module)} is not installed; run: pip install 'kedge[{extra}]'"


@pytest.mark.parametrize(
    "used,extra,module",
    [
        *(pytest.param(f"import {used}", *rest, marks=pytest.mark.full) for used, *rest in each(IMPORTS)),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in each(CALLS)),
    ],
)
def test_an_import_or_a_call_without_its_extra_raises_the_sentence(used: str, extra: str, module: str) -> None:
    done = run(module, f"try:\n    {used}\nexcept Exception as error:\n    print(error)")
    assert (done.stdout.strip(), done.stderr) == (sentence(extra, module), "")


@pytest.mark.full
@pytest.mark.parametrize("used,extra,module", each(COMMANDS))
def test_a_command_without_its_extra_prints_the_sentence(used: str, extra: str, module: str, tmp_path: Path) -> None:
    journal = tmp_path / "kedge-1-0.jsonl"
    journal.touch()
    arguments = used.format(journal=journal, folder=tmp_path).split()
    done = run(module, "from kedge.controller.cli import main; sys.argv[0] = 'kedge'; main()", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("kedge")
    assert line.endswith(sentence(extra, module))


def test_stores_and_controller_print_the_same_sentence() -> None:
    """Stores may import nothing of the controller, so each has its own."""
    errors = (ImportError("broken"), ModuleNotFoundError("no", name="grpc"))
    for packages in (("kazoo",), ("numpy", "pyarrow"), *((error,) for error in errors)):
        assert of_stores.missing("etcd", *packages) == of_controller.missing("etcd", *packages)


def test_two_missing_packages_are_one_sentence() -> None:
    assert of_controller.missing("cli", "click", "rich") == (
        "click and rich are not installed; run: pip install 'kedge[cli]'"
    )


def test_every_package_that_commands_look_for_is_declared() -> None:
    """In its extra of setup.cfg, or in one that this extra includes."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    declared = config["options.extras_require"]
    for extra, modules in NEEDED.items():
        text = declared[extra] + (declared["pipeline"] if "kedge[pipeline]" in declared[extra] else "")
        names = {line.partition(">")[0].partition("[")[0].strip() for line in text.splitlines()}
        assert {PACKAGES.get(module, module) for module in modules} <= names, extra
