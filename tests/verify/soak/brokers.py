"""`kedge serve` with brokers that can be killed: a line `kill 3` or `start 3` on its input; it ends when that ends.

In: the URL of the store and a folder for the journal. Out: the addresses as one line of JSON, then `done` per line.
"""

from __future__ import annotations

import json
import sys
from typing import Final

from kedge.controller.cli.serve import options_of, serve
from kedge.controller.cli.serve.options import Options
from kedge.controller.cli.serve.running import as_json, running

BROKERS: Final = 6


def options(url: str, journal: str) -> Options:
    """Those of `kedge serve` with six brokers, which keep all records."""
    words = [
        "--broker-count",
        str(BROKERS),
        "--racks",
        "a,b,c",
        "--listen",
        "127.0.0.1:0",
        "--no-status",
        "--store",
        url,
    ]
    words += ["--journal", journal, "--offsets-partitions", "6", "--retention", "1GiB", "--no-auto-create"]
    return options_of(**serve.make_context("serve", words).params)


def main(url: str, journal: str) -> None:
    with running(options(url, journal)) as found:
        _say(json.dumps(as_json(found)))
        for line in sys.stdin:
            what, broker = line.split()
            does = {"kill": found.cluster.kill_broker, "start": found.cluster.restart_broker}[what]
            does(int(broker))
            _say("done")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
