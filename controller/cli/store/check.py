"""`kedge store check URL`: whether a store can be used, and what it is: servers, limits, speed, who leads there.

* Reads only, unless `--write` asks for a few commits of a scratch key, which is removed again.
* What is known goes to stdout; each thing that is wrong is a line of its own there, and makes the exit code 1.
* A store where nothing stands is said to be so, and nothing is wrong with it: it may be asked before its first use.
* Exit code: 0 nothing is wrong, 1 it can be reached and something is wrong, 2 it cannot be opened. It ends within the
  connect timeout of the url and `CHECK_S`.
* Whether the tree makes sense is not asked here: `kedge check` does that.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import attrs
import click

from controller.cli.printing import clean, shortened
from controller.cli.store.asking import CHECK_S, ask
from controller.cli.store.opening import opened
from stores import public_url

_VALUE_CHARACTERS_MAX: Final = 400


@click.command()
@click.argument("url", metavar="URL")
@click.option("--write", is_flag=True, help="Time a few commits, too: of a scratch key, which is removed again.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--plain", is_flag=True, help="Tab-separated, not aligned.")
def check(url: str, *, write: bool, as_json: bool, plain: bool) -> None:
    """Say whether a store can be used, and what it is.

    Its servers and their versions, its limits, the session time that it grants, how fast it answers, whether bulk reads
    work, who is the controller. Exit code 1 if something is wrong with it, 2 if it cannot be reached.
    """
    if as_json and plain:
        raise click.UsageError("--json and --plain exclude each other")
    with opened(url, read_only=url.startswith("memory:")) as store:
        said = {"store": public_url(url), **ask(store, write=write, timeout_s=CHECK_S)}
    if as_json:
        click.echo(json.dumps(said, separators=(",", ":"), default=attrs.asdict))
    else:
        _print(_rows(said), plain=plain)
    sys.exit(1 if said["problems"] else 0)


def _rows(said: dict[str, Any]) -> list[tuple[str, str]]:
    limits, latency, controller = said["limits"], said["latency_ms"], said["controller"]
    rows = [("store", f"{said['store']} ({said['name']})")]
    rows += [("server", _server(server)) for server in said["servers"]]
    rows += [
        ("session", f"{said['session_timeout_s']:g} s granted, {limits['session_timeout_s_min']:g} s at least"),
        ("value", f"{limits['value_bytes_max']} bytes at most"),
        ("commit", f"{limits['commit_ops_max']} ops and {limits['commit_bytes_max']} bytes at most"),
        ("snapshot", "one instant" if limits["atomic_snapshot"] else "one instant if nothing is written meanwhile"),
        ("bulk reads", _known(said["bulk_reads"], "work", "do not work")),
    ]
    rows += [(name.replace("_", " "), _latency(found)) for name, found in latency.items() if found is not None]
    rows += [
        ("controller", "none" if controller["id"] is None else str(controller["id"])),
        ("epoch", "none" if controller["epoch"] is None else str(controller["epoch"])),
        ("topics", _count(said["topics"])),
        ("brokers", _count(said["brokers"])),
    ]
    if said["empty"]:
        rows.append(("keys", "none: a new store, or a wrong chroot or prefix"))
    return rows + [("problem", problem) for problem in said["problems"]]


def _server(server: dict[str, Any]) -> str:
    if server["problem"] is not None:
        return f"{server['address']}: {server['problem']}"
    version = server["version"] or "version unknown"
    return f"{server['address']}: {version}" + (f", {server['role']}" if server["role"] else "")


def _latency(found: dict[str, float]) -> str:
    return f"{found['middle_ms']:.1f} ms (best {found['best_ms']:.1f}, worst {found['worst_ms']:.1f})"


def _known(value: bool | None, true: str, false: str) -> str:  # noqa: FBT001 - it is what is shown
    return "unknown" if value is None else true if value else false


def _count(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _print(rows: list[tuple[str, str]], *, plain: bool) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        shown = shortened(clean(value), _VALUE_CHARACTERS_MAX)
        click.echo(f"{name}\t{shown}" if plain else f"{name.ljust(width)}  {shown}")
