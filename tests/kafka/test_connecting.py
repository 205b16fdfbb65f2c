"""--command-config on a real Kafka cluster: TLS, SASL, wrong passwords, what a client without rights gets."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from tests.kafka.conftest import Kedge, Topics, plan
from tests.kafka.java_tools import ACLS, JavaTools
from tests.kafka_servers import USERS, KafkaCluster
from tests.kit.private import write_private
from tests.kit.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.full]

LOGIN = 'org.apache.kafka.common.security.{}LoginModule required username="{}" password="{}";'
PROMPT_S = 8.0


def ask(servers: str, properties: dict[str, str], folder: Path, *words: object) -> Result:
    """A command, `topics --list` if none is given, with a file of properties."""
    file = folder / "client.properties"
    write_private(file, "".join(f"{name}={value}\n" for name, value in properties.items()))
    command, *more = map(str, words or ("topics", "--list"))
    where = ["kafka", command, "--bootstrap-server", servers, "--command-config", str(file)]
    return CliRunner().invoke(kedge, [*where, *more])


def sasl(mechanism: str, user: str, password: str) -> dict[str, str]:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": LOGIN.format(module, user, password),
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_users_prove_who_they_are(mechanism: str, kafka_cluster: KafkaCluster, topic: Topics, tmp_path: Path) -> None:
    """A wrong password ends it at once, with what the server says if that is read before it closes the connection, and
    is not repeated."""
    name = topic([[1]])
    servers = kafka_cluster.listener("SASL")
    done = ask(servers, sasl(mechanism, "admin", USERS["admin"]), tmp_path)
    assert (done.exit_code, name in done.stdout.splitlines(), done.stderr) == (0, True, "")
    began = time.monotonic()
    done = ask(servers, sasl(mechanism, "admin", "not-the-secret"), tmp_path)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert f"closed while it authenticated by {mechanism}" in done.stderr or "Authentication failed" in done.stderr
    assert "not-the-secret" not in done.stderr
    assert time.monotonic() - began < PROMPT_S


def test_a_mechanism_that_the_server_does_not_have_is_said(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    done = ask(kafka_cluster.listener("SASL"), sasl("SCRAM-SHA-512", "admin", "x"), tmp_path)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.endswith("; sasl.mechanism: expected one of PLAIN, SCRAM-SHA-256, got SCRAM-SHA-512\n")


def test_listeners_with_and_without_login_get_requests(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    done = ask(kafka_cluster.listener("SASL"), {}, tmp_path)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert (
        "; the server requires a login: set security.protocol=SASL_PLAINTEXT and sasl.mechanism to one of "
        in done.stderr
    )
    done = ask(kafka_cluster.servers, sasl("PLAIN", "admin", USERS["admin"]), tmp_path)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.endswith("; the server has no login: set security.protocol=PLAINTEXT in --command-config\n")


def test_a_server_proves_who_it_is(kafka_cluster: KafkaCluster, topic: Topics, tmp_path: Path) -> None:
    name, servers = topic([[1]]), kafka_cluster.listener("TLS")
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(kafka_cluster.ca)}
    inline = {"ssl.truststore.certificates": "\\n".join(kafka_cluster.ca.read_text().splitlines())}
    for properties in (trusted, inline):
        done = ask(servers, {"security.protocol": "SSL", **properties}, tmp_path)
        assert (done.exit_code, name in done.stdout.splitlines(), done.stderr) == (0, True, "")
    done = ask(servers, {"security.protocol": "SSL"}, tmp_path)
    assert (done.exit_code, "the certificate of the server is not trusted: self-signed certificate" in done.stderr) == (
        1,
        True,
    )
    done = ask(kafka_cluster.servers, {"security.protocol": "SSL", **trusted}, tmp_path)
    assert (done.exit_code, "TLS failed" in done.stderr) == (1, True)


@pytest.fixture
def name(topic: Topics) -> str:
    return topic([[1, 2]])


@pytest.fixture
def limited(tools: JavaTools, kafka_cluster: KafkaCluster, name: str, tmp_path: Path) -> Callable[..., Result]:
    """A command of a user who may describe the topic, and nothing else."""
    who = ("--allow-principal", "User:limited", "--topic", name)
    rights = ("--operation", "Describe", "--operation", "DescribeConfigs")
    assert tools(ACLS, "--bootstrap-server", kafka_cluster.servers, "--add", *who, *rights).code == 0
    login, servers = sasl("PLAIN", "limited", USERS["limited"]), kafka_cluster.listener("SASL")
    until(lambda: name in ask(servers, login, tmp_path).stdout)
    return lambda *words: ask(servers, login, tmp_path, *words)


@pytest.mark.checklist(129)
def test_without_rights_topics_are_described_and_nothing_is_moved(
    run: Kedge, name: str, limited: Callable[..., Result], tmp_path: Path
) -> None:
    """The columns of moves are left out, and stderr says why."""
    done = limited("topics", "--describe", "--topic", name)
    assert (done.exit_code, done.stdout) == (0, run("topics", "--describe", "--topic", name).stdout)
    assert "Couldn't query reassignments through the AdminClient API: Cluster authorization failed." in done.stderr
    file = plan(tmp_path, {(name, 0): [2, 3]})
    done = limited("reassign-partitions", "--execute", "--reassignment-json-file", file)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "Error: Cluster authorization failed.\n")
    done = limited("topics", "--delete", "--topic", name)
    assert (done.exit_code, "authorization failed" in done.stderr.lower()) == (1, True)
    assert run("topics", "--list", "--topic", name).stdout == f"{name}\n"


def test_without_rights_settings_are_left_alone(run: Kedge, name: str, limited: Callable[..., Result]) -> None:
    told = run("configs", "--describe", "--topic", name).stdout
    done = limited("configs", "--describe", "--topic", name)
    assert (done.exit_code, done.stdout, done.stderr) == (0, told, "")
    for words in (
        ("configs", "--alter", "--topic", name, "--add-config", "segment.ms=77777"),
        ("configs", "--describe", "--broker", 1),
    ):
        done = limited(*words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1)
        assert "authorization failed" in done.stderr.lower()
    assert run("configs", "--describe", "--topic", name).stdout == told
