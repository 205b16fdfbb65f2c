"""Partitions are taken away from a topic (KIP-694): many Decisions under /admin/delete_topic_partitions/<t>, a key
that is written first and removed last.

1. The key is there (`requests`, or `keys`: by another tool). It names the tail of the topic, each partition with the
   time and whether it goes at once.
2. Partition by partition (`partitions`): its status is read-only (-1), under a leader epoch of its own; or offline (1),
   with its move cancelled, and whoever may hold a log of it has an intent to delete that.
3. A read-only one goes offline when its time is over (`clock`): counted from the time in the key, so that no failover
   begins it anew; or when its leader reports an empty log under the present leader epoch, which nobody writes to.
4. From the highest id down (`purge`), once every intent of a partition is closed: its keys and its place in the topic's
   key go in one commit, which keeps its leader epoch there as retired. An id that comes back begins above it.
5. The entries of what is gone leave the key of 1, and it goes with the last.

What was begun is finished, also where partitions may not be taken away any more. The deletion of the topic ends it.
"""
