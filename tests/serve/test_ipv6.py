"""`kedge serve` on an address of IPv6, asked through a list of servers of which it is one."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Final

import pytest

from tests.serve.processes import serving

KEDGE: Final = (sys.executable, "-c", "from kedge.controller.cli import main; main()")


def has_ipv6() -> bool:
    """Whether something can listen on the loopback address of IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no loopback address of IPv6")
def test_a_server_on_ipv6_is_found_in_a_list_of_servers() -> None:
    with serving("--listen", "[::1]:0", "--status", "[::1]:0", "--topic", "orders:2:1") as at:
        assert at["bootstrap"].startswith("[::1]:")
        command = [*KEDGE, "kafka", "topics", "--bootstrap-server", f"127.0.0.1:1,{at['bootstrap']}", "--list"]
        # In a process of its own: kafka-python leaves the socket to its collector that a server refused.
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "orders\n"), done.stderr
