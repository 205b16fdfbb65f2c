"""`kedge controller`: the options, and what is printed at the start and at the end.

Exit code: 0 after SIGINT or SIGTERM; 2, with one line on stderr, where it cannot be started.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from controller.cli.controller.findings import Findings
from controller.cli.printing import clean, fail, one_line
from controller.cli.serve.command import told_to_end
from controller.cli.serve.options import CannotServe, as_host, as_place
from stores import public_url

_FILE: Final = click.Path(path_type=Path)


@click.command()
@click.option("--store", "url", metavar="URL", required=True, help="ZooKeeper of the brokers, with their chroot.")
@click.option("--node-id", type=click.IntRange(0, 2**31 - 1), default=101, show_default=True, metavar="ID",
              help="Id of this controller; no broker and no other controller has it.")  # fmt: skip
@click.option("--listen", default="127.0.0.1:9092", show_default=True, metavar="HOST:PORT",
              help="Address at which brokers reach the controller.")  # fmt: skip
@click.option("--advertise", metavar="HOST", help="Host that brokers connect to; default: that of --listen.")
@click.option("--listener-name", default="PLAINTEXT", show_default=True, metavar="NAME",
              help="Inter-broker listener of the brokers.")  # fmt: skip
@click.option("--depose-kafka-controller", "depose", is_flag=True, help="Take over from a broker that is controller.")
@click.option("--hand-back", is_flag=True, help="Give the cluster back to Kafka's own controller, and exit.")
@click.option("--brokers-config", type=_FILE, metavar="FILE", help="Java properties for connections to brokers.")
@click.option("--offsets-partitions", type=click.IntRange(1), default=50, show_default=True, metavar="N",
              help="Partitions of __consumer_offsets; as the brokers have it.")  # fmt: skip
@click.option("--transactions-partitions", type=click.IntRange(1), default=50, show_default=True, metavar="N",
              help="Partitions of __transaction_state; as the brokers have it.")  # fmt: skip
@click.option("--internal-replication-factor", type=click.IntRange(1), default=3, show_default=True, metavar="N",
              help="Replicas of both internal topics.")  # fmt: skip
@click.option("--journal", type=_FILE, metavar="FOLDER", help="Write every decision there, for `kedge journal`.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve metrics for Prometheus, below /metrics.")
@click.option("--users", type=_FILE, metavar="FILE", help="Users that may log in; without it, no login.")
@click.option("--acls", type=_FILE, metavar="FILE", help="Rights of users; without it, every client may do everything.")
@click.option("--tls-certificate", type=_FILE, metavar="FILE", help="Serve TLS with this certificate.")
@click.option("--tls-key", type=_FILE, metavar="FILE", help="Key of the certificate.")
@click.option("--tls-clients-ca", type=_FILE, metavar="FILE", help="Authority that signs clients' certificates.")
@click.option("--peers-secret", type=_FILE, metavar="FILE", help="Secret that all controllers of the store share.")
@click.option("--peers-ca", type=_FILE, metavar="FILE", help="Authority that signs certificates of controllers.")
@click.option("--allow-anonymous", is_flag=True, help="Listen beyond this machine without a login.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON object.")
def controller(
    *,
    url: str,
    node_id: int,
    listen: str,
    advertise: str | None,
    listener_name: str,
    depose: bool,
    hand_back: bool,
    brokers_config: Path | None,
    offsets_partitions: int,
    transactions_partitions: int,
    internal_replication_factor: int,
    journal: Path | None,
    metrics: str | None,
    users: Path | None,
    acls: Path | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_clients_ca: Path | None,
    peers_secret: Path | None,
    peers_ca: Path | None,
    allow_anonymous: bool,
    as_json: bool,
) -> None:
    """Run the controller of stock Kafka brokers in ZooKeeper mode, until Ctrl-C or SIGTERM.

    The brokers (inter.broker.protocol.version 2.8 to 3.9) need no change. Start a second controller with another
    --node-id as a stand-by. Read docs/kafka-brokers.md before you use it on a cluster that has data.
    """
    from controller.cli.controller import running  # noqa: PLC0415 - only now it is known that its packages are there
    from controller.wire.kafka import InternalTopics  # noqa: PLC0415 - as above

    if (tls_certificate is None) != (tls_key is None) or (tls_clients_ca is not None and tls_key is None):
        fail("--tls-certificate and --tls-key go together, and --tls-clients-ca with both")
    if url.partition(":")[0] != "zookeeper":
        fail(f"--store: {clean(public_url(url))} is not ZooKeeper, which is where Kafka brokers register")
    tls = None if tls_certificate is None or tls_key is None else (tls_certificate, tls_key, tls_clients_ca)
    factor = internal_replication_factor
    try:
        if hand_back:
            running.hand_back(url)
            return
        options = running.Options(
            url=url,
            node_id=node_id,
            listen=as_place("--listen", listen),
            advertise=None if advertise is None else as_host("--advertise", advertise),
            status=None,
            metrics=None if metrics is None else as_place("--metrics", metrics),
            users=users,
            acls=acls,
            tls=tls,
            peers_secret=peers_secret,
            peers_ca=peers_ca,
            allow_anonymous=allow_anonymous,
            listener_name=listener_name,
            brokers_config=brokers_config,
            internal_topics=InternalTopics(offsets_partitions, transactions_partitions, factor),
            journal=journal,
            depose=depose,
        )
        with told_to_end() as ended, running.running(options) as found:
            address = f"{found.address.host}:{found.address.port}"
            if as_json:
                shown = {"cluster_id": found.cluster_id, "controller": node_id, "listen": address}
                click.echo(json.dumps(shown | {"metrics": found.metrics}))
            else:
                click.echo(f"cluster {found.cluster_id}, metadata in {clean(public_url(url))}")
                click.echo(f"controller {node_id} listens at {address}, listener {clean(listener_name)}")
                if found.metrics is not None:
                    click.echo(f"metrics {found.metrics}")
                click.echo("running; Ctrl-C ends it")
            Findings(lambda: found.controller.describe().findings).watch(ended)
    except (CannotServe, ValueError) as error:
        fail(one_line(error))
    if not as_json:
        click.echo("ended")
