"""What the commands share that connect to brokers: the gateway of Kedge or a Kafka cluster.

A command declares `endpoint_options`, and runs inside `ending()` and `connected(Endpoint(...))`, which gives it a
`Cluster`: values in and out, errors of servers as `Refused`. No command sends a request itself.

* Exit code: 0 done; 1 not done, or not all of it (one line "Error: ..." on stderr); 2 the options cannot be used.
* Each request has a deadline: `request.timeout.ms` of --command-config, or 30 s. Connecting has
  `socket.connection.setup.timeout.ms`, or 10 s; a wrong password or certificate ends it at once.
* With --json the result is one JSON object on stdout, and so is an error: {"error": "..."}.
"""

from __future__ import annotations

from .connecting import connected as connected
from .errors import Failed as Failed
from .errors import Refused as Refused
from .errors import ending as ending
from .options import Endpoint as Endpoint
from .options import action as action
from .options import endpoint_options as endpoint_options
