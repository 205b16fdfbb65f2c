"""The audit: whether a journal shows that every rule was kept. `audit(files)` in this process; `pipeline.spark.audit`
on Spark, with the same functions and the same result, to the byte."""

from pipeline.audit.local import audit
from pipeline.audit.values import GAPS, KINDS, Audit, Gap, Quarantined, Violation

__all__ = ["GAPS", "KINDS", "Audit", "Gap", "Quarantined", "Violation", "audit"]
