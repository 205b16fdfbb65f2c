"""Throttles by `kedge kafka reassign-partitions` at a gateway: which requests set and remove them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge import ConfigResource, ConfigResourceType, NewTopic
from kedge.controller.cli.kafka import Endpoint, connected
from kedge.controller.cli.root import kedge
from kedge.controller.wire.apis import APIS, versions
from tests.wire.asking import contents
from tests.wire.served import DEADLINE_S, Served

pytestmark = pytest.mark.slow

_WATCHED = """
import json, sys
ports = set()
sys.addaudithook(lambda event, said: ports.add(said[1][1]) if event == "socket.connect" else None)
from kedge.controller.cli.root import kedge
try:
    kedge(sys.argv[1:])
finally:
    print(json.dumps(sorted(ports)), file=sys.stderr)
"""


@pytest.mark.checklist(127)
def test_a_throttle_is_set_by_requests_to_brokers_and_never_in_the_store(tmp_path: Path) -> None:
    """Also by a process of its own, which knows one address: it connects to the gateway's alone."""
    plan = tmp_path / "plan.json"
    plan.write_text('{"partitions":[{"topic":"orders","partition":0,"replicas":[2,3]}]}')
    with Served() as opened:
        opened.controller.admin.create_topics({"orders": NewTopic(replica_assignments={0: [1, 2]})}).all().result(30)
        words = ["--bootstrap-server", opened.bootstrap, "--execute", "--reassignment-json-file", str(plan)]
        command = [sys.executable, "-c", _WATCHED, "kafka", "reassign-partitions", *words, "--throttle", "5000"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (
            0,
            "Successfully started partition reassignment for orders-0",
        )
        ports = set(json.loads(done.stderr.splitlines()[-1]))
        with connected(Endpoint(opened.bootstrap)) as cluster:
            gateway = {opened.address.port, *(broker.port for broker in cluster.brokers().values())}
        assert set() < ports <= gateway
        assert opened.gateway.counts["AlterInterbrokerThrottledRates"] > 0
        for broker in ("1", "2", "3"):
            resource = ConfigResource(ConfigResourceType.BROKER, broker)
            found = opened.controller.admin.describe_configs([resource])[resource].result(30)
            assert found["leader.reassignment.throttled.rate"].value == "5000"


def test_a_throttle_is_refused_where_the_server_does_not_record_it(tmp_path: Path) -> None:
    """The server offers what Kafka does. Nothing is set, and nothing moves."""
    plan = tmp_path / "plan.json"
    plan.write_text('{"partitions":[{"topic":"orders","partition":0,"replicas":[2,3]}]}')
    apis = versions.with_apis({key: each for key, each in APIS.items() if key < 20_000}, ())
    with Served(apis=apis) as opened:
        opened.controller.admin.create_topics({"orders": NewTopic(replica_assignments={0: [1, 2]})}).all().result(30)
        before = contents(opened)
        words = ["--bootstrap-server", opened.bootstrap, "--reassignment-json-file", str(plan), "--throttle", "5000"]
        done = CliRunner().invoke(kedge, ["kafka", "reassign-partitions", "--execute", *words])
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: --throttle needs a server of Kedge, because Kafka does not record who")
        assert contents(opened) == before


def test_a_plan_that_is_refused_as_a_whole_leaves_no_throttle(tmp_path: Path) -> None:
    """The client may set a throttle, may not move, and may take the throttle back."""
    may_alter = iter([True, False, True, True])  # its rates and its lists

    def permits(_principal: str, operation: str, resource: str) -> bool:
        return next(may_alter) if (operation, resource) == ("ALTER", "CLUSTER") else True

    plan = tmp_path / "plan.json"
    plan.write_text('{"partitions":[{"topic":"orders","partition":0,"replicas":[2,3]}]}')
    with Served(authorizer=permits) as opened:
        opened.controller.admin.create_topics({"orders": NewTopic(replica_assignments={0: [1, 2]})}).all().result(30)
        words = ["--bootstrap-server", opened.bootstrap, "--reassignment-json-file", str(plan), "--throttle", "1000"]
        done = CliRunner().invoke(kedge, ["kafka", "reassign-partitions", "--execute", *words])
        assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, "Error: Cluster authorization failed.")
        assert next(may_alter, None) is None
        brokers = ["kafka", "configs", "--bootstrap-server", opened.bootstrap, "--describe", "--entity-type", "brokers"]
        assert "throttled.rate" not in CliRunner().invoke(kedge, brokers).stdout
