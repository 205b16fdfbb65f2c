"""What `kedge journal audit` prints of one cluster or of several, and its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from controller.cli.printing import print_rows, say
from pipeline.audit import KINDS, Audit, Violation

SAID_MAX: Final = 50
"""Gaps and lines in quarantine that are printed one by one; of more their number is printed."""

Audits = Mapping[str, Audit]
"""By cluster. Where there are several, each line names its own."""


def print_json(audits: Audits) -> None:
    """A line each, and one of the whole at the end; with the cluster, where there are several."""
    for cluster, found in audits.items():
        whose = {"cluster": cluster} if len(audits) > 1 else {}
        for name, rows in (("violation", found.violations), ("gap", found.gaps), ("quarantined", found.quarantine)):
            for row in rows:
                click.echo(line_of({**whose, name: row._asdict()}))
        counts: dict[str, Any] = found.counts._asdict() | {"events": dict(found.counts.events)}
        totals = {name: len(getattr(found, name)) for name in ("violations", "gaps", "quarantine")}
        click.echo(line_of({**whose, "summary": {**totals, **counts, "unchecked": dict(found.unchecked)}}))


def line_of(said: dict[str, Any]) -> str:
    """A line of JSON."""
    return json.dumps(said, separators=(",", ":"))


def print_table(audits: Audits) -> None:
    """The violations; nothing where there are none."""
    columns = ("kind", "first event", "of", "epoch", "seq", "row", "expected", "got", "line")
    print_by_cluster(columns, {cluster: [_cells(v) for v in found.violations] for cluster, found in audits.items()})


def print_by_cluster(columns: Sequence[str], rows: Mapping[str, Sequence[tuple[str, ...]]]) -> None:
    """A table, with a column for the cluster where there are several; nothing where there is no row."""
    several = len(rows) > 1
    found = [(cluster, *cells) if several else cells for cluster, some in rows.items() for cells in some]
    if found:
        print_rows(("cluster", *columns) if several else columns, found)


def _cells(v: Violation) -> tuple[str, ...]:
    cells = (v.kind, v.event, _of(v), v.controller_epoch, v.seq, v.row, v.expected, v.got)
    return *map(str, cells), f"{Path(v.file).name}:{v.line}"


def _of(v: Violation) -> str:
    topic = "" if v.topic is None else v.topic if v.partition is None else f"{v.topic}-{v.partition}"
    return topic if v.broker_id is None else f"{topic} broker {v.broker_id}".strip()


def conclude(audits: Audits) -> None:
    """Gaps and quarantine on stderr, the verdict of each cluster, and the exit code of the worst."""
    for cluster, found in audits.items():
        _verdict(found, f"{cluster}: " if len(audits) > 1 else "")
    if any(found.violations for found in audits.values()):
        sys.exit(1)
    if any(found.quarantine for found in audits.values()):
        sys.exit(2)


def _verdict(found: Audit, whose: str) -> None:
    for rows, what in ((found.quarantine, "lines in quarantine"), (_told(found), "gaps")):
        for row in rows[:SAID_MAX]:
            say(f"{whose}{row}")
        if len(rows) > SAID_MAX:
            say(f"{whose}and {len(rows) - SAID_MAX} more {what}")
    if found.unchecked:
        counts = ", ".join(f"{event} ({count})" for event, count in found.unchecked)
        say(f"{whose}not checked, because no rule covers these events: {counts}")
    counts_said = f"{whose}{found.counts.lines} lines of {found.counts.terms} terms in {found.counts.files} files"
    if found.violations:
        first = found.violations[0]
        say(f"{counts_said}: {len(found.violations)} violations; the first: {first} ({KINDS[first.kind]})")
    elif found.quarantine:
        say(f"{counts_said}: no violation in what can be read; {len(found.quarantine)} lines are in quarantine")
    else:
        say(f"{counts_said}: no violation" + (f", {len(found.gaps)} gaps" if found.gaps else ""))


def _told(found: Audit) -> list[Any]:
    """Gaps but those of lines in quarantine, which are said as such."""
    return [gap for gap in found.gaps if gap.kind != "bad line"]
