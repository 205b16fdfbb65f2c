"""A store that injects faults into any other store, by plan."""

from .plan import (
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
from .store import Breakable, FaultStore
from .stream import FaultSubscription

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
