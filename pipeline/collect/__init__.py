"""What is known of a cluster, from a store and from files that other tools write, as the tables of a snapshot.

* `gathered`: where all sources put what they find; `store`: a metadata store or a recorded tree; `layouts`: maps of
  partitions and lists of brokers; `log_dirs`, `kafka_kit`, `cruise_control`, `prometheus`: sizes, capacities, rates.
* A file that is not of its kind as a whole is BadInput; a row of it that cannot be used goes to the quarantine.
* Nothing is judged here: whether rows fit together is `pipeline.stages.validate`.
"""
