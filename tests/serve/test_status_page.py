"""The status page in a real browser: it fits, it can be read, and it goes with what happens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, DeletePartitions, NewTopic, TopicPartition
from kedge.controller.cli.serve.options import Place
from kedge.controller.cli.serve.pages import Pages
from kedge.controller.cli.serve.status import Recent, Status
from kedge.controller.model.logs import Batch
from kedge.controller.runtime.journal import Journal
from kedge.controller.server import LiveCluster, LiveServer
from tests.browser import MEASURE, complaints, dom, found_at
from tests.kit.waiting import until
from tests.serve.processes import serving
from tests.wire.served import DEADLINE_S

pytestmark = [pytest.mark.server, pytest.mark.full]

TP = TopicPartition("orders-of-a-topic-with-a-rather-long-name", 0)
SLOW = TopicPartition("payments", 0)
FILES = ("icon.svg", "page.css", "tables.js", "page.js")
KEPT = TopicPartition("bills", 2)  # read-only for as long as its records are retained
RATE_BYTES_S = 20_000  # into each broker: 1 MB takes 50 s
ABOUT = {"cluster_id": "4L6g3nShT-eMCtK--X86sw", "store": "memory", "listen": "127.0.0.1:9092"}
COUNTS = {"connections": 9, "requests": 12345, "Metadata": 12345, "login_refused": 3, "garbage": 1}

# A page of the same origin, which holds the status page in a frame, looks at it while reassignments run, has them
# completed, and looks again. Waiting for an answer takes none of the browser's time.
AROUND = """<!doctype html><meta charset="utf-8">
<iframe id="f" style="border:0;width:{width}px;height:900px" src="/"></iframe><pre id="found"></pre>
<script>{measure}
const sleep = ms => new Promise(done => setTimeout(done, ms));
const f = document.getElementById('f'), ids = ['verdict', 'facts', 'moves-sum', 'moves', 'brokers', 'topics',
  'throttles', 'journal', 'counted'];
