"""`kedge store`: what an operator does with a store as such: ask how it is (`check`), take its whole tree out (`dump`),
put one in (`load`), compare two (`diff`), have a cluster go on in another one (`migrate`).

A command is loaded when it is asked for: other commands use modules of this folder, and need not wait for all of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

_NAMES: Final = ("check", "diff", "dump", "load", "migrate")


class _Late(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click asks
        return list(_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click asks
        if cmd_name not in _NAMES:
            return None
        found = getattr(import_module(f"controller.cli.store.{cmd_name}"), cmd_name)
        assert isinstance(found, click.Command), found
        return found


@click.group(cls=_Late)
def store() -> None:
    """Ask a metadata store how it is; take a whole tree out of it, put one in, compare two; move a cluster to another.

    URL is memory:FILE, zookeeper://HOST:PORT[,...]/CHROOT or etcd://HOST:PORT[,...]/PREFIX, with options behind a "?".
    """
