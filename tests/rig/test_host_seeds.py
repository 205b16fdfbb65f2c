"""Seeded failures against hosts: careful ones keep every rule, and careless ones are caught by some seed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.log_on_disk.under_test import DiskBrokers
from kedge.controller.rig import Broker
from kedge.controller.rig.__main__ import main
from kedge.controller.rig.host_seeds import RULES, left_out, run_seed
from kedge.controller.rig.host_suite import Ability, HostUnderTest, IsrCalls, SimulatedBrokers, check
from tests.rig import broken_hosts as broken
from tests.rig import careless_hosts as careless
from tests.rig.test_host_suite import host_of

pytestmark = pytest.mark.checklist(270)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "testing-a-host.md"
SEEDS_MAX = 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 13))
def test_simulated_brokers_keep_every_rule(seed: int) -> None:
    run = run_seed(SimulatedBrokers, seed)
    assert run.error is None, run.error


FOUND = (236,)  # a producer met a disk that was gone, and its request ended in an OSError
"""Seeds that failed once for the example."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(1, 6), *FOUND])
def test_the_example_with_logs_on_disk_keeps_every_rule(seed: int) -> None:
    run = run_seed(DiskBrokers, seed)
    assert run.error is None, run.error


class _Modest(DiskBrokers):
    """Declares no ability."""

    abilities = frozenset()

    def open(self, broker_ids: Any) -> Any:
        """Its leaders call alter_isr, and no controller listens."""
        host = super().open(broker_ids)
        super().use(IsrCalls())
        return host


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 3))
def test_a_host_without_abilities_can_be_explored(seed: int) -> None:
    run = run_seed(_Modest, seed)
    assert run.error is None, run.error


def _seeds(make: Callable[[], HostUnderTest], known: int) -> tuple[str | None, str]:
    """The rule that the first failing seed reports, and its error. `known`: a seed that fails soon, tried first."""
    for seed in (known, *range(1, SEEDS_MAX + 1)):
        run = run_seed(make, seed)
        if run.error is not None:
            return run.rule, run.error
    return None, f"{SEEDS_MAX} seeds found nothing"


UNSEEN: list[tuple[type[Broker | SimulatedBrokers], int, set[str]]] = [
    (careless.DeletesInMemory, 1, {"logs"}),
    (careless.NeverTruncates, 15, {"converges", "acknowledged"}),
]
"""Hosts of which the suite sees nothing; a seed that finds them, and the rules that they break."""

CARELESS = [
    *UNSEEN,
    (careless.Acknowledges, 1, {"acknowledged"}),
    (careless.AsksTooEarly, 6, {"joins"}),
    (careless.ForgetsItsCall, 14, {"acknowledged", "joins"}),
    (careless.GivesUp, 14, {"converges"}),
    (careless.LeadsAgain, 28, {"isr"}),
    (careless.RemembersItsRole, 1, {"roles"}),
    (careless.WritesLater, 1, {"acknowledged", "ends"}),
    (broken.IgnoresLeaderEpoch, 1, {"epochs", "roles"}),
    (broken.IgnoresControllerEpoch, 10, {"fences"}),
    (broken.IgnoresBrokerEpoch, 1, {"fences"}),
    (broken.KeepsLeading, 1, {"roles"}),
    (broken.DeletesOnFull, 9, {"logs"}),
    (broken.BeginsEmptyLogs, 1, {"empty"}),
    (broken.AcknowledgesAtOnce, 1, {"deletions"}),
    (broken.HidesLostDisks, 16, {"ends", "acknowledged", "empty"}),
    (broken.StartsOverWhenSentAgain, 1, {"ends", "acknowledged", "joins"}),
    (broken.AnswersForOthers, 1, {"answers"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind,known,rules", CARELESS, ids=[kind.__name__ for kind, _, _ in CARELESS])
def test_a_careless_host_is_caught_by_a_seed(
    kind: type[Broker | SimulatedBrokers], known: int, rules: set[str]
) -> None:
    """By a rule that names what is wrong."""
    rule, error = _seeds(lambda: host_of(kind), known)
    assert rule in rules, error


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, _, _ in UNSEEN])
def test_some_careless_hosts_pass_the_suite(kind: type[Broker | SimulatedBrokers]) -> None:
    """Each request for itself is answered well: only seeds show what is wrong."""
    assert check(lambda: host_of(kind)).failed == {}


@pytest.mark.slow
def test_the_same_seed_is_the_same_run() -> None:
    first, second = (run_seed(SimulatedBrokers, 5, 100) for _ in range(2))
    assert (first.trace, first.timeline) == (second.trace, second.timeline)
    assert first.trace != run_seed(SimulatedBrokers, 6, 100).trace


def test_what_a_host_lacks_is_named() -> None:
    """No rule and no failure is left out in silence."""
    assert left_out(frozenset(Ability)) == []
    lines = left_out(frozenset())
    assert "rule acknowledged: needs contents, copies, isr, records" in lines
    assert "disks that fail: needs disks" in lines
    assert len(lines) == 5 + sum(bool(rule.needs) for rule in RULES)


class Forgetful(SimulatedBrokers):
    """For the command: it does not check leader epochs."""

    name = "forgetful"

    def __init__(self) -> None:
        super().__init__(careless.RemembersItsRole)


class Bare(SimulatedBrokers):
    """For the command: it declares nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.abilities = frozenset()


def test_the_command_prints_what_broke_and_how_to_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--host", "tests.rig.test_host_seeds:Forgetful", "--seeds", "1", "--steps", "150"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("seed 1 FAILED\nroles: A broker serves a partition only as a LeaderAndIsr")
    command = re.search(r"^replay: python -m kedge.rig (.+)$", said, re.MULTILINE)
    assert command is not None
    assert command[1].split() == [
        *("explore", "--host", "tests.rig.test_host_seeds:Forgetful"),
        *("--seeds", "1", "--steps", "150", "--timeline"),
    ]
    assert "forgetful: 1 seeds, 1 failed" in said
    assert main(command[1].split()) == 1
    again = capsys.readouterr().out
    assert again.endswith(said[: said.index("forgetful:")] + again[again.index("forgetful:") :])
    assert "commits" in again


def test_the_command_names_what_is_left_out_and_logs_no_failure_that_it_injects() -> None:
    options = ("--host", "tests.rig.test_host_seeds:Bare", "--seeds", "1", "--steps", "150")
    command = [sys.executable, "-m", "kedge.rig", "explore", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "left out: rule isr: needs isr\n" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize(
    "host,said",
    [
        ("nothing", "expected MODULE:CLASS"),
        ("no_such_module:Host", "No module named 'no_such_module'"),
        ("tests.rig.test_host_seeds:Missing", "has no attribute 'Missing'"),
        ("kedge.controller.rig:Timeline", "missing 1 required positional argument"),
        ("os:getcwd", "make must return a HostUnderTest"),
    ],
)
def test_the_command_refuses_what_is_no_host(host: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explore", "--host", host])
    assert ended.value.code == 2
    refused = capsys.readouterr().err
    assert said in refused
    assert refused.count("\n") == 1


def test_the_help_fits_and_names_every_ability(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explore", "--help"])
    said = capsys.readouterr().out
    assert [ability.value for ability in Ability if ability.value not in said] == []


def test_the_page_lists_every_rule() -> None:
    named = re.findall(r"^\| `([a-z]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert named == [rule.name for rule in RULES]
