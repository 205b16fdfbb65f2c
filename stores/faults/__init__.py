"""A store that injects faults into any other store, by plan."""

from stores.faults.plan import (
    Call,
    CutOff,
    Delay,
    DeliverLater,
    DoubleEvent,
    DropEvent,
    ExpireSession,
    FailBefore,
    Fault,
    ForceResync,
    LoseReply,
    LoseRequest,
    Plan,
    Rule,
    at_commit,
)
from stores.faults.store import Breakable, FaultStore
from stores.faults.stream import FaultSubscription

__all__ = [
    "Breakable",
    "Call",
    "CutOff",
    "Delay",
    "DeliverLater",
    "DoubleEvent",
    "DropEvent",
    "ExpireSession",
    "FailBefore",
    "Fault",
    "FaultStore",
    "FaultSubscription",
    "ForceResync",
    "LoseReply",
    "LoseRequest",
    "Plan",
    "Rule",
    "at_commit",
]
