"""The mishaps of an exploration: a table of weights and functions. Each begins one, and puts its end on the agenda."""

from __future__ import annotations

import json
from typing import Final

from kedge.controller.codec import keys
from kedge.controller.rig.server import write
from kedge.controller.rig.trouble import (
    bad_network,
    cut_from_broker,
    cut_from_store,
    expire_session,
    for_ms,
    forced_resync,
    jump,
    kill_controller,
    late_commits,
    one_commit_fails,
    pause_controller,
    shaky_store,
    slow_broker,
)
from kedge.controller.rules.leader_election import UNCLEAN
from kedge.controller.simulated.broker import Life
from tests.verify.workload import Deed
from tests.verify.world import World


def kill_broker(world: World) -> str:
    """A broker dies, and comes back with its logs."""
    broker, long_ms, at_once = world.pick(list(world.rig.brokers)), for_ms(world), world.happens(0.5)
    world.rig.mishaps.kill_broker(broker, at_once=at_once)
    world.later(long_ms, lambda: _start_if_down(world, broker))
    return f"broker {broker} dies {'at once' if at_once else 'without a word'}"


def _start_if_down(world: World, broker: int) -> None:
    if world.rig.brokers[broker].life is Life.DOWN or world.rig.duties[broker].leaving is not None:
        world.rig.mishaps.restart_broker(broker)


def shut_down_broker(world: World) -> str:
    """A broker is let go in an orderly way, patiently or not, and comes back."""
    broker, patience_ms = world.pick(list(world.rig.brokers)), world.between(50, 2_000)
    world.rig.mishaps.shut_down_broker(broker, patience_ms)
    world.later(patience_ms + for_ms(world), lambda: _start_if_down(world, broker))
    return f"broker {broker} shuts down within {patience_ms} ms"


def bounce_broker(world: World) -> str:
    """A broker is another process before anybody looked."""
    broker = world.pick(list(world.rig.brokers))
    world.rig.mishaps.bounce_broker(broker)
    return f"broker {broker} bounces"


def pause_broker(world: World) -> str:
    """A broker stands still for long enough to leave the isr, or not."""
    broker, long_ms = world.pick(list(world.rig.brokers)), world.between(50, 3 * world.rig.lag_max_ms)
    world.rig.mishaps.pause_broker(broker)
    world.later(long_ms, lambda: world.rig.mishaps.resume_broker(broker))
    return f"broker {broker} stands still for {long_ms} ms"


def expire_broker(world: World) -> str:
    """The server ends the session of a broker that lives."""
    broker = world.pick(list(world.rig.brokers))
    if world.rig.brokers[broker].life is not Life.DOWN:
        world.rig.mishaps.expire_broker_session(broker)
    return f"the session of broker {broker} ends"


def _topic_keys(world: World) -> list[str]:
    """Keys of topics and partitions that can be read."""
    rows, broken = world.rig.server.table.rows, world.rig.broken_keys
    return [key for key in sorted(rows) if key.startswith(keys.TOPICS + "/") and key not in broken]


def foreign_write(world: World) -> str:
    """Another client writes a key of ours, with what stood there, and sometimes a field that we do not know: a Conflict
    for the next commit of it."""
    held = _topic_keys(world)
    if not held:
        return "nobody else writes anything"
    key = world.pick(held)
    value = world.rig.server.table.rows[key][0]
    if world.happens(0.5):
        fields = world.rig.foreign_fields.setdefault(key, set())
        name = f"field_{len(fields)}"
        fields.add(name)
        value = json.dumps({**json.loads(value), name: world.between(0, 9)}).encode()
    write(world.rig.server, key, value)
    return f"somebody else writes {key}"


def break_key(world: World) -> str:
    """Another client breaks a key, and mends it later; mostly another controller has to take over meanwhile, since the
    present one knows what stood there."""
    held = _topic_keys(world)
    if not held:
        return "nobody breaks anything"
    key, long_ms = world.pick(held), for_ms(world)
    stood = world.rig.server.table.rows[key][0]
    world.rig.mishaps.break_key(key, world.pick((b"", b"{", b"[]", stood[:-1])))
    world.later(long_ms, lambda: _mend_if_broken(world, key))
    if world.rig.active is not None and world.happens(0.7):
        kill_controller(world)
        if world.happens(0.5):
            kill_broker(world)
    return f"somebody breaks {key} for {long_ms} ms"


def _mend_if_broken(world: World, key: str) -> None:
    if key in world.rig.broken_keys:
        world.rig.mishaps.mend_key(key)


def write_defaults(world: World) -> str:
    """A client writes, breaks or removes the defaults of all brokers; in a few worlds they allow unclean election."""
    said = world.pick(("true", "false")) if world.allows_unclean else "false"
    settings = {"version": 1, "config": world.pick(({UNCLEAN: said}, {"log.retention.ms": "5"}, {}))}
    value = None if world.happens(0.2) else json.dumps(settings).encode()
    write(world.rig.server, keys.BROKER_DEFAULTS, value)
    if value is not None and world.happens(0.25):
        world.rig.mishaps.break_key(keys.BROKER_DEFAULTS)
        world.later(for_ms(world), lambda: _mend_if_broken(world, keys.BROKER_DEFAULTS))
    return f"somebody else writes the defaults of all brokers: {value!r}"


TROUBLE: Final[tuple[tuple[int, Deed], ...]] = (
    (3, kill_controller),
    (4, pause_controller),
    (3, cut_from_store),
    (3, cut_from_broker),
    (2, expire_session),
    (2, jump),
    (6, one_commit_fails),
    (3, shaky_store),
    (1, forced_resync),
    (2, late_commits),
    (3, bad_network),
    (2, slow_broker),
    (4, kill_broker),
    (4, shut_down_broker),
    (3, bounce_broker),
    (5, pause_broker),
    (2, expire_broker),
    (3, foreign_write),
    (2, break_key),
    (1, write_defaults),
)
"""How often, in proportion, and what."""
