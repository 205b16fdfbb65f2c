"""The invariants: what must never happen, checked with every commit and every callback of a rig.

0. What was acknowledged is in the leader's log. (The end.)
1. The leader is in the isr, or there is none; the isr is never empty. The isr gains only brokers that its leader named,
   a leader comes from the isr, except by unclean elections. (Each commit.)
2. The isr is within R, or R + T while a move runs. (Each commit.)
3. T is what was requested, unchanged until the end; a move completes only with every member of T in the isr. The legacy
   key gains nothing, and is deleted in the end. (Each commit, the end.)
4. R loses no broker before the targets are in sync, and gains only brokers that are; no member of R or T gets a request
   to delete, unless the partition is offline or its topic is being deleted, whose moves are cancelled before. (Each
   commit, each StopReplica.)
5. Leader epochs, the controller epoch and the token never go back; one sender per controller epoch; every write of a
   controller has the fence of the newest one. (Each commit.)
6. A mark of throttles loses an owner only when nothing is being reassigned, except deleted topics and requests that
   replace it; in the end there is no mark, and a throttle only where an operator set it, with that value. (Each commit,
   the end.)
7. A broker that leaves R + T leaves a durable intent (or is named in the state key for one); in the end no intent is
   open. (Each commit, the end.)
8. Partition ids are 0..n-1; one comes back only with fresh state, under the leader epoch that is due for its id. A
   status goes from online to read-only to offline, if its topic's reduction names the partition, and not before its
   time; an offline partition has no election and no move. In the end no key and no log is left of what was deleted.
   Deletions of topics and partitions: `deletions`. (Each commit, the end.)
9. Only what is committed is sent; in the end all brokers agree with the store. (Each callback, the end.)
10. What a takeover could not read is left alone until it can be read: there is no election, and no request is `full`;
    fields that another program added to a key stay. (Each commit, each callback, the end.)
11. Nothing is broken, inconsistent or left over in the tree, by `kedge.controller.check`. (The end.)

The isr that a leader names is taken from its `alter_isr` calls, targets from the calls of the admin API: not from the
controller's own records. The numbers up to 9 are those of the design; its 10, determinism, is a test.
"""

from .case import InvariantBroken as InvariantBroken
from .guard import Invariants as Invariants
