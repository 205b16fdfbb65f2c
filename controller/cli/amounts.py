"""Numbers of bytes as options of commands."""

from __future__ import annotations

from typing import Any

import click

from pipeline.amounts import bytes_of


class Amount(click.ParamType[int]):
    """A number of bytes: 123, 5GiB (1024), 5GB (1000)."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = value if isinstance(value, int) else bytes_of(str(value))
        if found is None:
            self.fail(f"{value!r:.80} is no number of bytes, as 123, 5GiB or 1.5GB are", param, ctx)
        return found
