"""The legal traces: every row of the journal is checked against the state that the rows before it produced.

`Trace().feed(row)` takes rows as mappings in the journal's JSON shape, in their order, and returns the rule that a row
breaks, or None. It begins with the Takeover of a term, which lists what is in flight; a partition without an earlier
row is taken as its first row describes it. It imports nothing of the runtime, so that an audit of many journals can
use it as it is.
"""

from .standing import RULES as RULES
from .standing import Illegal as Illegal
from .standing import PartitionState as PartitionState
from .trace import CHECKED as CHECKED
from .trace import Trace as Trace
