"""Collects the tables of a snapshot from a metadata store and from files of other tools.

* `gathered`: where all sources put their rows; `store`: a metadata store or a recorded tree; `layouts`: maps of
  partitions and lists of brokers; `log_dirs`, `kafka_kit`, `cruise_control`, `prometheus`: sizes, capacities, rates.
* A file of the wrong kind raises BadInput; a row that cannot be used is rejected.
* Nothing is judged here: `kedge.pipeline.stages.validate` checks whether rows fit together.
"""
