"""`kedge check STORE`: what is broken, inconsistent or left behind in the tree of a cluster; nothing is written.

* Findings go to stdout as a table, one line each, or as one JSON object; errors of the command itself go to stderr.
* Exit code: 0 nothing of the chosen severity or worse, 1 findings, 2 the store cannot be read.
* What stands in keys was written by strangers: it is shown with its control characters escaped.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final, cast

import attrs
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from controller.check import SEVERITIES, Finding, Report, Severity, check_store
from controller.cli.printing import clean, fail, print_unfolded, shortened, without_place
from stores import StoreError, open_store, public_url
from stores.base import InvalidKey
from stores.checks import below, check_prefix

TIMEOUT_S: Final = 60.0  # of a read; there are two at most
TABLE_ROWS: Final = 500  # the widths of a table are known only when all of its rows are
CELL_CHARACTERS_MAX: Final = 200

_HEADINGS: Final = ("severity", "kind", "key", "what", "expected", "got")
_STYLES: Final = {"error": "bold red", "warning": "yellow", "note": ""}


@click.command("check-tree")
@click.argument("url", metavar="STORE")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="Show findings of this severity and worse; exit with 1 if there are any.",
)
@click.option("--key", "prefix", metavar="PREFIX", default="/", help="Only findings of this key and those below it.")
def check_tree(url: str, *, as_json: bool, severity: str, prefix: str) -> None:
    """Look at the tree of a cluster and say what is broken, inconsistent or left behind. Writes nothing.

    STORE is a url: memory:FILE, zookeeper://HOST:PORT/CHROOT or etcd://HOST:PORT/PREFIX. The kinds of findings are
    listed in docs/check.md.
    """
    wanted = _prefix(prefix)
    report = _read(url)
    report = attrs.evolve(report, findings=tuple(f for f in report.findings if _is_within(f.key, wanted)))
    shown = report.at_least(cast("Severity", severity))
    if as_json:
        click.echo(json.dumps(_object(_place(url), report, shown), separators=(",", ":")))
    else:
        console = Console()
        for start in range(0, len(shown), TABLE_ROWS):
            _print_table(console, shown[start : start + TABLE_ROWS])
        click.echo(_summary(report, len(shown)))
    sys.exit(1 if shown else 0)


def _prefix(given: str) -> str:
    prefix = given.rstrip("/") or "/"
    try:
        check_prefix(prefix)
    except InvalidKey as error:
        raise click.UsageError(f"--key: {clean(str(error))}") from None
    return prefix


def _is_within(key: str, prefix: str) -> bool:
    return key == prefix or key.startswith(below(prefix))


def _read(url: str) -> Report:
    gc.disable()  # hundreds of thousands of values are made, and all of them stay until the end
    try:
        with closing(open_store(url, read_only=True)) as store:
            return check_store(store, timeout_s=TIMEOUT_S)
    except (StoreError, OSError, ValueError) as error:
        fail(f"{public_url(url)} cannot be read: {without_place(error)}")
    finally:
        gc.enable()


def _place(url: str) -> str:
    """The url as it may be shown: options of a server's url may hold a password."""
    return url.partition("?")[0] if "://" in url else url


def _object(url: str, report: Report, shown: Sequence[Finding]) -> dict[str, Any]:
    said = Counter(finding.severity for finding in report.findings)
    return {
        "store": public_url(url),
        "consistent": report.consistent,
        "counts": attrs.asdict(report.counts),
        "severities": {severity: said[severity] for severity in SEVERITIES},
        "findings": [attrs.asdict(finding) for finding in shown],
    }


def _summary(report: Report, shown: int) -> str:
    said, counts = Counter(finding.severity for finding in report.findings), report.counts
    found = ", ".join(_number(said[severity], severity) for severity in SEVERITIES)
    held = ", ".join(
        (
            _number(counts.topics, "topic"),
            _number(counts.partitions, "partition"),
            _number(counts.brokers, "registered broker"),
            _number(counts.moves, "move"),
            _number(counts.intents, "replica") + " to delete",
        )
    )
    hidden = "" if shown == len(report.findings) else "; --severity note shows all"
    moment = "" if report.consistent else "; read while it changed, what is told was seen twice"
    return f"{held}: {found}{hidden}{moment}"


def _number(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def _print_table(console: Console, page: Sequence[Finding]) -> None:
    """The findings of a page; columns that say nothing in it are left out."""
    rows = [
        [shortened(clean(str(getattr(finding, name))), CELL_CHARACTERS_MAX) for name in _HEADINGS] for finding in page
    ]
    used = [i for i in range(len(_HEADINGS)) if any(row[i] for row in rows)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i in used:
        table.add_column(_HEADINGS[i], overflow="fold", no_wrap=_HEADINGS[i] in {"severity", "kind"})
    for finding, row in zip(page, rows, strict=True):
        # Text, not str: brackets of lists would be read as rich's markup.
        table.add_row(*(Text(row[i]) for i in used), style=_STYLES[finding.severity])
    if console.is_terminal:
        console.print(table)
        return
    print_unfolded(console, table)
