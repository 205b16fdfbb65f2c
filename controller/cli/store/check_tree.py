"""`kedge store audit`: checks the keys of a cluster for what is broken, inconsistent or left behind.

Findings go to stdout, as a table or one JSON object. Text from keys has its control characters escaped, because others
wrote it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final, cast

import attrs
import click

from ....stores import StoreError, open_store, public_url
from ....stores.base import InvalidKey
from ....stores.checks import below, check_prefix
from ...check import SEVERITIES, Finding, Report, Severity, check_store
from ...model.plural import counted
from ..options import command, json_option, option
from ..printing import clean, compact, fail, print_pages, shortened, without_place
from .opening import one_store, uncollected

TIMEOUT_S: Final = 60.0  # of a read; there are two at most
CELL_CHARACTERS_MAX: Final = 200

_COLUMNS: Final = {"severity": None, "kind": None, "key": 0, "what": 0, "expected": 0, "got": 0}
_STYLES: Final = {"error": "bold red", "warning": "yellow", "note": ""}


@command("audit", example="kedge store audit zookeeper://localhost:2181/kedge --severity note")
@click.argument("url", metavar="STORE", required=False)
@option("--store", "by_option", metavar="URL", none="the argument", help="The same as the argument STORE.")
@option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default="warning",
    help="Least severity of findings to show and to exit with 1 for.",
)
@option("--key", "prefix", metavar="PREFIX", default="/", help="Key to check, with all keys below it.")
@json_option()
def audit(url: str | None, *, by_option: str | None, as_json: bool, severity: str, prefix: str) -> None:
    """Check the keys of a cluster for what is broken, inconsistent or left behind.

    STORE is a URL: memory:FILE, zookeeper://HOST:PORT/CHROOT or etcd://HOST:PORT/PREFIX. Prints one line per finding;
    docs/check.md explains each kind. Nothing is written, and the cluster may be running.

    Exit code: 0 no finding of the severity or worse; 1 findings; 2 STORE cannot be read.
    """
    url, wanted = one_store(url, by_option), _prefix(prefix)
    report = _read(url)
    report = attrs.evolve(report, findings=tuple(f for f in report.findings if _is_within(f.key, wanted)))
    shown = report.at_least(cast("Severity", severity))
    if as_json:
        click.echo(compact(_object(url, report, shown)))
    else:
        print_pages(_COLUMNS, map(_row, shown))
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
    try:
        with uncollected(), closing(open_store(url, read_only=True)) as store:
            return check_store(store, timeout_s=TIMEOUT_S)
    except (StoreError, OSError, ValueError) as error:
        fail(f"{public_url(url).removesuffix(':')}: cannot be read: {without_place(error)}")


def _object(url: str, report: Report, shown: Sequence[Finding]) -> dict[str, Any]:
    severities = Counter(finding.severity for finding in report.findings)
    return {
        "store": public_url(url),
        "consistent": report.consistent,
        "counts": attrs.asdict(report.counts),
        "severities": {severity: severities[severity] for severity in SEVERITIES},
        "findings": [attrs.asdict(finding) for finding in shown],
    }


def _summary(report: Report, shown: int) -> str:
    severities, counts = Counter(finding.severity for finding in report.findings), report.counts
    found = ", ".join(counted(severities[severity], severity) for severity in SEVERITIES)
    held = ", ".join(
        (
            counted(counts.topics, "topic"),
            counted(counts.partitions, "partition"),
            counted(counts.brokers, "registered broker"),
            counted(counts.moves, "move"),
            counted(counts.intents, "replica") + " to delete",
        )
    )
    hidden = "" if shown == len(report.findings) else "; --severity note shows all"
    moment = "" if report.consistent else "; keys changed meanwhile, so only findings that were seen twice are shown"
    return f"{held}: {found}{hidden}{moment}"


def _row(finding: Finding) -> tuple[list[str], str]:
    cells = [shortened(str(getattr(finding, name)), CELL_CHARACTERS_MAX) for name in _COLUMNS]
    return cells, _STYLES[finding.severity]
