"""`kedge plan`: snapshots of clusters into plans for reassignments, and those into waves and files.

The commands are loaded when one is asked for: they need the extra `pipeline`, which the rest of `kedge` does without.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

import click

from controller.cli.printing import fail

_NEEDED: Final = ("numpy", "pyarrow")


class _Late(click.Group):
    def _load(self) -> None:
        if self.commands:
            return
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            fail(f"{' and '.join(missing)} not installed; run: pip install kedge[cli,pipeline]")
        from controller.cli.plan.verbs import COMMANDS  # noqa: PLC0415 - what it needs is known to be there only now

        for command in COMMANDS:
            self.add_command(command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        self._load()
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Late)
def plan() -> None:
    """Plan reassignments: collect a snapshot, make a plan, cut it into waves, export it.

    TABLES is the folder of Parquet tables that the commands share. Exit code: 0 done, 1 done but for what is told
    (refused moves, violations, quarantined rows), 2 arguments or input cannot be used.
    """