const texts = () => Object.fromEntries(ids.map(id => [id, f.contentDocument.getElementById(id).innerText]));
f.onload = async () => {{
  await fetch('/measured');
  await sleep(2500);
  const found = measured(f), all = [...f.contentDocument.querySelectorAll('main *')];
  const isBeyond = e => !e.closest('thead') && e.getBoundingClientRect().right > {width};
  found.beyond = all.filter(isBeyond).map(e => e.outerHTML);
  found.named = all.filter(e => e.tagName === 'ABBR').map(e => [e.title, e.textContent]);
  found.unlabelled = all.filter(e => e.tagName === 'TABLE' && !e.getAttribute('aria-label')).length;
  found.before = texts();
  await fetch('/end');
  await sleep(2500);
  found.after = texts();
  await fetch('/stop');
  await sleep(2500);
  found.alone = texts().verdict;
  document.getElementById('found').textContent = JSON.stringify(found);
}};</script>"""


class Moving:
    """A cluster in which two slow reassignments run until `/end` is fetched, one of them to a broker that is down."""

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
        slow = NewTopic(-1, -1, [[1, 2]])
        new = {
            TP.topic: NewTopic(-1, -1, [[1, 2], [2, 3], [3, 1]]),
            SLOW.topic: slow,
            "bills": NewTopic(-1, -1, [[1, 2]] * 3),
        }
        admin.create_topics(new).all().result(DEADLINE_S)
        until(lambda: not any(self.cluster.logs.bounds(None, tp).result(DEADLINE_S).error for tp in (TP, SLOW, KEPT)))
        for tp, batches in ((TP, 20), (SLOW, 20), (KEPT, 1)):
            for _ in range(batches):
                batch = Batch(b"x" * 50_000, 50, 0)
                taken = self.cluster.logs.append(None, tp, batch, acks=-1, timeout_ms=10_000)
                assert not taken.result(DEADLINE_S).error
        self.cluster.copying.rate_bytes_s = RATE_BYTES_S
        lists = [AlterConfigOp("leader.replication.throttled.replicas", "0:1,0:2")]
        rates = [AlterConfigOp("leader.replication.throttled.rate", "1048576")]
        topic, broker = (
            ConfigResource(ConfigResourceType.TOPIC, TP.topic),
            ConfigResource(ConfigResourceType.BROKER, "1"),
        )
        admin.incremental_alter_configs({topic: lists, broker: rates}).all().result(DEADLINE_S)
        admin.delete_partitions({"bills": DeletePartitions(2)}).all().result(DEADLINE_S)
        admin.alter_partition_reassignments({TP: [4, 3], SLOW: [2, 4]}).all().result(DEADLINE_S)
        self.cluster.kill_broker(3)
        until(lambda: self.cluster.controller.describe().live_brokers == (1, 2, 4))

    def pages(self) -> dict[str, Any]:
        around = AROUND.format(width=self._width, measure=MEASURE).encode()
        return {
            **self._status.pages(),
            "/around": lambda: ("text/html; charset=utf-8", around),
            "/status.json": self._asked,
            "/measured": self._measured,
            "/end": self._end,
            "/stop": self._stop,
        }

    def _asked(self) -> tuple[str, bytes]:
        if self._is_gone:
            raise RuntimeError("the store does not answer")
        return self._status.page()

    def _measured(self) -> tuple[str, bytes]:
        """Wait until one reassignment is known to be stalled, and of the other the remaining time."""

        def is_known() -> bool:
            moves = {move["topic"]: move for move in json.loads(self._status.page()[1])["moves"]}
            return moves[TP.topic]["is_stalled"] and moves[SLOW.topic]["remaining_s"] is not None

        until(is_known)
        return "text/plain", b"measured"

    def _end(self) -> tuple[str, bytes]:
        self.cluster.restart_broker(3)
        self.cluster.copying.rate_bytes_s = None
        until(lambda: self.cluster.controller.describe().reassigning_partitions == 0)
        until(lambda: b'"moves_count":0' in self._status.page()[1])
        return "text/plain", b"ended"

    def _stop(self) -> tuple[str, bytes]:
        self._is_gone = True
        return "text/plain", b"stopped"


@pytest.fixture(params=[(1280, False), (420, True)], ids=["wide-light", "narrow-dark"])
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    width, dark = request.param
    moving = Moving(width)
    # The page around it is the test's own, and may hold a frame.
    with moving.cluster, Pages(Place("127.0.0.1", 0), moving.pages(), headers={}) as pages:
        moving.begin()
        found = found_at(f"http://{pages.place}/around", tmp_path, dark=dark)
        assert found["scheme"] == ("dark" if dark else "light")
        yield found


def test_page_fits_and_follows_reassignments(seen: dict[str, Any]) -> None:
    """Nothing is wider than the window, every text is legible, and the numbers are those of the cluster."""
    assert seen["wide"] <= seen["room"]
    assert seen["beyond"] == []
    assert seen["low"] == []
    assert seen["smallest"] >= 12
    assert seen["unlabelled"] == 0
    _check_before(seen)
    after = seen["after"]
    assert after["verdict"] == "Everything is in order. No reassignment is running."
    assert after["moves"].startswith("No reassignment is running.")
    assert after["moves-sum"] == ""
    assert "down" not in after["brokers"]
    assert "under-replicated" not in after["topics"]
    assert "Reassignment ended" in after["journal"]
    assert seen["alone"] == "No answer: the store does not answer"


def _check_before(seen: dict[str, Any]) -> None:
    before = seen["before"]
    assert "2 reassignments are running" in before["verdict"]
    assert "Broker 3 is down" in before["verdict"]
    stalled, slow = _rows(before["moves"], f"{SLOW.topic}-0", f"{TP.topic}-0")
    assert "broker 3 is down" in stalled
    assert re.search(r"broker 4: [\d.]+ KiB of 976.6 KiB", stalled)
    assert "stalled" in stalled
    assert "1, 2\n\u2192 2, 4" in slow
    assert re.search(r"broker 4: [\d.]+ KiB of 976.6 KiB", slow)
    assert "broker 3" not in slow
    assert re.search(r"\d KiB/s", slow)
    assert re.search(r"about \d+ (s|min)", slow)
    assert "1 reassignment is stalled" in before["moves-sum"]
    assert "1 partition is read-only or offline, and will be removed." in before["moves"]
    assert "2.0 MiB" in before["brokers"], "two partitions with 1 MB, one with 50 kB"
    assert re.search(r"orders.* 3 partitions, 2 under-replicated", before["topics"])
    assert "1.0 MiB/s" in before["throttles"]
    assert "0:1,0:2" in before["throttles"]
    assert "connections closed because a frame was no Kafka request" in before["counted"]
    assert ["garbage", "connections closed because a frame was no Kafka request"] in seen["named"]
    assert ["TargetSet", "Reassignment started"] in seen["named"]
    changes = [line.strip() for line in before["journal"].splitlines()]
    assert any("leader.replication.throttled.rate=1048576" in line for line in changes)
    assert any("broker 1" in line for line in changes), "the broker whose config changed"
    ((label, width, height, marks),) = seen["plots"]
    assert re.fullmatch(r"Bytes per second copied for reassignments in the last 5 min: now .*/s, highest .*/s", label)
    assert width > 300
    assert height > 90
    assert marks >= 5, "three grid lines, an area and a line"


def _rows(text: str, *names: str) -> tuple[str, str]:
    """The text of the second and of the first of two rows, which begin with these names, in any order."""
    first, second = sorted(names, key=text.index)
    rows = {first: text[text.index(first) : text.index(second)], second: text[text.index(second) :]}
    return rows[names[1]], rows[names[0]]


def test_unknown_sizes_and_rates_are_dashes(tmp_path: Path) -> None:
    """Brokers of other processes need not report how large their logs are."""
    unknown = {
        "bytes_copied": None,
        "bytes_to_copy": None,
        "rate_bytes_s": None,
        "remaining_s": None,
        "is_stalled": False,
    }
    waits = [{"broker": broker, "is_down": False, "has": 7, "of": of, **unknown} for broker, of in ((3, 70), (4, -1))]
    lists = {"replicas": [1, 2], "target": [3, 4], "isr": [1, 2], "adding": [3, 4], "removing": [1, 2]}
    move = {"topic": "far", "partition": 5, **lists, "started_at_ms": 0, "waits_on": waits, **unknown}
    with LiveCluster(LiveServer(), {1: None}) as cluster:
        cluster.until_ready(DEADLINE_S)
        status = Status(lambda: cluster.controller, cluster, Recent(), COUNTS, ABOUT)
        changed = {**json.loads(status.page()[1]), "moves": [move], "moves_count": 300, "copy_rate_bytes_s": None}
        pages = {**status.pages(), "/status.json": lambda: ("application/json", json.dumps(changed).encode())}
        with Pages(Place("127.0.0.1", 0), pages) as opened:
            assert complaints(f"http://{opened.place}/", tmp_path) == []
            page = dom(f"http://{opened.place}/", tmp_path)
    row = page[page.index("far-5") :].partition("</tr>")[0]
    cells = [re.sub("<[^>]*>", " ", cell).strip() for cell in row.split("<td")[1:]]
    assert "broker 3: 7 of 70 records" in row
    assert "broker 4: the size of the leader's log is unknown" in row
    assert [cell.rpartition(">")[2].strip() for cell in cells[2:5]] == ["\u2013"] * 3, "copied, rate, remaining"
    assert "299 more reassignments not shown." in page
    assert '<p class="sub" id="moves-sum"></p>' in page, "no sum of what is unknown"


def test_page_works_under_its_own_headers(tmp_path: Path) -> None:
    """The Content-Security-Policy forbids whatever is loaded from elsewhere; the console stays empty."""
    with serving("--topic", "orders:3") as at:
        page = dom(at["status"], tmp_path)
        assert complaints(at["status"], tmp_path) == []
    assert "Everything is in order. No reassignment is running." in page
    assert at["cluster_id"] in page
    assert '<abbr title="LeaderElected">Leader elected</abbr>' in page
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {*FILES, "status.json"}
