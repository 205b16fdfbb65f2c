"""`scripts/servers start|stop|status`, the same as `python -m servers start|stop|status`.

Rules
* Output for pasting or piping goes to the standard output: `kedge serve --store "$(scripts/servers start etcd)"`.
  Everything else goes to the standard error.
* Errors are one line. Exit code 1: a server is not available, or `status` finds one that died; 2: wrong use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from servers.ensembles import EtcdEnsemble
from servers.etcd import is_sound
from servers.process import NoServer
from servers.standing import KINDS, Stand, Stopped, forget, standing, start, stop

_ALL: Final = "all"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help says more)\n")


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns the exit code."""
    chosen = _parser().parse_args(arguments)
    asked = [chosen.kinds] if isinstance(chosen.kinds, str) else chosen.kinds
    failed = 0
    for kind in KINDS if _ALL in asked else dict.fromkeys(asked):
        try:
            failed = max(failed, _VERBS[chosen.verb](kind, chosen))
        except (NoServer, ValueError) as error:
            first, _, rest = str(error).partition("\n")
            _say(f"{kind}: {first}" + (f" ({rest.strip().splitlines()[-1]})" if rest.strip() else ""))
            failed = max(failed, 2 if isinstance(error, ValueError) else 1)
    return failed


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="servers", description="Servers of metadata stores for a first try, on this machine alone.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="start|stop|status")
    begin = verbs.add_parser("start", help="start servers, which keep running; prints the url of each")
    end = verbs.add_parser("stop", help="stop servers in order; keeps their data")
    status = verbs.add_parser("status", help="show which servers run, and which died")
    for each in (begin, end):
        each.add_argument("kinds", choices=(*KINDS, _ALL), nargs="+", metavar="|".join((*KINDS, _ALL)))
    status.add_argument("kinds", choices=(*KINDS, _ALL), nargs="*", default=_ALL, metavar="|".join((*KINDS, _ALL)))
    begin.add_argument("--nodes", type=int, choices=(1, 3), help="servers of each kind; default: as last time, or 1")
    end.add_argument("--clean", action="store_true", help="also remove the data of these servers, or of the last ones")
    end.add_argument("--nodes", type=int, choices=(1, 3), help="with --clean: only the data of so many servers")
    return parser


def _start(kind: str, chosen: argparse.Namespace) -> int:
    before = standing(kind)
    stand = start(kind, chosen.nodes)
    sys.stdout.write(f"{stand.url}\n")
    sys.stdout.flush()
    since = "is already running" if before is not None and before.whole else "is running"
    _say(f"{kind} {stand.version} {since}: {_nodes(stand)}, data and logs in {stand.folder}")
    if kind == EtcdEnsemble.scheme and not is_sound(stand.version):
        _say(f"etcd {stand.version} may lose writes when it is killed; Debian's package etcd-server has a sound one")
    return 0


def _stop(kind: str, chosen: argparse.Namespace) -> int:
    if chosen.nodes is not None and not chosen.clean:
        raise ValueError("--nodes needs --clean: it selects the data to remove")
    stopped = stop(kind, clean=chosen.clean, nodes=chosen.nodes)
    ran = f"{kind} was not running" if stopped.ran is None else f"{kind} stopped: {_nodes(stopped.ran)}"
    left = "" if stopped.ran is None and not chosen.clean else f", {_data(stopped, chosen)}"
    sys.stdout.write(f"{ran}{left}\n")
    return 0


def _data(stopped: Stopped, chosen: argparse.Namespace) -> str:
    if not chosen.clean:
        return "its data is kept"
    gone = " and ".join(f"{count} node{'s' if count > 1 else ''}" for count in stopped.cleaned)
    said = f"the data of {gone} is removed" if gone else "it had no such data"
    kept = " and ".join(map(str, stopped.kept))
    return f"{said}, that of {kept} is kept (--nodes {stopped.kept[0]} --clean)" if kept else said


def _status(kind: str, _: argparse.Namespace) -> int:
    stand = standing(kind)
    if stand is None:
        sys.stdout.write(f"{kind} is not running\n")
        return 0
    died = stand.died
    if died:
        logs = " ".join(str(file) for file in sorted(stand.folder.glob("*/*.log")))
        _say(f"{kind}: {stand.runs.count(None)} of {stand.nodes} nodes died; logs: {logs}")
        forget(kind)
    if any(stand.runs):
        sys.stdout.write(f"{kind} {stand.version} is running: {_nodes(stand)}, {stand.url}\n")
    else:
        sys.stdout.write(f"{kind} is not running\n")
    return 1 if died else 0


def _nodes(stand: Stand) -> str:
    pids = [str(pid) for pid in stand.runs if pid is not None]
    count = f"{len(pids)} of {stand.nodes} nodes" if len(pids) < stand.nodes else f"{stand.nodes} node"
    return f"{count}{'s' if count == f'{stand.nodes} node' and stand.nodes > 1 else ''}, pid {' '.join(pids)}"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


_VERBS: Final[dict[str, Callable[[str, argparse.Namespace], int]]] = {
    "start": _start,
    "stop": _stop,
    "status": _status,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
