"""Ctrl-C at random moments: `python -m tests.verify interrupt --store etcd`.

In: a store's kind, and how often. Out: a line of JSON: of how many interrupts the call of the store raised
KeyboardInterrupt and the process ended, and after how many seconds at most.

Each time a process of its own opens a store on a real server, and reads and writes without end. Ctrl-C comes within the
first 0.2 s, inside of any line of kazoo, of gRPC or of the store. Python ignores it inside of a destructor, such as
that of a call of gRPC; those are counted on their own.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final, Literal

from kedge.stores import ABSENT, Put, open_store
from tests.verify.linearize import ON

WITHIN_S: Final = 0.2
END_S: Final = 20.0
CALL_S: Final = 10.0
_RAISED: Final = 3
_IGNORED: Final = 4
_PRELOADED: Final = ["kedge.stores.etcd.store", "kedge.stores.zookeeper.store", __name__]


def add_to(commands: Any) -> None:
    """The command of `python -m tests.verify`."""
    found = commands.add_parser("interrupt", help="Ctrl-C at random moments of a store's calls", allow_abbrev=False)
    found.add_argument("--store", choices=sorted(ON), required=True, help="on a real server")
    found.add_argument("--tries", type=int, default=500, help="how many (default %(default)s)")
    found.add_argument("--seed", type=int, default=1, help="of the moments (default %(default)s)")


def run(options: argparse.Namespace) -> int:
    """0 if every interrupt was raised, and every process ended."""
    chance = random.Random(options.seed)
    with ON[options.store][0]() as server:
        url = server.url("/interrupt") if options.store == "etcd" else f"zookeeper://{server.address}/interrupt"
        took: list[float | str] = [seconds_to_end(work, url, chance.uniform(0, WITHIN_S)) for _ in range(options.tries)]
    ended = [seconds for seconds in took if isinstance(seconds, float)]
    ignored = took.count("ignored")
    said = {"store": options.store, "tries": len(took), "ended": len(ended), "ignored": ignored}
    sys.stdout.write(json.dumps({**said, "seconds_max": round(max(ended, default=0), 1)}) + "\n")
    return 0 if len(ended) + ignored == len(took) else 1


def seconds_to_end(does: Callable[[str], object], url: str, moment_s: float) -> float | Literal["ignored", "lost"]:
    """`does` runs in a process of its own, where Ctrl-C comes after `moment_s`. How long it took from then until
    KeyboardInterrupt was raised and the process ended; "lost" if either did not happen within END_S."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    began_s = time.monotonic()
    process = context.Process(target=_interrupted, args=(does, url, moment_s))
    process.start()
    process.join(moment_s + END_S)
    took_s = time.monotonic() - began_s - moment_s
    process.kill()
    process.join()
    if process.exitcode == _RAISED:
        return took_s
    return "ignored" if process.exitcode == _IGNORED else "lost"


def _interrupted(does: Callable[[str], object], url: str, moment_s: float) -> None:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    sys.unraisablehook = _not_raised
    faulthandler.dump_traceback_later(moment_s + END_S - 1)  # where it stands, if it does not end
    try:
        signal.setitimer(signal.ITIMER_REAL, moment_s)
        does(url)
    except KeyboardInterrupt:
        sys.exit(_RAISED)


def _not_raised(what: Any) -> None:
    if what.exc_type is KeyboardInterrupt and getattr(what.object, "__name__", "") == "__del__":
        os._exit(_IGNORED)
    sys.__unraisablehook__(what)


def work(url: str) -> None:
    """Read and write without end."""
    with closing(open_store(url)) as store:
        while True:
            found = store.get("/a", timeout_s=CALL_S)
            store.get_many(["/a", "/b", "/c"], timeout_s=CALL_S)
            store.snapshot("/", timeout_s=CALL_S)
            store.commit([Put("/a", b"", ABSENT if found is None else found.version)], timeout_s=CALL_S)
