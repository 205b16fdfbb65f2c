"""`kedge store migrate FROM TO`: moves a cluster to another store (docs/store-commands.md)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ....stores import MemoryStore, MetadataStore, StoreError, public_url
from ....stores.base import Invalid
from ...model.plural import counted
from ...runtime.clock import IdSource
from ...runtime.gc_tuning import tuned
from ...runtime.migration import Migration
from ..options import command, json_option, plain_option, quiet_option
from ..printing import clean, compact, confirm, fail, one_line, say
from .meant import require_cluster, require_kind
from .opening import MEMORY, bar, file_of, is_same_place, opened


@command("migrate", example="kedge store migrate zookeeper://zk1:2181/kedge etcd://etcd1:2379/kedge")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option("Print what was done as one JSON object.")
@plain_option
@quiet_option
def migrate(source: str, target: str, *, as_json: bool, plain: bool) -> None:
    """Move a cluster to another store.

    FROM and TO are URLs; TO is empty. Close all controllers before; brokers may run on. Copies all keys, raises the
    leader epochs, compares both stores, and marks FROM as moved. Running reassignments continue in TO.

    Exit code: 0 moved; 1 the move broke off, and the same command continues it; 2 nothing was written.
    """
    _demand_two(source, target)
    with tuned():
        if MEMORY in {source[: len(MEMORY)], target[: len(MEMORY)]}:
            with _checked(source, target, read_only=True):
                pass  # a file is written when its store is closed, so it is checked before by one that does not
        with _checked(source, target, read_only=False, plain=plain) as migration:
            count = _run(migration)
    if as_json:
        click.echo(compact({"from": public_url(source), "to": public_url(target), "keys": count}))
    else:
        confirm(clean(f"moved to {public_url(target)}, {counted(count, 'key')} copied; start the controllers there"))


def _demand_two(source: str, target: str) -> None:
    for name, url in (("FROM", source), ("TO", target)):
        if url == MEMORY:
            fail(f"{name}: expected a store that other processes see, got memory: without a file")
    if source.startswith(MEMORY) and not file_of(source).exists():
        fail(f"FROM: no such file: {file_of(source)}")
    if is_same_place(source, target):
        fail("FROM and TO are the same store, or one is below the other")


@contextmanager
def _checked(source: str, target: str, *, read_only: bool, plain: bool = True) -> Iterator[Migration]:
    """A migration that is possible. Exits with 2 for any other."""
    is_new = read_only and target.startswith(MEMORY) and not file_of(target).exists()
    with (
        opened(source, read_only=read_only) as here,
        opened(MEMORY if is_new else target, read_only=read_only and not is_new) as there,
        bar("copying", shown=not plain) as told,
    ):
        names = (public_url(source), public_url(target))
        migration = Migration(here, there, names, id_source=IdSource(), told=told, save=_save)
        try:
            _demand_cluster(here)
            migration.check()
        except StoreError as error:
            fail(f"{one_line(error)}; nothing was written")
        yield migration


def _demand_cluster(source: MetadataStore) -> None:
    try:
        require_cluster(source)
        require_kind(source, kafka_brokers=False)
    except Invalid as error:
        raise Invalid(f"FROM: {error}") from None


def _save(store: MetadataStore) -> None:
    if isinstance(store, MemoryStore):
        store.server.save()


def _run(migration: Migration) -> int:
    try:
        return migration.run()
    except (StoreError, OSError) as error:
        why = one_line(error)
    except KeyboardInterrupt:
        why = "interrupted"
    say(f"the move broke off: {why}; the same command continues it")
    sys.exit(1)
