"""The conformance suite for hosts: the rules for every host, as plain functions that take a host under test.

    from kedge.controller.rig.host_suite import CASES, HostUnderTest

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_my_host(case):
        host = MyHost()                         # brokers without logs, and functions that inspect them
        if case.lacks(host):
            pytest.skip(...)                    # only for an ability that the host does not declare
        case.run(host)                          # closes it

or, without a test runner, `report = check(MyHost)`: the cases that passed, failed, or were left out for an ability. The
docstring of a case is the rule in one sentence. A case fails by AssertionError, with that sentence, the expected and
the actual behaviour, or by an exception of the host, with the sentence as a note. `SimulatedBrokers` are the rig's own
brokers as a host under test, and serve as an example.
"""

from ...simulated.replica import Role
from ..hosted.isr_calls import IsrCall, IsrCalls, IsrUpdater
from ..hosted.under_test import Ability, Contents, Held, HostUnderTest
from . import disorder, failures, fences, isr, logs, loop, roles
from .base import CASES, GROUPS, Case, Report, check
from .simulated import SimulatedBrokers

__all__ = [
    "CASES",
    "GROUPS",
    "Ability",
    "Case",
    "Contents",
    "Held",
    "HostUnderTest",
    "IsrCall",
    "IsrCalls",
    "IsrUpdater",
    "Report",
    "Role",
    "SimulatedBrokers",
    "check",
    "disorder",
    "failures",
    "fences",
    "isr",
    "logs",
    "loop",
    "roles",
]
