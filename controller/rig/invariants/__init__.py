"""What must never happen, held against every commit and every callback of a rig.

1. The leader is in the isr, or there is none; the isr is never empty. An isr gains only whom its leader named, a leader
   comes from the isr, but for unclean elections. (Each commit.)
2. The isr is within R, or R + T while a move runs. (Each commit.)
3. T is what was asked for, untouched until the end; a move completes only with every member of T in the isr. The legacy
   key gains nothing, and is gone in the end. (Each commit, the end.)
4. R loses nobody before the targets are in sync, gains only who is; nobody of R or T is told to delete, unless the
   partition is offline or its topic is being deleted, whose moves are cancelled before. (Each commit, each
   StopReplica.)
5. Leader epochs, the controller epoch and the token never go back; one sender per controller epoch; every write of a
   controller carries the fence of the newest one. (Each commit.)
6. A mark of throttles loses whom it names only when nothing is being reassigned, but for topics that are deleted and
   requests that replace it; in the end there is none, and a throttle only where an operator set it, as he did. (Each
   commit, the end.)
7. Who leaves R + T leaves a durable intent behind (or is named in the state key as one who is to get it); in the end
   none is open. (Each commit, the end.)
8. Partition ids are 0..n-1; one comes back only with fresh state, under the leader epoch that its id is due. A status
   goes from online to read-only to offline, if its topic's reduction names the partition, and no sooner than that says;
   offline nobody is elected, and nothing moves. What goes with a topic or a partition: `gone`. (Each commit, the end.)
9. Only what is committed is sent; in the end all brokers agree with the store. (Each callback, the end.)
0. What was acknowledged is in the leader's log. (The end.)
10. What a takeover could not read is left alone until it can be read: nobody is elected there, and no request is
   `full`; fields that somebody else added to a key stay. (Each commit, each callback, the end.)
11. Nothing is broken, inconsistent or left behind in the tree, by `controller.check`. (The end.)

The isr that a leader names is taken from its `alter_isr` calls, targets from the calls of the admin API: not from what
the controller says of itself. The numbers up to 9 are those of the design; its 10, determinism, is a test.
"""

from controller.rig.invariants.case import InvariantBroken
from controller.rig.invariants.guard import Invariants

__all__ = ["InvariantBroken", "Invariants"]
