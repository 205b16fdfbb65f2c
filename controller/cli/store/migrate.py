"""`kedge store migrate FROM TO`: a cluster goes to another store while it works (docs/migrating.md).

* Progress goes to stderr, what came of it to stdout.
* Exit code: 0 done; 1 brokers did not come in time, the stores differ, or others wrote to FROM after its fence; 2 what
  was given cannot be used, or a store failed. After 1 and 2 the same command goes on where it was.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import click

from controller.cli.printing import clean, fail, of_system, say
from controller.cli.store.opening import Told, bar
from controller.migration import NO_BROKERS, MigrationRefused, Plan, Stage
from controller.runtime.clock import Chance, SystemClock
from controller.runtime.collector import tuned
from controller.runtime.migration import Migration, TimedOut, Verification
from stores import MemoryStore, StoreError, open_store, public_url
from stores.base import MetadataStore

NOTHING_BEGUN: Final = "nothing to abort: no move of FROM to TO has begun"
LINES_MAX: Final = 20  # of keys that are named
_MEMORY: Final = "memory:"
_PORTS: Final = {"zookeeper": "2181", "etcd": "2379"}  # where a url names none


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--dry-run", is_flag=True, help="Say what it would do; write nothing.")
@click.option("--verify", is_flag=True, help="Compare both stores key by key; write nothing.")
@click.option("--abort", is_flag=True, help="Before the fence: take back what was copied.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Seconds to wait until every live broker is registered in TO.",
)
@click.option("--without-brokers", is_flag=True, help="No broker is registered in FROM, and none is waited for.")
@click.option("--plain", is_flag=True, help="No progress bar; so it is, too, where stderr is no terminal.")
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
    """Move the cluster in the store FROM to the store TO, which holds nothing, while it works.

    FROM and TO are urls, for example zookeeper://HOST:PORT/CHROOT and etcd://HOST:PORT/PREFIX. Run again, it goes on
    where it was.
    """
    if dry_run + verify + abort > 1:
        raise click.UsageError("--dry-run, --verify and --abort exclude each other")
    _demand_two(source, target)
    with _errors_told(), tuned():
        if verify:
            sys.exit(_verify(source, target))
        if dry_run or _MEMORY in {source[: len(_MEMORY)], target[: len(_MEMORY)]}:  # a file is written by its closing
            plan = _plan(source, target)
            if dry_run:
                _print_plan(plan)
            if plan.stage in (Stage.NEW, Stage.COPYING) and not abort:
                _demand_none(plan, without_brokers=without_brokers)
        if not dry_run:
            migration = partial(_run, timeout_s=timeout_s, without_brokers=without_brokers, plain=plain)
            sys.exit((_abort if abort else migration)(source, target))


def _demand_none(plan: Plan, *, without_brokers: bool) -> None:
    """Nothing stands against it."""
    unknown = () if plan.live or without_brokers else (NO_BROKERS,)
    if against := (*plan.obstacles, *unknown):
        fail("; ".join(against))


def _demand_two(source: str, target: str) -> None:
    for name, url in (("FROM", source), ("TO", target)):
        if url == _MEMORY:
            fail(f"{name} is memory: without a file, which nobody else sees")
    if source.startswith(_MEMORY) and not _file(source).exists():
        fail(f"FROM: there is no file {_file(source)}")
    if is_same_place(source, target):
        fail("FROM and TO are the same store, or one stands below the other")


def is_same_place(source: str, target: str) -> bool:
    """Whether both urls name the same store, or one below the other. Servers that have several names are not known."""
    if _MEMORY in {source[: len(_MEMORY)], target[: len(_MEMORY)]}:
        return (
            source.startswith(_MEMORY)
            and target.startswith(_MEMORY)
            and _file(source).resolve() == _file(target).resolve()
        )
    (scheme, hosts, path), (other, other_hosts, other_path) = _place(source), _place(target)
    is_nested = f"{path}/".startswith(f"{other_path}/") or f"{other_path}/".startswith(f"{path}/")
    return scheme == other and not hosts.isdisjoint(other_hosts) and is_nested


def _place(url: str) -> tuple[str, frozenset[str], str]:
    """Scheme, servers and path."""
    scheme, _, place = public_url(url).partition("://")
    hosts, _, path = place.partition("/")
    port = _PORTS.get(scheme, "")
    named = (host if host.rpartition(":")[2].isdecimal() else f"{host}:{port}" for host in hosts.lower().split(","))
    return scheme, frozenset(named), f"/{unquote(path)}".rstrip("/")


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except TimedOut as error:
        say(f"{error}; nothing is fenced: run it again, or with --abort")
        sys.exit(1)
    except (MigrationRefused, StoreError, ValueError) as error:
        fail(" ".join(str(error).split()) or type(error).__name__)
    except OSError as error:
        fail(of_system(error))


# --- the stores


def _with(source: MetadataStore, target: MetadataStore, urls: tuple[str, str], told: Told) -> Migration:
    names = (public_url(urls[0]), public_url(urls[1]))
    return Migration(source, target, names, clock=SystemClock(), chance=Chance(), pause=time.sleep, say=say, told=told)


def _looked_at(url: str) -> MetadataStore:
    """A store that nothing is written to, not even its file by closing it; one that is not there holds nothing."""
    if not url.startswith(_MEMORY):
        return open_store(url)
    return open_store(url, read_only=True) if _file(url).exists() else MemoryStore()


def _as_it_is(url: str) -> MetadataStore:
    """A store to take something back from: a file that is not there is not made."""
    return _looked_at(url) if url.startswith(_MEMORY) and not _file(url).exists() else open_store(url)


def _file(url: str) -> Path:
    return Path(url.removeprefix(_MEMORY))


@contextmanager
def _opened(
    source: str,
    target: str,
    opening: Callable[[str], MetadataStore],
    *,
    plain: bool = True,
) -> Iterator[Migration]:
    with closing(opening(source)) as here, closing(opening(target)) as there, bar("copying", shown=not plain) as told:
        yield _with(here, there, (source, target), told)


# --- what it does


def _plan(source: str, target: str) -> Plan:
    with _opened(source, target, _looked_at) as migration:
        return migration.plan()


def _run(source: str, target: str, *, timeout_s: float, without_brokers: bool, plain: bool) -> int:
    with _opened(source, target, open_store, plain=plain) as migration:
        strangers = migration.run(timeout_s, without_brokers=without_brokers)
    click.echo(f"moved to {clean(public_url(target))}: FROM is led by nobody any more")
    return _told("FROM was written by others after its fence, and that was not copied", strangers)


def _abort(source: str, target: str) -> int:
    with _opened(source, target, _as_it_is) as migration:
        took_back = migration.abort()
    click.echo("aborted: neither store holds anything of the move" if took_back else NOTHING_BEGUN)
    return 0


def _verify(source: str, target: str) -> int:
    with _opened(source, target, _looked_at) as migration:
        found = migration.verify()
    click.echo(_summary(found))
    differing = _told("the stores differ", found.differing)
    return max(differing, _told("FROM was written by others after its fence, and that was not copied", found.foreign))


def _summary(found: Verification) -> str:
    if found.compared or found.stage in (Stage.COPYING, Stage.FENCED):
        return f"{counted(found.compared, 'key')} compared, {len(found.differing)} differ (stage: {found.stage.value})"
    return "a controller leads over TO, which goes its own way: FROM alone was compared with what it held at its fence"


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


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _print_plan(plan: Plan) -> None:
    leads = "nobody" if plan.controller_id is None else f"controller {plan.controller_id}"
    rows = (
        ("stage", plan.stage.value),
        ("leads over FROM", leads),
        ("holds", f"{counted(plan.topics, 'topic')}, {counted(plan.partitions, 'partition')}"),
        (
            "the whole copy",
            f"{counted(plan.keys, 'key')}, {plan.bytes} bytes; {counted(plan.left_out, 'key')} left out",
        ),
        ("to be copied", f"{counted(plan.changes, 'key')} in {counted(plan.commits, 'commit')}"),
        ("goes on after it", f"{counted(plan.moves, 'move')}, {counted(plan.intents, 'replica')} to delete"),
        ("live brokers", " ".join(map(str, plan.live)) or "none"),
        ("not registered in TO", " ".join(map(str, plan.missing)) or "none"),
    )
    for name, value in rows:
        click.echo(f"{name + ':':<22}{value}")
