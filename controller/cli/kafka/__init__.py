"""What every command shares that speaks to brokers of Kafka's protocol, Kedge's own gateway or a real Kafka cluster.

A command is written so:

    @click.command()
    @endpoint_options                      # --bootstrap-server, --command-config
    def configs(*, bootstrap_server: str | None, command_config: Path | None, as_json: bool) -> None:
        with ending(as_json=as_json), connected(Endpoint(bootstrap_server, command_config)) as cluster:
            click.echo(...)                # what it found: stdout
            raise Failed("Unknown broker id 77")   # what it could not do: a line on stderr, exit code 1

Rules
* `Cluster` (cluster.py, configs.py, dirs.py) is all that commands see of a cluster: values of values.py in and out,
  errors of servers as `Refused`, of which `str()` is the server's own message. No command imports kafka-python.
* Exit codes: 0 done, 1 not done or not wholly (nothing of a traceback, one line "Error: ..." on stderr), 2 options that
  cannot be used. Whatever was found wrong before the first request has changed nothing.
* Each request has a deadline: `request.timeout.ms` of the file given by --command-config, 30 s without. Connecting has
  `socket.connection.setup.timeout.ms`, 10 s without; wrong passwords and certificates end it at once.
* With --json, the answer and the error are one JSON object each, the latter {"error": "..."} on stdout too.
"""

from __future__ import annotations

from controller.cli.kafka.connecting import connected
from controller.cli.kafka.errors import Failed, Refused, ending
from controller.cli.kafka.options import Endpoint, Whole, endpoint_options, json_option

__all__ = [
    "Endpoint",
    "Failed",
    "Refused",
    "Whole",
    "connected",
    "ending",
    "endpoint_options",
    "json_option",
]
