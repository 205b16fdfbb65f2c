"""`kedge demo`: the story in a pipe and on a terminal."""

from __future__ import annotations

import re
import sys

import pytest

from kedge.controller.cli.demo.screen import Plain
from kedge.controller.cli.demo.story import LEAVING, Story
from tests.kit.commands import run
from tests.kit.waiting import until
from tests.terminal import Terminal

DEADLINE_S = 60.0
EVENTS = [
    r"broker 8 is to leave: 6 partitions move, throttle 1\.0 MB/s per broker",
    r"\S+: the operator cancels its move; replicas stay on .*8.*",
    r"controller 101 is killed; brokers go on copying",
    r"controller 102 leads with controller epoch 2, and continues the moves",
    r"these moves have ended, and the controller has removed the throttle",
    r"\S+: the operator moves it to broker [1-7] instead of broker [1-7]",
    r"broker 8 holds no replica, and no throttle is left",
]


@pytest.mark.slow
@pytest.mark.checklist(17, 79, 105, 111, 112)
def test_a_pipe_gets_the_whole_story_and_no_record_is_lost() -> None:
    done = run("demo")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    events = [line.partition(" s  ")[2] for line in lines if re.match(r" *[\d.]+ s  \S", line)]
    assert len(events) == len(EVENTS)
    assert all(re.fullmatch(*pair) for pair in zip(EVENTS, events, strict=True)), events
    assert re.search(r"^8 +d +6 +0 +2 +0$", done.stdout, re.MULTILINE)
    assert lines[-6:-3] == ["lost: 0", "", "What to try next:"]
    assert "\x1b" not in done.stdout
    assert max(map(len, lines)) <= 80


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 6))
def test_every_seed_tells_the_same_story_twice(seed: int) -> None:
    done, again = run("demo", "--seed", seed), run("demo", "--seed", seed)
    assert done.exit_code == 0, done.output
    assert done.stdout == again.stdout
    assert all(re.search(f" s  {event}\n", done.stdout) for event in EVENTS), done.stdout


@pytest.mark.slow
def test_a_terminal_shows_lines_that_follow_until_ctrl_c() -> None:
    with Terminal([sys.executable, "-m", "kedge", "demo"], columns=80) as terminal:
        until(lambda: terminal.sees(lambda line: "the operator cancels" in line), timeout_s=DEADLINE_S)
        assert not terminal.shows_cursor()
        terminal.interrupt()
        assert terminal.ended(DEADLINE_S) == 130
        assert terminal.shows_cursor()
    assert terminal.seen[-1][-1] == "kedge: ended by Ctrl-C"
    frames = [lines for lines in terminal.seen if lines and lines[-1].endswith("controller 101 leads")]
    shares = [int(re.findall(r"(\d+)% copied", lines[-1])[0]) for lines in frames]
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert all(len([line for line in lines if re.match(r"[1-8] +[abcd] ", line)]) == 8 for lines in frames)


@pytest.mark.full
def test_a_terminal_keeps_the_last_frame_above_what_to_try_next() -> None:
    with Terminal([sys.executable, "-m", "kedge", "demo"], columns=80) as terminal:
        assert terminal.ended(DEADLINE_S) == 0
        assert terminal.shows_cursor()
    last = terminal.seen[-1]
    assert [line.partition(" s  ")[0] for line in last if "replicas stay on" in line], last
    assert any(re.search(r"100% copied, 6 of 6 moves done +controller 102 leads$", line) for line in last)
    assert last[-5:-3] == ("lost: 0", "What to try next:")


@pytest.mark.slow
def test_records_that_a_disk_loses_are_counted() -> None:
    story = Story(1, Plain())
    assert story.run() == 0
    tp, partition = next(iter(story.rig.committed.partitions.items()))
    assert LEAVING not in partition.replicas
    for broker in partition.replicas:
        story.rig.mishaps.lose_disk(broker, tp)
    assert story.lost() == story.rig.producers.acknowledged(tp) > 0
