"""scripts/test that is ended by a signal, and tests that interrupt a process of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from servers.process import birth, wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
# As scripts/test, in the environment that this test runs in.
RUN = """
import pathlib, sys
sys.path.insert(0, "scripts")
import checks, environment
environment.prepare = lambda: pathlib.Path(sys.executable)
sys.exit(checks.main())
"""
# A server has a session of its own, as those of servers have.
LONG = """
import pathlib, subprocess, sys
def test_long():
    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    file = pathlib.Path(__file__).with_name("server")
    file.with_suffix(".new").write_text(str(server.pid))
    file.with_suffix(".new").rename(file)
    server.wait()
"""
INTERRUPTED = """
import signal, subprocess, sys
def test_interrupted():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stderr=subprocess.PIPE)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number,code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_every_process_of_the_run(tmp_path: Path, number: signal.Signals, code: int) -> None:
    test, server = tmp_path / "test_long.py", tmp_path / "server"
    test.write_text(LONG)
    command = [sys.executable, "-c", RUN, str(test), "-c", "/dev/null"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=pipe, stderr=pipe, text=True) as run:
        try:
            wait_until("the test runs", lambda: server.exists() or run.poll() is not None, 60)
            pid = int(server.read_text())
            run.send_signal(number)
            out, said = run.communicate(timeout=60)
        finally:
            run.kill()
    assert (run.returncode, said) == (code, f"scripts/test: ended by {number.name}\n"), out
    assert birth(pid) == 0


@pytest.mark.slow
def test_processes_of_tests_are_interrupted_although_the_shell_ignores_sigint(tmp_path: Path) -> None:
    """A shell starts its background jobs with SIGINT ignored."""
    test = tmp_path / "test_interrupted.py"
    test.write_text(INTERRUPTED)
    pytest_here = f"exec {sys.executable} -m pytest -q -p tests.conftest -c /dev/null {test}"
    done = subprocess.run(
        ["/bin/sh", "-c", f"trap '' INT; {pytest_here}"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
