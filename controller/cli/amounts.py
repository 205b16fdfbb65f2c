"""Numbers of bytes as options of commands."""

from __future__ import annotations

import re
from typing import Any, Final

import click

_AMOUNT: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,3}))?\s*([KMGTP]i?B?|B)?")
_UNITS: Final = "KMGTP"


class Amount(click.ParamType[int]):
    """A number of bytes: 123, 5GiB (1024), 5GB (1000)."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = None if isinstance(value, int) else _AMOUNT.fullmatch(str(value))
        if isinstance(value, int):
            return value
        if found is None:
            self.fail(f"{value!r:.80} is no number of bytes, as 123, 5GiB or 1.5GB are", param, ctx)
        unit = found[3] or ""
        factor = (1024 if "i" in unit else 1000) ** (_UNITS.index(unit[0]) + 1) if unit not in {"", "B"} else 1
        fraction = found[2] or ""
        return int(int(found[1] + fraction) * factor // 10 ** len(fraction))
