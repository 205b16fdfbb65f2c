"""franz-go's own tests, unmodified, at `kedge serve`: the package kgo of the version that `go/go.mod` names.

They find brokers by KGO_SEEDS, and by KGO_TEST_SCRAM_SEEDS such as require a login. TestGroupETL and TestTxnEtl pass
KGO_TEST_RECORDS records through chains of three groups whose members come and go, and check that each record is read
once; without the variable there are 500,000. With KGO_TEST_UNSAFE, each second transaction of their producer begins
before the one before it is complete.

Transactions with the assignor `range` are left out, which is eager in the classic protocol (a pattern cannot tell
`range` from `range/848`). A member whose heartbeat says REBALANCE_IN_PROGRESS while its offsets are being fetched and
its transaction ends revokes its partitions, and then takes the offsets for those of its next generation: it reads and
commits partitions of another member, which no broker can see. On a busy machine one run in about thirty did so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest

from kedge.testing import Server
from servers.process import tool
from tests.clients import machine
from tests.left_out import skip_if_left_out

pytestmark = [pytest.mark.server, pytest.mark.full]

MODULE: Final = "github.com/twmb/franz-go"
TIMEOUT_S: Final = 550
DOWNLOAD_S: Final = 300.0
CHAINS: Final = ("TestGroupETL", "TestTxnEtl")
ON_ONE: Final = "Test848RegexBrokerResolves"
EAGER: Final = "^TestTxnEtl$/^range$"
SHARE: Final = {
    "TestConsumeRegexShareSkipsInternal",
    "TestShareGroup",
    "TestShareGroupAckOnClose",
    "TestShareGroupETL",
    "TestShareGroupOffsetsAdmin",
}


def ran(server: Server, run: str, skip: str = "^$", **variables: str) -> dict[str, str]:
    """PASS or SKIP of each test that `run` matches and `skip` does not, by name. It fails if one of them did, and then
    names a file with all that was logged."""
    skip_if_left_out("go")
    go, here = machine.go(), str(machine.HERE / "go")
    found = json.loads(tool([go, "-C", here, "mod", "download", "-json", MODULE], MODULE, DOWNLOAD_S))
    variables |= {"KGO_SEEDS": server.bootstrap_servers, "KGO_LOG_LEVEL": "info"}
    done = subprocess.run(
        [go, "test", "-v", "-count=1", f"-timeout={TIMEOUT_S}s", f"-run={run}", f"-skip={skip}", "."],
        cwd=Path(found["Dir"], "pkg", "kgo"),
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    log = Path(tempfile.gettempdir(), f"franz-go-{os.getpid()}.log")
    if done.returncode:
        log.write_text(done.stdout)
    assert done.returncode == 0, f"{log}: {done.stdout[-5_000:]}"
    return {name: outcome for outcome, name in re.findall(r"^ *--- (PASS|SKIP): (\S+)", done.stdout, re.MULTILINE)}


def test_package_passes() -> None:
    """All but the chains and what needs one broker; the tests of share groups skip themselves."""
    with Server() as server, Server(users={"user": "password"}) as with_login:
        scram = {"KGO_TEST_SCRAM_SEEDS": with_login.bootstrap_servers, "KGO_TEST_SCRAM": "user:password"}
        found = ran(server, "", "|".join([*CHAINS, ON_ONE]), **scram)
    assert {name for name, outcome in found.items() if outcome == "SKIP"} == SHARE
    assert found["TestGroupSimple/848"] == "PASS"


def test_regular_expression_is_resolved() -> None:
    """It takes the first two topics with records, and `__consumer_offsets` can be one of them, unless one answer has
    the records of all: that of a single broker."""
    with Server(1) as server:
        assert ran(server, ON_ONE, KGO_TEST_RF="1") == {ON_ONE: "PASS"}


@pytest.mark.parametrize("name, records", [*zip(CHAINS, ("10000", "30000"), strict=True)])
def test_chains_of_groups_read_each_record_once(name: str, records: str) -> None:
    with Server() as server:
        found = ran(server, name, EAGER, KGO_TEST_RECORDS=records, KGO_TEST_UNSAFE="")
    protocols = ["cooperative-sticky", "cooperative-sticky/static", "sticky/848", "sticky/848/static"]
    protocols += ["range", "range/848"] if name == "TestGroupETL" else []
    assert found == dict.fromkeys([name, *(f"{name}/{each}" for each in protocols)], "PASS")
