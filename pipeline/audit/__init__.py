"""The audit: whether a journal shows that every rule was kept. `audit(files)` runs in this process;
`kedge.pipeline.spark.journals` runs the same functions on Spark, with the same result to the byte."""

from ...controller.audit import RULES, Trace
from .local import audit
from .values import GAPS, KINDS, Audit, Gap, RejectedRow, Violation

__all__ = ["GAPS", "KINDS", "RULES", "Audit", "Gap", "RejectedRow", "Trace", "Violation", "audit"]
