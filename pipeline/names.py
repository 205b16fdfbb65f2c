"""The public names of `kedge.pipeline`, imported from the modules that define them. They need the extra `pipeline`."""

from .brokers.endpoint import Brokers, from_brokers
from .collect.gathered import Gathered
from .collect.layouts import from_broker_list, from_map
from .collect.log_dirs import from_log_dirs
from .collect.store import from_store
from .generating import generate
from .journal.files import journal_files, journals
from .report import audit_page
from .stages.arrays import Limits
from .stages.choice import Choice
from .stages.export import verify
from .stages.requests import (
    Add,
    BalanceDisks,
    Demote,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    SetFactor,
    Undo,
)
from .stages.sizing import sizing
from .stages.waves import WaveSettings
from .tables.declared import TABLES
from .tables.journal import JOURNAL_EVENT

__all__ = [
    "JOURNAL_EVENT",
    "TABLES",
    "Add",
    "BalanceDisks",
    "Brokers",
    "Choice",
    "Demote",
    "Drain",
    "FixRacks",
    "Gathered",
    "Leaders",
    "Limits",
    "Rebalance",
    "ReducePartitions",
    "SetFactor",
    "Undo",
    "WaveSettings",
    "audit_page",
    "from_broker_list",
    "from_brokers",
    "from_log_dirs",
    "from_map",
    "from_store",
    "generate",
    "journal_files",
    "journals",
    "sizing",
    "verify",
]
