"""Shells complete `kedge` by the script that `kedge completion` prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.controller.cli.tree import ROOT
from tests.cli.ran import CHECKOUT

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    done = CliRunner().invoke(kedge, ["completion", shell])
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `kedge` is that of this checkout."""
    program = tmp_path / "bin" / "kedge"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from kedge.controller.cli import main; main()' \"$@\"\n"
    )
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(CHECKOUT)}


def completed(environment: dict[str, str], line: str) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    program = (
        f"{script('bash')}\n"
        f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}\n"
        "_kedge_completion kedge; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    command = ["bash", "--norc", "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_values(on_path: dict[str, str]) -> None:
    assert completed(on_path, "kedge kafka conf") == ["configs"]
    assert completed(on_path, "kedge kafka reassign-partitions --bro") == ["--broker-list"]
    assert completed(on_path, "kedge kafka configs --entity-type b") == ["brokers", "broker-loggers"]
    assert completed(on_path, "kedge completion ") == ["bash", "zsh", "fish"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_is_answered(shell: str) -> None:
    assert f"_KEDGE_COMPLETE={shell}_complete" in script(shell)
    words = {"COMP_WORDS": "kedge comp", "COMP_CWORD": "comp" if shell == "fish" else "1"}
    program = "from kedge.controller.cli.root import kedge; kedge(prog_name='kedge')"
    environment = {**os.environ, **words, "_KEDGE_COMPLETE": f"{shell}_complete", "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    says = ROOT["completion"].says
    offers = {
        "bash": "plain,completion\n",
        "zsh": f"plain\ncompletion\n{says}\n",
        "fish": f"plain,completion\t{says}\n",
    }
    assert done.stdout == offers[shell]
