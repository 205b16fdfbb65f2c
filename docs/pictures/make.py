# ruff: noqa: INP001, S603 - a script; it starts commands of Kedge and a browser
"""Make the pictures of README.md and docs/ again, beside this file.

    PYTHONPATH=$PWD .venv/bin/python docs/pictures/make.py            # all of them, in a minute
    PYTHONPATH=$PWD .venv/bin/python docs/pictures/make.py demo plan  # some of them
    PYTHONPATH=$PWD .venv/bin/python docs/pictures/make.py --into /tmp plan

* `demo.svg`: `kedge demo` in a terminal, as the terminal shows it at the end.
* `status.png`: the status page of `kedge serve`, while a throttled reassignment runs.
* `plan.png`: the top of the page that `kedge plan apply-policy` writes for a cluster.

The commands run as a user runs them, and only the look of a picture depends on this file. The pages need Chromium,
and a font for it (Debian's packages chromium and fonts-dejavu-core).
"""

from __future__ import annotations

import argparse
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from kafka import KafkaProducer
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from kedge.pipeline.generating import generate
from kedge.pipeline.tables.declared import TABLES
from kedge.pipeline.tables.files import Place
from tests.browser import chromium

PICTURES: Final = Path(__file__).resolve().parent
KEDGE: Final = (sys.executable, "-m", "kedge")
COLUMNS: Final = 84
PAGE_WIDTH: Final = 1100
SCALE: Final = 1.25
DEADLINE_S: Final = 60.0
_STEP: Final = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")
# rich's SVG loads a font from another host, which an image may not do.
_FONT_FACE: Final = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)

BROKERS: Final = 6
TOPICS: Final = {"orders": 12, "payments": 6, "clicks": 8}
RECORD_BYTES: Final = 10_000
RECORDS: Final = 60
"""In the first partition of each topic; the second holds twice as many, and so on."""
THROTTLE: Final = 250_000
WATCHED_S: Final = 10.0
"""How long the browser looks at the status page before the picture is taken, so that rates are measured."""

POLICY: Final = """
tables = "tables"
out = "plans"

[default]
steps = ["rebalance"]
throttle = "50MB"
per-broker = 3
"""


