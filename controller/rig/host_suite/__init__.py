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

from ...simulated.replica import Role as Role
from ..hosted.isr_calls import IsrCall as IsrCall
from ..hosted.isr_calls import IsrCalls as IsrCalls
from ..hosted.isr_calls import IsrUpdater as IsrUpdater
from ..hosted.under_test import Ability as Ability
from ..hosted.under_test import Contents as Contents
from ..hosted.under_test import Held as Held
from ..hosted.under_test import HostUnderTest as HostUnderTest
from . import disorder as disorder
from . import failures as failures
from . import fences as fences
from . import isr as isr
from . import logs as logs
from . import loop as loop
from . import roles as roles
from .base import CASES as CASES
from .base import GROUPS as GROUPS
from .base import Case as Case
from .base import Report as Report
from .base import check as check
from .simulated import SimulatedBrokers as SimulatedBrokers
