"""Finds what is broken, inconsistent or left over in the tree of a cluster; writes nothing.

`inspect(entries)` is pure; `check_store(store)` reads the entries first. `KINDS` has the meaning of each kind of
finding.
"""

from .findings import KINDS as KINDS
from .findings import SEVERITIES as SEVERITIES
from .findings import Counts as Counts
from .findings import Finding as Finding
from .findings import Kind as Kind
from .findings import Report as Report
from .findings import Severity as Severity
from .rules import RULES as RULES
from .rules import inspect as inspect
from .store import check_store as check_store
