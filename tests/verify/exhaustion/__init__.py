"""Every reachable state of a small world, driven through the real controllers: `python -m tests.verify exhaust`.

    >>> from tests.verify.exhaustion import Limits, Search, build
    >>> Search(build(requests=["move"], faults=[], waits_max=0), Limits(depth=4)).run().broken is None
    True

The world is a `Rig` of three brokers, one partition and two controllers. Its states are the nodes of a graph and what
may happen next its edges; the search goes breadth first from one state, in which 101 leads and nothing is under way.

Design
* *No model.* An edge is a call of `poll_once`, of a callback, of a broker's duty; nothing is known here of what a
  controller should do. What must hold is `kedge.controller.rig.invariants`, in every commit and callback of every edge;
  and from every nth state a copy is healed and must converge, with all calls answered.
* *All orders.* An action lets no time pass (`choices`, `deeds`). A pass of a loop is one action, since a controller is
  one thread; what can come between its commit and its sends is in the faults: a round that goes out later, or never.
  A suspended process is one to which nothing happens for a while; so there is no pause, but a session that ends
  unheard.
* *Time* passes by `wait`, longer than anything waits for, at most `waits_max` times on a path: before it nothing of
  what was begun since the last one is due, after it all is. What needs two times of different length is left to the
  seeds.
* *A fault* of each kind happens once at most on a path, and `faults_max` of them in all: the graph for one fault is
  the sum of those of each kind.
* *Copies* (`snapshot`): a world is kept as bytes, 15 kB before they are compressed, and an edge is made in a copy, in
  about 1 ms; building the world again and following a path to where it goes on takes ten times as long. A path that is
  followed without copies ends in the same state, which is tested.
* *Two states are one* if all that can matter later is the same (`identity`, `stored`, `walk`): the store's tree, what
  each controller knows, waits for and has under way, what each broker was sent and holds, what is between them, and
  what may still be asked and go wrong. Epochs are ranked, versions and sessions compared by equality; what is not
  named in a rule counts as it is. Each rule that takes something away says why nothing can be seen of it, where it
  stands.
* *No symmetry* between brokers is used: they differ by the partition's replicas and by the targets. The only reduction
  of orders is that of items in an inbox, which are taken in together (`identity`).

What is found is the shortest path to it, and `--path` replays it with a timeline.
"""

from tests.verify.exhaustion.choices import actions
from tests.verify.exhaustion.deeds import do
from tests.verify.exhaustion.search import Broken, Limits, Outcome, Search, replay
from tests.verify.exhaustion.small_world import FAULTS, REQUESTS, SmallWorld, build

__all__ = [
    "FAULTS",
    "REQUESTS",
    "Broken",
    "Limits",
    "Outcome",
    "Search",
    "SmallWorld",
    "actions",
    "build",
    "do",
    "replay",
]
