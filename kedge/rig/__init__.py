"""The test kit: a cluster in virtual time, and the checks of a host of your own.

* `Rig(seed=1, brokers={1: "a", 2: "b"})`: real controllers, simulated brokers, seeded failures (docs/rig.md).
* `submit_by_key(rig, targets)`, `configs(rig, kind, name)`: what others do and find in the store of a rig.
* `check(MyHost)`, `CASES`: the conformance suite of a `HostUnderTest` (docs/testing-a-host.md).
* `run_seed(MyHost, seed)`: seeded failures against it; also `python -m kedge.rig explore --host`.
* `HostRig(MyHost())`: real controllers over the brokers of a host, in virtual time.
"""

from __future__ import annotations

from ..controller.rig import InvariantBroken, NotInTime, Rig, VirtualClock
from ..controller.rig.host_seeds import run_seed
from ..controller.rig.host_suite import (
    CASES,
    Ability,
    Contents,
    Held,
    HostUnderTest,
    IsrUpdater,
    Report,
    Role,
    SimulatedBrokers,
    check,
)
from ..controller.rig.hosted.rig import HostRig
from ..controller.rig.outside import configs, submit_by_key

__all__ = [
    "CASES",
    "Ability",
    "Contents",
    "Held",
    "HostRig",
    "HostUnderTest",
    "InvariantBroken",
    "IsrUpdater",
    "NotInTime",
    "Report",
    "Rig",
    "Role",
    "SimulatedBrokers",
    "VirtualClock",
    "check",
    "configs",
    "run_seed",
    "submit_by_key",
]
