"""The status page in a real browser: it fits, it can be read, and it goes with what happens."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from controller.cli.serve.options import Place
from controller.cli.serve.pages import Pages
from controller.cli.serve.status import Recent, Status
from controller.model.logs import Batch
from controller.runtime.journal import Journal
from controller.server import LiveCluster, LiveServer
from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, DeletePartitions, NewTopic, TopicPartition
from tests.browser import DESKTOP, MEASURE, PHONE, dom, found_at
from tests.serve.processes import serving
from tests.wire.served import DEADLINE_S, until

pytestmark = [pytest.mark.server, pytest.mark.slow]

TP = TopicPartition("orders-of-a-topic-with-a-rather-long-name", 0)
ABOUT = {"cluster_id": "4L6g3nShT-eMCtK--X86sw", "store": "memory", "listen": "127.0.0.1:9092"}
COUNTS = {"connections": 9, "requests": 12345, "Metadata": 12345, "login_refused": 3, "garbage": 1}

# A page of the same origin, which holds the status page in a frame, looks at it while a move runs, has it ended, and
# looks again. Waiting for an answer takes none of the browser's time.
AROUND = """<!doctype html><meta charset="utf-8">
<iframe id="f" style="border:0;width:{width}px;height:900px" src="/"></iframe><pre id="found"></pre>
<script>{measure}
const sleep = ms => new Promise(done => setTimeout(done, ms));
const f = document.getElementById('f'), text = id => f.contentDocument.getElementById(id).innerText;
f.onload = async () => {{
  for (let i = 0; i < 5 && !text('moves').includes('waits for'); i++) await sleep(500);
  const found = measured(f);
  found.counted = text('counted');
  found.before = [text('verdict'), text('moves'), text('brokers'), text('throttles'), text('journal')];
  await fetch('/end');
  await sleep(2500);
  found.after = [text('verdict'), text('moves'), text('brokers'), text('throttles'), text('journal')];
  await fetch('/stop');
  await sleep(2500);
  found.alone = text('verdict');
  document.getElementById('found').textContent = JSON.stringify(found);
}};</script>"""


class Moving:
    """A cluster in which a throttled move runs for as long as it is wanted to, and its pages."""

    def __init__(self, width: int) -> None:
        recent = Recent()
        racks: dict[int, str | None] = {1: "a", 2: "b", 3: "c", 4: None}
        self.cluster = LiveCluster(LiveServer(), racks, journal=lambda _: Journal(recent.sink))
        self._width = width
        self._status = Status(lambda: self.cluster.controller, self.cluster, recent, COUNTS, ABOUT)
        self._is_gone = False

    def begin(self) -> None:
        self.cluster.until_ready(DEADLINE_S)
        admin = self.cluster.controller.admin
        new = {TP.topic: NewTopic(-1, -1, [[1, 2], [2, 3], [3, 1]]), "bills": NewTopic(3, 2)}
        admin.create_topics(new).all().result(DEADLINE_S)
        until(lambda: not self.cluster.logs.bounds(None, TP).result(DEADLINE_S).error)
        for _ in range(20):
            batch = Batch(b"x" * 50_000, 50, 0)
            assert not self.cluster.logs.append(None, TP, batch, acks=-1, timeout_ms=10_000).result(DEADLINE_S).error
        self.cluster.copying.rate_bytes_s = 1
        lists = [AlterConfigOp("leader.replication.throttled.replicas", "0:1,0:2")]
        rates = [AlterConfigOp("leader.replication.throttled.rate", "1048576")]
        topic, broker = (
            ConfigResource(ConfigResourceType.TOPIC, TP.topic),
            ConfigResource(ConfigResourceType.BROKER, "1"),
        )
        admin.incremental_alter_configs({topic: lists, broker: rates}).all().result(DEADLINE_S)
        admin.delete_partitions({"bills": DeletePartitions(2)}).all().result(DEADLINE_S)
        admin.alter_partition_reassignments({TP: [4, 3]}).all().result(DEADLINE_S)
        self.cluster.kill_broker(3)
        until(lambda: self.cluster.controller.describe().live_brokers == (1, 2, 4))

    def pages(self) -> dict[str, Any]:
        page = (files("controller.cli.serve") / "page.html").read_bytes()
        around = AROUND.format(width=self._width, measure=MEASURE).encode()
        return {
            "/": lambda: ("text/html; charset=utf-8", page),
            "/around": lambda: ("text/html; charset=utf-8", around),
            "/status.json": self._asked,
            "/end": self._end,
            "/stop": self._stop,
        }

    def _asked(self) -> tuple[str, bytes]:
        if self._is_gone:
            raise RuntimeError("the store does not answer")
        return self._status.page()

    def _end(self) -> tuple[str, bytes]:
        self.cluster.restart_broker(3)
        self.cluster.copying.rate_bytes_s = None
        until(lambda: self.cluster.controller.describe().reassigning_partitions == 0)
        until(lambda: b'"moves_count":0' in self._status.page()[1])
        return "text/plain", b"ended"

    def _stop(self) -> tuple[str, bytes]:
        self._is_gone = True
        return "text/plain", b"stopped"


@pytest.fixture(params=[(DESKTOP, False), (PHONE, True)], ids=["wide-light", "narrow-dark"])
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    width, dark = request.param
    moving = Moving(width)
    # The page around it is the test's own, and may hold a frame.
    with moving.cluster, Pages(Place("127.0.0.1", 0), moving.pages(), headers={}) as pages:
        moving.begin()
        found = found_at(f"http://{pages.place}/around", tmp_path, dark=dark)
        assert found["scheme"] == ("dark" if dark else "light")
        yield found


def test_it_fits_can_be_read_and_follows_a_move(seen: dict[str, Any]) -> None:
    assert seen["wide"] <= seen["room"]
    assert seen["low"] == []
    assert seen["smallest"] >= 12
    verdict, moves, brokers, throttles, journal = seen["before"]
    assert "1 partition moves" in verdict
    assert "broker 3 is down" in verdict
    assert f"{TP.topic}-0" in moves
    assert "broker 3 is down" in moves
    assert "broker 4: 0 of 1,000 records" in moves
    assert "1 partition is read-only or offline, and goes" in moves
    assert "976.6 KiB" in brokers
    assert "1.0 MiB/s" in throttles
    assert "0:1,0:2" in throttles
    assert seen["counted"] == "also counted of clients: 1 garbage, 3 login_refused"
    assert "TargetSet" in journal
    changes = [line.strip() for line in journal.splitlines()]
    assert "leader.replication.throttled.rate=1048576" in changes
    assert any("broker 1" in line for line in changes), "whose setting it is"
    verdict, moves, brokers, _, journal = seen["after"]
    assert verdict == "All is well, nothing moves."
    assert "nothing moves" in moves
    assert "down" not in brokers
    assert "TargetCleared" in journal
    assert seen["alone"] == "no answer: the store does not answer"


def test_the_page_of_a_process_works_under_the_rules_that_it_is_sent_with(tmp_path: Path) -> None:
    """Nothing may be loaded from elsewhere; what is loaded from there is enough."""
    with serving("--topic", "orders:3") as at:
        page = dom(at["status"], tmp_path)
    assert "All is well, nothing moves." in page
    assert at["cluster_id"] in page
    assert "LeaderElected" in page
    assert "src=" not in page
    assert "href=" not in page
