"""The image of the Containerfile, built and run through testcontainers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaProducer
from testcontainers.core.container import DockerContainer
from testcontainers.core.image import DockerImage
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from tests.left_out import skip_if_left_out

pytestmark = [pytest.mark.server, pytest.mark.full]

CHECKOUT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
OPTIONS = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--json", "--topic", "orders:3:3"]


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    skip_if_left_out("containers")
    with DockerImage(CHECKOUT, dockerfile_path="Containerfile", tag="kedge-serve:tested") as built:
        yield str(built)


def test_a_client_reaches_the_image(image: str) -> None:
    """Later options replace those of the image. It runs without root, and SIGTERM ends it in order."""
    made = DockerContainer(image, command=OPTIONS, network_mode="host")
    with made.waiting_for(LogMessageWaitStrategy("bootstrap")) as container:
        at = json.loads(container.get_logs()[0])
        with closing(KafkaProducer(bootstrap_servers=at["bootstrap"], acks="all")) as producer:
            assert producer.send("orders", b"one", partition=0).get(timeout=DEADLINE_S).offset == 0
        inside = container.get_wrapped_container()
        assert inside.attrs["Config"]["User"] == "65532:65532"
        inside.stop(timeout=20)
        inside.reload()
        assert inside.attrs["State"]["ExitCode"] == 0
