"""`kedge serve` with brokers that can be killed: a line `kill 3` or `start 3` on its input; it ends when that ends.

In: the URL of the store and a folder for the journal. Out: the addresses as one line of JSON, then `done` per line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from controller.cli.serve.options import Options, Place, as_brokers
from controller.cli.serve.running import as_json, running

NODE_ID: Final = 101
BROKERS: Final = 6


def options(url: str, journal: Path) -> Options:
    """Those of `kedge serve --brokers 6 --racks a,b,c --no-status`, at free ports."""
    return Options(
        url=url,
        node_id=NODE_ID,
        listen=Place("127.0.0.1", 0),
        advertise=None,
        status=None,
        metrics=None,
        users=None,
        acls=None,
        tls=None,
        peers_secret=None,
        peers_ca=None,
        allow_anonymous=False,
        broker_listener=None,
        brokers=as_brokers(BROKERS, "a,b,c"),
        topics={},
        seed=None,
        copy_rate_bytes_s=None,
        retention_bytes=2**30,
        offsets_partitions=6,
        rebalance_delay_ms=200,
        creates_topics=False,
        journal=journal,
        status_may_be_elsewhere=False,
    )


def main(url: str, journal: str) -> None:
    with running(options(url, Path(journal))) as found:
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
