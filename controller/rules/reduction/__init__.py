"""Reductions: a topic loses partitions (KIP-694) in many Decisions, while /admin/delete_topic_partitions/<t> exists, a
key that is written first and removed last.

1. The key exists (`requests`, or `keys`: by another tool). It names the last partitions of the topic, each with the
time and whether it goes offline at once. 2. Partition by partition (`partitions`): its status is read-only (-1), under
a new leader epoch; or offline (1), with its move cancelled and delete intents for all brokers that may hold a log of
it. 3. A read-only one goes offline when its retention is over (`clock`), counted from the time in the key, so that a
failover does not restart it; or when its leader reports an empty log under the present leader epoch, in which nothing
is written. 4. From the highest id down (`purge`), once all intents of a partition are closed: its keys and its place in
the topic's key are removed in one commit, which keeps its leader epoch there as retired. A new partition with this id
begins above it. 5. The entries of purged partitions leave the key of step 1, which is removed with the last.

A reduction that has begun completes even if reductions are no longer allowed. The deletion of the topic ends it.
"""
