"""Which controllers of a small world are alike, and which of them count no more.

* Controllers are named by what they do: the leader comes first, then who runs. Two worlds in which they have changed
  places are one.
* A leader that holds `/controller` by a live session leads to the end if nothing is left that could end its term.
  From then on a stand-by changes nothing that counts: it runs or does not, and commits nothing. Only what it sent
  before counts, since that may still arrive. `SmallWorld.digest` holds the leader to it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from kedge.controller.rig.node import Node
from kedge.controller.rig.rig import Rig
from kedge.stores.recipes import LEADER_KEY

ENDS_A_TERM: Final = ("kill", "crash", "zombie", "cut")  # of `FAULTS`


def by_role(nodes: Iterable[Node]) -> list[Node]:
    """The controllers in the order of what they do."""
    return sorted(nodes, key=lambda node: (not node.is_active, node.process is None, node.node_id))


def leader_for_good(rig: Rig, faults: Container[str]) -> Node | None:
    """The controller that leads to the end, with these faults left; None if that is open."""
    row = rig.server.table.rows.get(LEADER_KEY)
    leader, *others = by_role(rig.nodes.values())
    if row is None or leader.process is None or any(fault in faults for fault in ENDS_A_TERM):
        return None
    session = leader.process.store.session
    is_sure = session.connected and row[4] == session.session_id and not leader.process.store.is_deaf
    return leader if is_sure and leader.is_active and not any(other.is_active for other in others) else None
