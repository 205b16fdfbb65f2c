"""Commands that reach a server and get no further: the line says which address, and what would be spoken there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from controller.wire import Tls, allow_all
from controller.wire.calls import Address
from tests.wire.certificates import Authority
from tests.wire.served import RACKS, Served

pytestmark = pytest.mark.slow


_KEDGE = (sys.executable, "-c", "from controller.cli import main; main()")


def ask(servers: str, folder: Path, *arguments: str, **properties: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own: kafka-python leaves sockets open that did not connect."""
    file = folder / "client.properties"
    file.write_text("".join(f"{name.replace('_', '.')}={value}\n" for name, value in properties.items()))
    command = [*(arguments or ("topics", "--list")), "--bootstrap-server", servers, "--command-config", str(file)]
    return subprocess.run([*_KEDGE, *command], capture_output=True, text=True, check=False)


def test_addresses_that_the_cluster_names_and_nobody_reaches_are_named(tmp_path: Path) -> None:
    nowhere = {broker: Address("127.0.0.1", broker) for broker in RACKS}
    with Served(elsewhere=nowhere) as served:
        done = ask(served.bootstrap, tmp_path, request_timeout_ms=1000)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert any(f"{broker} at 127.0.0.1:{broker}" in done.stderr for broker in RACKS), done.stderr


def test_a_broker_that_nobody_reaches_is_named_with_its_address(tmp_path: Path) -> None:
    with Served(elsewhere={2: Address("127.0.0.1", 2)}) as served:
        done = ask(served.bootstrap, tmp_path, "log-dirs", "--describe", "--broker-list", "2", request_timeout_ms=1000)
    assert done.returncode == 1
    assert "broker 2 at 127.0.0.1:2 cannot be reached" in done.stderr


@pytest.mark.parametrize("asks_for_certificates", [False, True])
def test_who_speaks_plain_text_with_tls_is_told_so(tmp_path: Path, *, asks_for_certificates: bool) -> None:
    authority = Authority(tmp_path)
    ours = authority.sign("gateway")
    tls = Tls(ours.certificate, ours.key, authority.file if asks_for_certificates else None)
    with Served(tls=tls, authorizer=allow_all, allow_anonymous=True) as served:
        done = ask(served.bootstrap, tmp_path, socket_connection_setup_timeout_ms=1000)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("; it speaks TLS: --command-config takes security.protocol=SSL\n")
