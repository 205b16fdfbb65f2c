"""The public names of `kedge.pipeline`, imported from the modules that define them. They need the extra `pipeline`."""

from .collect.gathered import Gathered
from .collect.layouts import from_broker_list, from_map
from .collect.log_dirs import from_log_dirs
from .collect.store import from_store
from .generating import generate
from .journal.files import journal_files, journals
from .report import audit_page
from .report.plan import plan_page
from .stages.arrays import Limits
from .stages.check import check
from .stages.export import export, verify
from .stages.load import load
from .stages.outlook import outlook
from .stages.plan import plan
from .stages.requests import Add, BalanceDisks, Drain, FixRacks, Leaders, Rebalance, ReducePartitions, SetFactor
from .stages.validate import validate
from .stages.waves import WaveSettings, waves
from .tables.declared import TABLES
from .tables.files import Place
from .tables.journal import JOURNAL_EVENT
from .verbs.local import results
from .verbs.plan import Plan
from .verbs.verb import unheard

__all__ = [
    "JOURNAL_EVENT",
    "TABLES",
    "Add",
    "BalanceDisks",
    "Drain",
    "FixRacks",
    "Gathered",
    "Leaders",
    "Limits",
    "Place",
    "Plan",
    "Rebalance",
    "ReducePartitions",
    "SetFactor",
    "WaveSettings",
    "audit_page",
    "check",
    "export",
    "from_broker_list",
    "from_log_dirs",
    "from_map",
    "from_store",
    "generate",
    "journal_files",
    "journals",
    "load",
    "outlook",
    "plan",
    "plan_page",
    "results",
    "unheard",
    "validate",
    "verify",
    "waves",
]
