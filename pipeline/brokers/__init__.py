"""Clusters of Kedge or Kafka, reached over Kafka's protocol: `endpoint` connects, `reading` takes snapshots,
`submitting` and `rates` run waves.

The client is that of the commands. It needs the extras `cli` and `wire`, which are imported when a cluster is reached.
"""
