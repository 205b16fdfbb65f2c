"""How commands declare their options, and the help that is made of them.

A command uses `command` and `option` from here instead of click's. Its help then shows an example below the text, and
the options in groups. Defaults are shown; limits that only repeat the width of an integer are not. Numbers are read by
the grammar of `kedge.controller.model.numerals`: click's own types for them call int() and float().
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import click

from ..model import numerals
from .printing import QUIET

T = TypeVar("T", bound=Callable[..., Any])

GENERAL: Final = "Options"
CONNECTION: Final = "Connection"
ENGINE: Final = "Engine"
OUTPUT: Final = "Output"
_LAST: Final = (ENGINE, OUTPUT)
"""Groups that many commands have. They follow those of the command itself, in this order."""
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{5,15}(Z|[+-][0-9]{2}:[0-9]{2})?)?")
_WIDEST: Final = 2**31 - 1  # a limit from here on is that of the field which takes the number


class Whole(click.IntRange):
    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - click's
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = numerals.whole(value, low=None, high=None) if isinstance(value, str) else value
        if found is None:
            self.fail(f"{value!r:.80} is not a valid {self.name}", param, ctx)
        return super().convert(found, param, ctx)


class Decimal(click.FloatRange):
    name = "number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - click's
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = numerals.decimal(value) if isinstance(value, str) else value
        if found is None:
            self.fail(f"{value!r:.80} is not a {self.name} such as 3 or 0.85", param, ctx)
        return super().convert(found, param, ctx)


class Amount(click.ParamType[int]):
    """A number of bytes: 123, 5GiB (1024), 5GB (1000)."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = value if isinstance(value, int) else numerals.size(str(value))
        if found is None:
            self.fail(f"{value!r:.80} is not a number of bytes such as 123, 5GiB or 1.5GB", param, ctx)
        return found


class Duration(click.ParamType[float]):
    """Seconds above 0: 90, 90s, 15m, 2h, 1d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = numerals.duration(str(value))
        if not found:
            self.fail(f"{value!r:.80} is not a duration such as 90s, 15m or 2h", param, ctx)
        return found


class Moment(click.ParamType[int]):
    """A time in ISO 8601, in UTC unless it has an offset, as Unix milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            found = datetime.fromisoformat(str(value)) if _ISO.fullmatch(str(value)) else None
        except ValueError:
            found = None
        if found is None:
            self.fail(f"{value!r:.80} is not a time such as 2026-11-28T12:00:00Z", param, ctx)
        return round(found.replace(tzinfo=found.tzinfo or UTC).timestamp() * 1000)


def _strict(kind: click.ParamType[Any]) -> click.ParamType[Any]:
    if isinstance(kind, Whole | Decimal):
        return kind
    limits: dict[str, Any] = {name: getattr(kind, name, None) for name in ("min", "max")}
    limits |= {name: getattr(kind, name, False) for name in ("min_open", "max_open")}
    if isinstance(kind, click.types.IntParamType):
        return Whole(**limits)
    return Decimal(**limits) if isinstance(kind, click.types.FloatParamType) else kind


class Option(click.Option):
    """An option with its `group`, the heading in the help. `none`: what happens without it, shown as its default."""

    group = GENERAL

    def __init__(self, *names: Any, group: str | None = None, none: str | None = None, **more: Any) -> None:
        if isinstance(more.get("type"), click.Path):
            more.setdefault("metavar", "FILE")
        super().__init__(*names, **more)
        self.type = _strict(self.type)
        self.group = group or self.group
        takes_value = not self.is_flag and "flag_value" not in more
        if none is None and takes_value and "default" not in more and "equired" not in f"{more} {self.help}":
            none = "none"
        self.show_default = none or True

    def get_help_extra(self, ctx: click.Context) -> Any:
        """As click has it, without parentheses around a default in words, and without limits that say nothing."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        extra.pop("range", None)
        if isinstance(self.type, click.IntRange | click.FloatRange):
            low, high = self.type.min, self.type.max
            if low is not None and high is not None and high < _WIDEST:
                extra["range"] = f"{low} to {high}"
            elif low:
                extra["range"] = f"at least {low}"
        return extra


class Command(click.Command):
    def __init__(self, *args: Any, example: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.example = example

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section for each group, in the order of their first options, and those of _LAST at the end."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is None:
                continue
            groups.setdefault(getattr(param, "group", OUTPUT), []).append(record)  # click's own is --help
        for group in sorted(groups, key=lambda name: _LAST.index(name) if name in _LAST else -1):
            with formatter.section(group):
                formatter.write_dl(groups[group])


def command(name: str | None = None, *, example: str) -> Callable[[Callable[..., Any]], Command]:
    return click.command(name, cls=Command, example=example)


def option(*names: str, **more: Any) -> Callable[[T], T]:
    """Declares an option; `group` and `none` as `Option` has them, and FILE for a path."""
    return click.option(*names, cls=Option, **more)


def group(name: str, *options: Callable[[Any], Any]) -> Callable[[T], T]:
    """Adds these options under a heading."""

    def add(command: T) -> T:
        for one in reversed(options):
            command = one(command)
            command.__click_params__[-1].group = name  # type: ignore[attr-defined]
        return command

    return add


def json_option(of: str = "Print one JSON object instead of text.") -> Callable[[T], T]:
    return option("--json", "as_json", is_flag=True, group=OUTPUT, help=of)


def plain_option(command: T) -> T:
    return option(
        *("--no-progress", "plain"),
        is_flag=True,
        group=OUTPUT,
        help="Show no progress bar, as when stderr is not a terminal.",
    )(command)


def quiet_option(command: T) -> T:
    """Adds --quiet: no progress and no confirmations (`printing.confirm`), as `printing.is_quiet` answers from then on.
    Results, warnings and errors are printed all the same, and so is the object of --json."""

    def keep(context: click.Context, _option: click.Parameter, given: bool) -> None:  # noqa: FBT001 - click calls it
        context.meta[QUIET] = given

    return option(
        *("-q", "--quiet"),
        is_flag=True,
        expose_value=False,
        callback=keep,
        group=OUTPUT,
        help="Print results, warnings and errors only.",
    )(command)
