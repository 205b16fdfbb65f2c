"""Validated tables, loads and a request -> a plan: what moves, what does not and why, and the result.

The kernel decides, and `planned` makes tables of it. The same tables and request give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from ..errors import BadInput, NothingAsked
from ..kernel import balance, demotion, leaders, level, moves
from ..kernel.cluster import Bools, Cluster
from ..kernel.goals import Goals, exceeded
from ..kernel.moves import Told, quiet
from ..kernel.outcome import Outcome
from ..tables.arrow import Arrow, empty
from ..tables.declared import REPLICA_LOG
from .added import with_added
from .arrays import Limits, lagging, leaving, to_cluster
from .choice import Choice, applied, named_brokers
from .disks import balanced, directories, new_places, several
from .planned import Named, Scene, tables_of, tables_of_disks, tables_of_places, tables_of_reduction
from .requests import (
    KINDS,
    Add,
    BalanceDisks,
    Demote,
    Drain,
    FixRacks,
    Leaders,
    Rebalance,
    ReducePartitions,
    Request,
    SetFactor,
    Undo,
)
from .snapshots import digest
from .undo import undo
from .unplanned import with_unplanned


def plan(
    tables: Mapping[str, Arrow],
    request: Request,
    *,
    name: str,
    limits: Limits | None = None,
    choice: Choice | None = None,
    ignore_racks: bool = False,
    told: Told = quiet,
) -> dict[str, Arrow]:
    """The plan `name` for `request`, as tables by name; for Undo, `tables` has the `plan_move` of the plan to undo.
    Raises BadInput if the request or the choice names something absent, or only some brokers have racks."""
    chosen, wanted = limits or Limits(), choice or Choice()
    broker = with_added(tables, request)
    load = tables["replica_load"]
    cluster = to_cluster(broker, tables["partition"], load, limits=chosen, ignore_racks=ignore_racks)
    disks = several(tables.get("log_dir"), cluster.brokers)
    cluster = attrs.evolve(cluster, directories=directories(disks, chosen))
    draining = leaving(broker, cluster.brokers)
    going = _going(cluster, request, draining)
    settings = _settings(request, wanted, chosen, ignore_racks=ignore_racks)
    named = Named(name, KINDS[type(request)], settings, digest(cluster, tables["broker"]))
    racks = dict(zip(broker["broker_id"].to_pylist(), broker["rack"].to_pylist(), strict=True))
    cluster = applied(wanted, cluster, racks, cluster.alive & ~draining & ~going)
    scene = Scene(cluster, going, (draining & ~going) | cluster.keeps, told, tables["partition"])
    if isinstance(request, ReducePartitions):
        return tables_of_reduction(scene, request, load, named)
    if isinstance(request, Undo):
        return tables_of(scene, undo(cluster, tables["plan_move"], request, scene.usable), named)
    if isinstance(request, BalanceDisks):
        among = named_brokers(cluster, request.brokers) if request.brokers else cluster.alive
        among = among & cluster.alive & ~cluster.keeps
        disks = {broker: rows for broker, rows in disks.items() if among[broker]}
        logs = tables.get("replica_log", empty(REPLICA_LOG))
        if not disks or not logs.num_rows:
            raise NothingAsked("balance-disks: none of the brokers has several log directories in the snapshot")
        return tables_of_disks(scene, balanced(cluster, logs, disks, chosen, request.tolerance), named)
    ids, outcome = frozenset(cluster.brokers[going].tolist()), _decide(scene, request)
    found = tables_of(scene, outcome, named) | tables_of_places(cluster, name, new_places(cluster, outcome, disks))
    return with_unplanned(found, tables.get("rejected_rows"), request, ids, wanted)


def _going(cluster: Cluster, request: Request, draining: Bools) -> Bools:
    if not isinstance(request, Drain | Demote):
        return np.zeros(len(cluster.brokers), np.bool_)
    if request.brokers:
        return named_brokers(cluster, request.brokers)
    if not draining.any():
        raise NothingAsked("drain: no broker was named, and none has the state draining")
    return draining


def _decide(scene: Scene, request: Request) -> Outcome:
    deciders: dict[type, Callable[[Any], Outcome]] = {
        Drain: lambda _: moves.drain(scene.cluster, scene.leaving, scene.closed, told=scene.told),
        Add: lambda asked: _level(scene, asked, _added(scene, asked)),
        Rebalance: lambda asked: _balance(scene, asked),
        FixRacks: lambda _: moves.fix_racks(scene.cluster, scene.closed, _lagging(scene), told=scene.told),
        SetFactor: lambda asked: _set_factor(scene, asked),
        Leaders: lambda _: leaders.leaders(scene.cluster, scene.usable),
        Demote: lambda _: demotion.demote(scene.cluster, scene.leaving, scene.usable, _lagging(scene)),
    }
    return deciders[type(request)](request)


def _added(scene: Scene, asked: Add) -> Bools:
    named = named_brokers(scene.cluster, tuple(broker for broker, _ in asked.brokers))
    closed = named & ~(scene.usable & scene.cluster.takes)
    if closed.any():
        what = "are dead or draining, or left out by --exclude-brokers or --to-brokers"
        raise BadInput(f"brokers {scene.cluster.brokers[closed].tolist()} {what}: no replica can be moved to them")
    return named


def _level(scene: Scene, asked: Add | Rebalance, receivers: Bools) -> Outcome:
    limits = {"tolerance": asked.tolerance, "bytes_max": asked.bytes_max}
    return level.level(scene.cluster, scene.closed, receivers, told=scene.told, **limits)  # type: ignore[arg-type]


def _balance(scene: Scene, asked: Rebalance) -> Outcome:
    goals = Goals(asked.by, asked.tolerance, asked.bytes_max, asked.replicas_max, asked.leaders_max)
    if set(asked.by) == {"bytes"} and not exceeded(scene.cluster, goals, scene.usable):
        return _level(scene, asked, scene.usable)
    return balance.balance(scene.cluster, scene.closed, scene.usable & scene.cluster.takes, goals, told=scene.told)


def _set_factor(scene: Scene, asked: SetFactor) -> Outcome:
    return moves.set_factor(scene.cluster, scene.closed, asked.factor, _lagging(scene), told=scene.told)


def _lagging(scene: Scene) -> dict[int, frozenset[int]]:
    return lagging(scene.cluster, scene.partition)


def _settings(request: Request, choice: Choice, limits: Limits, *, ignore_racks: bool) -> list[tuple[str, str]]:
    said = {**attrs.asdict(request), **attrs.asdict(choice), **attrs.asdict(limits), "ignore_racks": ignore_racks}
    return sorted((key, json.dumps(value)) for key, value in said.items())