def demo(into: Path) -> None:
    """What a terminal shows after the demo."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text("$ kedge demo", style="bold"))
    for line in terminal([*KEDGE, "demo"]):
        console.print(Text.from_ansi(line), no_wrap=True, crop=True)
    svg = console.export_svg(
        title="kedge demo",
        theme=MONOKAI,
        code_format=_FONT_FACE.sub("", CONSOLE_SVG_FORMAT),
        unique_id="kedge-demo",
    )
    (into / "demo.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def status(into: Path) -> None:
    """A reassignment with a throttle runs while the page is looked at."""
    topics = [part for name, count in TOPICS.items() for part in ("--topic", f"{name}:{count}:3")]
    arguments = ["--broker-count", str(BROKERS), "--racks", "a,b,c", "--seed", "1", *topics]
    with folder() as path, serving(arguments) as at:
        bootstrap = at["bootstrap"]
        fill(bootstrap)
        plan = path / "plan.json"
        plan.write_text(json.dumps(move("orders", bootstrap)), encoding="utf-8")
        call("kafka", "reassign-partitions", "--bootstrap-server", bootstrap, "--execute", "--throttle", str(THROTTLE),
             "--reassignment-json-file", str(plan))  # fmt: skip
        photograph(at["status"], into / "status.png", wait_s=WATCHED_S, height=1000)


def plan(into: Path) -> None:
    """A generated cluster is balanced by a policy."""
    with folder() as path:
        for name, table in generate(brokers=12, topics=40, partitions=12, racks=3, seed=7).items():
            Place(path / "tables", "east", "2026-01-05").write(TABLES[name], table)
        (path / "policy.toml").write_text(POLICY, encoding="utf-8")
        call("plan", "apply-policy", str(path / "policy.toml"), codes=(0, 1))
        (page,) = (found for found in (path / "plans").rglob("*.html") if found.name != "index.html")
        photograph(page.as_uri(), into / "plan.png", height=780)


def terminal(command: Sequence[str]) -> list[str]:
    """What a terminal shows when the command has ended: its lines, with their colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 200, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    environment |= {"TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        written = b"".join(iter(lambda: read(master), b""))
    os.close(master)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    lines, row = [""], 0
    for step in _STEP.finditer(written.decode()):
        if step[0] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif step[2] == "A":
            row -= int(step[1] or 1)
        elif step[2] == "K":
            lines[row] = ""
        elif step[2] in {"m", None} and step[0] != "\r":
            lines[row] += step[0]
    return lines


def read(master: int) -> bytes:
    """The next bytes of a terminal; none when its last process has ended."""
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


def call(*arguments: str, codes: Sequence[int] = (0,)) -> str:
    """What a command of Kedge's prints. Another exit code ends this program."""
    done = subprocess.run([*KEDGE, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"kedge {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def serving(arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """`kedge serve` runs. Its addresses, as it prints them."""
    command = [*KEDGE, "serve", "--json", "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def fill(bootstrap: str) -> None:
    """Partitions of different sizes."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, batch_size=200_000, linger_ms=20)
    for topic, partitions in TOPICS.items():
        for partition in range(partitions):
            for _ in range((partition + 1) * RECORDS):
                producer.send(topic, bytes(RECORD_BYTES), partition=partition)
    producer.flush(DEADLINE_S)
    producer.close()


def move(topic: str, bootstrap: str) -> Mapping[str, Any]:
    """A plan that gives every second partition of a topic another last replica."""
    described = call("kafka", "topics", "--bootstrap-server", bootstrap, "--describe", "--topic", topic, "--json")
    rows = []
    for partition in json.loads(described)["topics"][0]["partitions"][::2]:
        replicas = partition["replicas"]
        racks = {(broker - 1) % 3 for broker in replicas[:-1]}
        (target, *_) = (b for b in range(1, BROKERS + 1) if b not in replicas and (b - 1) % 3 not in racks)
        rows.append({"topic": topic, "partition": partition["partition"], "replicas": [*replicas[:-1], target]})
    return {"version": 1, "partitions": rows}


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def photograph(url: str, picture: Path, *, height: int, wait_s: float = 1.0) -> None:
    """The top of the page as Chromium shows it after `wait_s` seconds. It takes a picture when a page has loaded, so
    the page stands in a frame, beside an image that takes that long."""
    with folder() as path, slow_image(wait_s) as image:
        frame = f'<iframe src="{url}" style="border:0;width:{PAGE_WIDTH}px;height:{height}px"></iframe>'
        around = path / "around.html"
        around.write_text(f'<body style="margin:0;overflow:hidden">{frame}<img src="{image}" hidden>', encoding="utf-8")
        arguments = ["--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        arguments += [f"--window-size={PAGE_WIDTH},{height}", f"--force-device-scale-factor={SCALE}"]
        arguments += [f"--user-data-dir={path / 'browser'}", f"--screenshot={picture}"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [chromium(), *arguments, around.as_uri()]
        subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=True)


@contextmanager
def slow_image(wait_s: float) -> Iterator[str]:
    """The address of an image that arrives after `wait_s` seconds."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server calls
            time.sleep(wait_s)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


PICTURED: Final[Mapping[str, Callable[[Path], None]]] = {"demo": demo, "status": status, "plan": plan}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Default: {' '.join(PICTURED)}")
    parser.add_argument("--into", type=Path, default=PICTURES, metavar="FOLDER")
    asked_for = parser.parse_args()
    if unknown := set(asked_for.names) - set(PICTURED):
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    for name in asked_for.names or PICTURED:
        PICTURED[name](asked_for.into)
        sys.stdout.write(f"{name}: made\n")
