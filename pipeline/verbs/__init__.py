"""What the commands of `kedge plan` do with one snapshot of one cluster, in any process.

A verb reads tables, calls the stage of its name, writes the result and returns a few lines. `local` runs it for many
snapshots in this process or in several, `kedge.pipeline.spark.verbs` in the workers of Spark: it is the same function.
"""

from ..extras import need

need()
