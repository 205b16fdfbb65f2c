"""An import of Kedge changes nothing that all of the process shares, and warns of nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
TOPS = ("kedge", "controller", "pipeline", "stores")

SHARED = """
import gc, importlib, locale, logging, os, signal, socket, sys, threading, warnings

def shared():
    root = logging.getLogger()
    return {
        "sys": [sys.excepthook, sys.unraisablehook, sys.displayhook, sys.gettrace(), sys.getprofile()],
        "sys.path": [*sys.path],
        "importers": [*sys.meta_path, *sys.path_hooks],
        "threading": [threading.excepthook, threading.gettrace(), threading.getprofile(), threading.enumerate()],
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL),
        "warnings": [[*warnings.filters], warnings.showwarning, warnings.formatwarning],
        "logging": [[*root.handlers], [*root.filters], root.level, root.manager.disable, logging.lastResort],
        "classes of logging": [logging.getLoggerClass(), logging.getLogRecordFactory(), logging.raiseExceptions],
        "gc": [gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()],
        "environment": [dict(os.environ), os.getcwd(), socket.getdefaulttimeout(), sys.getrecursionlimit()],
    }

def changed(before):
    return [name for name, value in shared().items() if value != before[name]]
"""
EACH = """
import numpy, six  # which set filters of their own, and an importer

for name in sys.argv[1:]:
    before = shared()
    importlib.import_module(name)
    if names := changed(before):
        print(name, "changes", *names)
"""


def modules() -> list[str]:
    """All public modules, but those that are programs."""
    files = (file.relative_to(CHECKOUT).with_suffix("") for top in TOPS for file in (CHECKOUT / top).rglob("*.py"))
    names = (".".join(file.parts).removesuffix(".__init__") for file in files)
    names = (name if name.partition(".")[0] == "kedge" else f"kedge.{name}" for name in names)
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))


def run(program: str, *arguments: str, folder: Path = CHECKOUT) -> str:
    """What it prints, started in a folder. Warnings are errors."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.full
def test_no_import_changes_what_a_process_shares() -> None:
    assert len(modules()) > 600
    assert run(SHARED + EACH, *modules()) == ""


@pytest.mark.slow
def test_kit_for_tests_is_imported_where_warnings_are_errors() -> None:
    assert (
        run("from kedge import testing; print(testing.__all__)")
        == "['Cluster', 'Fault', 'Requests', 'Sent', 'Server']\n"
    )
