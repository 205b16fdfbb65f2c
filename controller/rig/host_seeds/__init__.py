"""Seeded failures against a host of your own: real controllers drive your brokers while processes, sessions, callbacks,
disks and stores fail, and every step is held against the rules for hosts.

    from kedge.controller.rig.host_seeds import run_seed

    @pytest.mark.parametrize("seed", range(1, 21))
    def test_my_host_under_failures(seed):
        run = run_seed(MyHost, seed)            # a HostUnderTest, as for `kedge.controller.rig.host_suite`
        assert run.error is None, run.error

or, without a test, `python -m kedge.rig explore --host my_module:MyHost`. The same seed does the same to the
host; the same trace comes of it if the host has no threads and no time but that of `pass_time`.
"""

from ..hosted.rules import RULES as RULES
from ..hosted.rules import Rule as Rule
from ..hosted.rules import RuleBroken as RuleBroken
from ..hosted.rules import left_out as left_out
from .run import STEPS as STEPS
from .run import Run as Run
from .run import run_seed as run_seed
