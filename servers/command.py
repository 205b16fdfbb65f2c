"""`scripts/servers start|stop|status`, which is `python -m servers start|stop|status`.

Rules
* What can be pasted or piped on goes to the standard output: `kedge demo --store "$(scripts/servers start etcd)"`. The
  rest goes to the other.
* Errors are one line; exit code 1 where a server cannot be had, and of `status` where one died, 2 for wrong use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from servers.process import NoServer
from servers.standing import KINDS, Stand, Stopped, forget, standing, start, stop

_ALL: Final = "all"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help says more)\n")


def main(arguments: Sequence[str]) -> int:
    """Do what is asked. Returns the exit code."""
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
    begin = verbs.add_parser("start", help="they run when the command ends; prints the url of each")
    end = verbs.add_parser("stop", help="they end in order; their data stay")
    status = verbs.add_parser("status", help="what runs, and what died since")
    for each in (begin, end):
        each.add_argument("kinds", choices=(*KINDS, _ALL), nargs="+", metavar="|".join((*KINDS, _ALL)))
    status.add_argument("kinds", choices=(*KINDS, _ALL), nargs="*", default=_ALL, metavar="|".join((*KINDS, _ALL)))
    begin.add_argument("--nodes", type=int, choices=(1, 3), help="of each kind; as many as run or ran last, or 1")
    end.add_argument("--clean", action="store_true", help="remove the data of what is stopped, or ran last, too")
    end.add_argument("--nodes", type=int, choices=(1, 3), help="with --clean: the data of so many nodes, and no others")
    return parser


def _start(kind: str, chosen: argparse.Namespace) -> int:
    before = standing(kind)
    stand = start(kind, chosen.nodes)
    sys.stdout.write(f"{stand.url}\n")
    sys.stdout.flush()
    since = "runs already" if before is not None and before.whole else "runs"
    _say(f"{kind} {stand.version} {since}: {_nodes(stand)}, data and logs in {stand.folder}")
    return 0


def _stop(kind: str, chosen: argparse.Namespace) -> int:
    if chosen.nodes is not None and not chosen.clean:
        raise ValueError("--nodes says whose data --clean removes")
    stopped = stop(kind, clean=chosen.clean, nodes=chosen.nodes)
    ran = f"{kind} did not run" if stopped.ran is None else f"{kind} stopped: {_nodes(stopped.ran)}"
    left = "" if stopped.ran is None and not chosen.clean else f", {_data(stopped, chosen)}"
    sys.stdout.write(f"{ran}{left}\n")
    return 0


def _data(stopped: Stopped, chosen: argparse.Namespace) -> str:
    if not chosen.clean:
        return "its data stay"
    gone = " and ".join(f"{count} node{'s' if count > 1 else ''}" for count in stopped.cleaned)
    said = f"the data of {gone} are gone" if gone else "there were no such data"
    kept = " and ".join(map(str, stopped.kept))
    return f"{said}, those of {kept} stay (--nodes {stopped.kept[0]} --clean)" if kept else said


def _status(kind: str, _: argparse.Namespace) -> int:
    stand = standing(kind)
    if stand is None:
        sys.stdout.write(f"{kind} does not run\n")
        return 0
    died = stand.died
    if died:
        logs = " ".join(str(file) for file in sorted(stand.folder.glob("*/*.log")))
        _say(f"{kind}: {stand.runs.count(None)} of {stand.nodes} died since it was started; logs: {logs}")
        forget(kind)
    if any(stand.runs):
        sys.stdout.write(f"{kind} {stand.version} runs: {_nodes(stand)}, {stand.url}\n")
    else:
        sys.stdout.write(f"{kind} does not run\n")
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
