"""What a legal trace is: rows of the journal, each held against what the rows before it made.

`Trace().feed(row)` takes rows as mappings in the journal's JSON shape, in their order, and answers with the rule that a
row breaks, or None. It begins with the Takeover of a term, which lists what is in flight; a partition that it has not
seen is taken as its first row says it. It imports nothing of the runtime: an audit of many journals uses it as it is.
"""

from controller.audit.standing import RULES, Illegal, Standing
from controller.audit.trace import CHECKED, Trace

__all__ = ["CHECKED", "RULES", "Illegal", "Standing", "Trace"]
