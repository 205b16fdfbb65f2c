"""Everything at once for hours, on real servers: `python -m tests.verify soak --store etcd --minutes 120`.

Three nodes of a store, two controllers without brokers and one process with six brokers, all of `kedge serve`. Stock
clients write and read in a group while partitions move, throttled and not, topics lose partitions, and brokers,
controllers and nodes of the store are killed or stand still. Now and then an attacker of `tests.wire.attacks` attacks
the gateway of the brokers. Which, and when, is drawn from the seed.

In: a store's kind, a time, a seed. Out: a line of JSON per deed and per sample of memory, and a last one with the
verdict: every acknowledged record is there and was read by the group, the tree and the journals have no finding, and
processes grew by no more than `GROWTH_MAX`.

* `brokers`: the process of the brokers, which kills and starts them by order.
* `traffic`: who writes and reads, and what is known of it.
* `deeds`: what is done to the cluster.
* `command`: the order of it all.
"""
