"""A controller with a gateway, in a process of its own, to be killed.

`python -m tests.e2e.controller_process URL NODE_ID DESCRIPTOR`, as `tests.real.controller_process`. Clients that ask
another gateway are answered through this one while its controller leads.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from controller import Controller
from controller.wire import Gateway, Peers
from controller.wire.cluster_id import cluster_id
from tests.real.controller_process import WiredHost, main, obey_all, opened


def serve(wire: Connection, url: str, node_id: int) -> None:
    """Until the other end is closed."""
    finding = opened(url)
    host = WiredHost(wire)
    controller = Controller(opened(url), node_id, host)
    controller.start()
    with Gateway(controller, cluster_id=cluster_id(finding), peers=Peers(store=finding)):
        obey_all(wire, host, controller)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], serve))
