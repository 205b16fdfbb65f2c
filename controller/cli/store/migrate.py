"""`kedge store migrate FROM TO`: moves a running cluster to another store (docs/migrating.md).

Progress goes to stderr, the result to stdout. After an exit code other than 0 the same command continues.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Final

import click

from ....stores import MemoryStore, StoreError, open_store, public_url
from ....stores.base import Invalid, MetadataStore
from ...migration import NO_BROKERS, MigrationRefused, Plan, Stage
from ...model.plural import counted
from ...runtime.clock import Chance, SystemClock
from ...runtime.collector import tuned
from ...runtime.migration import Migration, TimedOut, Verification
from ..options import command, option, plain_option, quiet_option
from ..printing import clean, confirm, fail, note, of_system, say
from .meant import require_kind
from .opening import MEMORY, Told, bar, file_of, is_same_place

NOTHING_BEGUN: Final = "nothing to abort: no migration from FROM to TO has started"
_FOREIGN: Final = "others wrote to FROM after its fence, and those changes were not copied"
LINES_MAX: Final = 20  # of keys that are named


@command(
    "migrate",
    example="kedge store migrate --dry-run \\\n    zookeeper://localhost:2181/kedge etcd://localhost:2379/kedge",
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@option("--dry-run", is_flag=True, help="Print what would be done, and write nothing.")
@option("--verify", is_flag=True, help="Compare both stores key by key, and write nothing.")
@option("--abort", is_flag=True, help="Before FROM is fenced: delete what was copied.")
@option(
    *("--timeout", "timeout_s"),
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=600.0,
    help="Seconds to wait until every live broker is registered in TO.",
)
@option("--without-brokers", is_flag=True, help="Wait for no broker, because none is registered in FROM.")
@plain_option
@quiet_option
def migrate(
    source: str,
    target: str,
    *,
    dry_run: bool,
    verify: bool,
    abort: bool,
    timeout_s: float,
    without_brokers: bool,
    plain: bool,
) -> None:
    """Move a running cluster from one store to another.

    FROM and TO are URLs; TO is empty. Copies all keys, waits until the brokers are registered in TO, fences FROM, and
    copies the rest (docs/migrating.md). After an interruption the same command continues.

    Exit code: 0 done; 1 brokers were not in time, the stores differ, or others wrote to FROM; 2 the input cannot be
    used, or a store failed.
    """
    if dry_run + verify + abort > 1:
        raise click.UsageError("--dry-run, --verify and --abort exclude each other")
    _demand_two(source, target)
    with _errors_told(), tuned():
        if verify:
            sys.exit(_verify(source, target))
        if dry_run or MEMORY in {source[: len(MEMORY)], target[: len(MEMORY)]}:  # a file is written by its closing
            plan = _plan(source, target, aborts=abort)
            if dry_run:
                _print_plan(plan)
            if plan.stage in (Stage.NEW, Stage.COPYING) and not abort:
                _demand_none(plan, without_brokers=without_brokers)
        if not dry_run:
            migration = partial(_run, timeout_s=timeout_s, without_brokers=without_brokers, plain=plain)
            sys.exit((_abort if abort else migration)(source, target))


def _demand_none(plan: Plan, *, without_brokers: bool) -> None:
    """Exits with 2 where something prevents the migration."""
    unknown = () if plan.live or without_brokers else (NO_BROKERS,)
    if against := (*plan.obstacles, *unknown):
        fail("; ".join(against))


def _demand_two(source: str, target: str) -> None:
    for name, url in (("FROM", source), ("TO", target)):
        if url == MEMORY:
            fail(f"{name}: expected a store that other processes see, got memory: without a file")
    if source.startswith(MEMORY) and not file_of(source).exists():
        fail(f"FROM: no such file: {file_of(source)}")
    if is_same_place(source, target):
        fail("FROM and TO are the same store, or one is below the other")


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except TimedOut as error:
        say(f"{error}; FROM is not fenced yet: run the command again, or with --abort")
        sys.exit(1)
    except (MigrationRefused, StoreError, ValueError) as error:
        fail(" ".join(str(error).split()) or type(error).__name__)
    except OSError as error:
        fail(of_system(error))


# --- the stores


def _with(source: MetadataStore, target: MetadataStore, urls: tuple[str, str], told: Told) -> Migration:
    names = (public_url(urls[0]), public_url(urls[1]))
    return Migration(source, target, names, clock=SystemClock(), chance=Chance(), pause=time.sleep, say=note, told=told)


def _looked_at(url: str) -> MetadataStore:
    """A store that is only read; one whose file does not exist is empty."""
    if not url.startswith(MEMORY):
        return open_store(url)
    return open_store(url, read_only=True) if file_of(url).exists() else MemoryStore()


def _as_it_is(url: str) -> MetadataStore:
    """A store to remove keys from; a file that does not exist is not created."""
    return _looked_at(url) if url.startswith(MEMORY) and not file_of(url).exists() else open_store(url)


@contextmanager
def _opened(
    source: str,
    target: str,
    opening: Callable[[str], MetadataStore],
    *,
    moves: bool = False,
    plain: bool = True,
) -> Iterator[Migration]:
    """`moves`: the cluster is to be moved, so it must be one that Kedge leads."""
    with closing(opening(source)) as here, closing(opening(target)) as there, bar("copying", shown=not plain) as told:
        if moves:
            _demand_kind(here)
        yield _with(here, there, (source, target), told)


def _demand_kind(source: MetadataStore) -> None:
    try:
        require_kind(source, kafka_brokers=False)
    except Invalid as error:
        raise Invalid(f"FROM: {error}") from None


# --- what it does


def _plan(source: str, target: str, *, aborts: bool) -> Plan:
    with _opened(source, target, _looked_at, moves=not aborts) as migration:
        return migration.plan()


def _run(source: str, target: str, *, timeout_s: float, without_brokers: bool, plain: bool) -> int:
    with _opened(source, target, open_store, moves=True, plain=plain) as migration:
        strangers = migration.run(timeout_s, without_brokers=without_brokers)
    confirm(f"moved to {clean(public_url(target))}; no controller can be active on FROM any more")
    return _told(_FOREIGN, strangers)


def _abort(source: str, target: str) -> int:
    with _opened(source, target, _as_it_is) as migration:
        took_back = migration.abort()
    confirm("aborted: neither store has keys of the migration" if took_back else NOTHING_BEGUN)
    return 0


def _verify(source: str, target: str) -> int:
    with _opened(source, target, _looked_at) as migration:
        found = migration.verify()
    click.echo(_summary(found))
    differing = _told("the stores differ", found.differing)
    return max(differing, _told(_FOREIGN, found.foreign))


def _summary(found: Verification) -> str:
    if found.compared or found.stage in (Stage.COPYING, Stage.FENCED):
        return f"{counted(found.compared, 'key')} compared, {len(found.differing)} differ (stage: {found.stage.value})"
    return "a controller is active on TO, which changes since: only FROM was compared, with its keys at the fence"


def _told(what: str, found: tuple[tuple[str, str], ...]) -> int:
    """The keys, the first of them by name; the exit code."""
    if not found:
        return 0
    click.echo(f"{what}: {counted(len(found), 'key')}")
    for key, why in found[:LINES_MAX]:
        click.echo(f"  {clean(key)}: {why}")
    if len(found) > LINES_MAX:
        click.echo(f"  and {len(found) - LINES_MAX} more")
    return 1


def _print_plan(plan: Plan) -> None:
    leads = "none" if plan.controller_id is None else f"controller {plan.controller_id}"
    rows = (
        ("stage", plan.stage.value),
        ("controller of FROM", leads),
        ("FROM has", f"{counted(plan.topics, 'topic')}, {counted(plan.partitions, 'partition')}"),
        (
            "to copy in all",
            f"{counted(plan.keys, 'key')}, {plan.bytes} bytes; {counted(plan.left_out, 'key')} left out",
        ),
        ("to copy now", f"{counted(plan.changes, 'key')} in {counted(plan.commits, 'commit')}"),
        ("continues in TO", f"{counted(plan.moves, 'move')}, {counted(plan.intents, 'replica')} to delete"),
        ("live brokers", " ".join(map(str, plan.live)) or "none"),
        ("not registered in TO", " ".join(map(str, plan.missing)) or "none"),
    )
    for name, value in rows:
        click.echo(f"{name + ':':<22}{value}")
