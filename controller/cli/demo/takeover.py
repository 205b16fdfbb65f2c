"""Act 1: Kedge takes over the metadata of a real cluster, in which moves are running."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....stores.base import OutcomeUnknown, SessionExpired, StoreError, Unavailable
from ....stores.recipes import EPOCH_KEY, decode_epoch
from ....stores.transfer import BrokenOff
from ....stores.tree import TreeEntry, kept
from ...codec import keys
from ...host import Controller
from ...model.errors import ControllerError
from ...model.plural import counted
from ...rig import InvariantBroken, Node, NotInTime, Rig
from ...rig.server import RecordingServer
from ..printing import ids
from .screen import Screen
from .trees import BadInput, brokers_of_tree, one_line

COPY_BYTES_S: Final = 400_000
DEADLINE_MS: Final = 120_000
LINES_MAX: Final = 24
IN_MEMORY: Final = "Store: memory:, in this process; sessions end by the virtual clock."


def take_over(
    tree: Sequence[TreeEntry], seed: int, screen: Screen, place: str = IN_MEMORY, server: RecordingServer | None = None
) -> dict[str, Any]:
    """Kedge takes over, finishes the moves that run, and keeps what it does not know; what came of it. `server`: where
    the tree is put, `place` says it in words. BadInput where the tree leads to what cannot be; what a store raises that
    cannot be reached."""
    try:
        return _take_over(tree, seed, screen, place, server)
    except (Unavailable, OutcomeUnknown, SessionExpired, BrokenOff):
        raise  # no fault of the tree
    except (StoreError, ControllerError, NotInTime, InvariantBroken, ValueError) as error:
        raise BadInput(f"the tree cannot be taken over: {one_line(error)}") from error


def _take_over(
    tree: Sequence[TreeEntry], seed: int, screen: Screen, place: str, server: RecordingServer | None
) -> dict[str, Any]:
    brokers = brokers_of_tree(tree)
    before = {key: value for key, value, _ in kept(tree)}
    kafka_epoch = decode_epoch(before.get(EPOCH_KEY, b"0"))
    rig = Rig(seed, brokers=brokers, controllers=1, tree=tree, copy_rate_bytes_s=COPY_BYTES_S, server=server)
    moves = rig.result(rig.admin.list_partition_reassignments())  # nothing is shown before this went well
    screen.act("1. Take over a real cluster")
    screen.say(place)
    screen.say(
        f"The store has {counted(len(before), 'key')} of the former controller, with controller epoch {kafka_epoch}."
    )
    screen.say(f"Simulated brokers join: {_listed(brokers)}.")
    epoch = controller_of(rig.nodes[101]).controller_epoch
    screen.say(f"Kedge took over with controller epoch {epoch}; {len(moves)} moves are running:")
    screen.table(
        ("partition", "replicas", "target", "in sync", "waiting on"),
        [
            (
                str(tp),
                ids(m.replicas),
                ids(m.target_replicas),
                ids(m.isr),
                ids(w.broker for w in m.waiting_on),
            )
            for tp, m in moves.items()
        ],
    )
    names = list(moves)
    finished = _finish(rig, screen, len(names))
    after = _values(rig)
    screen.say("Keys that changed (+ new, - deleted, ~ rewritten):")
    changes = difference(before, after)
    for line in changes[:LINES_MAX]:
        screen.say(f"  {line}")
    if len(changes) > LINES_MAX:
        screen.say(f"  ... and {len(changes) - LINES_MAX} more")
    lost_fields = fields_lost(before, after)
    screen.say(f"Fields that Kedge does not know: {lost_fields or 'all kept'}.")
    return {
        "epoch_before": kafka_epoch,
        "epoch": epoch,
        "moves": [str(tp) for tp in names],
        "finished": finished,
        "fields_lost": lost_fields,
        "changes": changes,
        "virtual_ms": rig.clock.elapsed_ms,
    }


def controller_of(node: Node) -> Controller:
    """The controller of a node that runs."""
    assert node.controller is not None
    return node.controller


def _finish(rig: Rig, screen: Screen, moves: int) -> bool:
    """Waits until all moves end, or the time is over: a tree may name brokers that are not simulated."""
    with screen.bar("finishing the running moves") as bar:
        for _ in range(DEADLINE_MS // 100):
            running = [p for p in rig.committed.partitions.values() if p.move is not None]
            waiting = ", ".join(f"{p.topic}-{p.partition} on {ids(set(p.members) - set(p.isr))}" for p in running[:4])
            bar.at(moves - len(running), moves, f"waiting: {waiting or 'none'}")
            if not running:
                break
            rig.run(100)
    try:
        rig.wait.until_converged()
    except NotInTime as late:
        screen.event(f"not all moves ended: {str(late).splitlines()[0]}")
        return False
    return True


def _values(rig: Rig) -> dict[str, bytes]:
    store = rig.server.client()
    entries = store.snapshot("/", timeout_s=10).entries
    store.close()
    return {entry.key: entry.value for entry in entries if entry.owner is None}


def difference(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """A line per key that is new, gone or another; of topic keys and states, the fields that differ."""
    lines = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is None or new is None:
            lines.append(f"{'+' if old is None else '-'} {key}  {_short(new if old is None else old)}")
        else:
            lines.append(f"~ {key}  {_changed(old, new)}")
    return lines


def _changed(old: bytes | None, new: bytes | None) -> str:
    was, now = _members(old), _members(new)
    if was is None or now is None:
        return f"{_short(old)} -> {_short(new)}"
    told = [
        f"{name} {json.dumps(was.get(name))} -> {json.dumps(now.get(name))}"
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    ]
    return "; ".join(told) or "the same fields in another form"


def _members(value: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(value or b"")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _short(value: bytes | None) -> str:
    text = (value or b"").decode("utf-8", "replace")
    return text if len(text) <= 90 else f"{text[:90]}..."


_OURS: Final = {"targetReplicas", "reassignment", "adding_replicas", "removing_replicas"}
_REQUESTS: Final = ("/admin/", f"{keys.ISR_CHANGES}/", f"{keys.LOG_DIR_EVENTS}/")


def fields_lost(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """What was lost without a request: fields, except those that describe a move, and whole keys, except requests,
    which are deleted once they are carried out, and topics that were being deleted."""
    deleted = {key.rpartition("/")[2] for key in before if key.startswith(f"{keys.DELETE_TOPICS}/")}
    lost = []
    for key, old in before.items():
        was, now = _members(old), _members(after.get(key))
        if was is not None and now is not None:
            lost += [f"{key}: {name}" for name in was if name not in now and name not in _OURS]
        elif key not in after and not _is_to_go(key, deleted):
            lost.append(key)
    return lost


def _is_to_go(key: str, deleted: set[str]) -> bool:
    if key.startswith((f"{keys.TOPICS}/", f"{keys.CONFIG_TOPICS}/")):
        return key.split("/")[3] in deleted
    return key.startswith(_REQUESTS)


def _listed(brokers: Mapping[int, str | None]) -> str:
    return ", ".join(f"{b}" + (f" in rack {rack}" if rack else "") for b, rack in sorted(brokers.items()))
