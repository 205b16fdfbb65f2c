"""`kedge plan submit`: what is printed, which exit code says what, and what is left running."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kedge.controller.admin import Admin
from kedge.controller.cli.plan.submit import _Teller
from kedge.controller.cli.root import kedge
from kedge.controller.model.copying import Copy
from kedge.pipeline.stages.export import export
from kedge.pipeline.submit import Event, Reach, Time
from kedge.pipeline.submit.exported import read_export
from kedge.pipeline.submit.kept import locked, progress_file
from kedge.pipeline.submit.routes import AdminRoute
from kedge.pipeline.submit.throttle import throttle_of
from kedge.pipeline.tables.arrow import from_rows
from kedge.pipeline.tables.declared import WAVE
from tests.cli.ran import refused
from tests.kit.waiting import until
from tests.pipeline_submit.clusters import Beside, Made, Running, make

SERVERS = ("--bootstrap-server", "nowhere:1")
HERE: list[Running] = []


def leader() -> Admin:
    """The admin API of the active controller in the running rig."""
    with HERE[-1].stepping:
        active = HERE[-1].made.rig.active
        assert active is not None
        assert active.controller is not None
        return active.controller.admin


def live() -> tuple[int, ...]:
    """The live brokers, as the active controller knows them."""
    with HERE[-1].stepping:
        active = HERE[-1].made.rig.active
        return () if active is None or active.controller is None else active.controller.describe().live_brokers


def run(made: Made, *arguments: object) -> Result:
    return CliRunner().invoke(kedge, ["plan", "submit", str(made.folder), *SERVERS, *map(str, arguments)])


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """A rig whose time goes by in a thread of its own, in the place of the brokers."""
    made = make(tmp_path, per_broker=4)
    thread = Running(made)

    def reached(servers: str, config_file: Path | None) -> Reach:
        assert (servers, config_file) == (SERVERS[1], None)
        return lambda _: AdminRoute(Beside(thread), leader, Time())

    monkeypatch.setattr("kedge.controller.cli.plan.submit.reached", reached)
    HERE.append(thread)
    thread.start()
    yield made
    thread.end()
    HERE.pop()
    made.close()


def objects(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.slow
def test_each_wave_is_a_line_and_the_end_says_how_it_was_handed_over(running: Made) -> None:
    done = run(running, "--poll", "0.1s", "--timeout", "2m")
    assert done.exit_code == 0, done.output
    *waves, last = done.stdout.splitlines()
    assert all(line.startswith(f"wave {n} of {len(waves)}  ") for n, line in enumerate(waves, 1))
    assert waves[0].endswith(": done")
    assert last == f"done: {len(waves)} waves, 8 moves submitted"
    assert run(running).stdout == "done: 0 waves, 0 moves submitted\n"


@pytest.mark.slow
def test_json_is_an_object_per_wave_and_one_at_the_end(running: Made) -> None:
    done = run(running, "--no-throttle", "--poll", "0.1s", "--timeout", "2m", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    *waves, last = objects(done)
    assert [(wave["wave"], wave["state"]) for wave in waves] == [(n, "done") for n in range(1, len(waves) + 1)]
    assert last == {
        "end": "done", "waves": [w["wave"] for w in waves], "sent": 8, "told": [], "throttles": False,
    }  # fmt: skip
    back = run(running, "--no-throttle", "--rollback", "--poll", "0.1s", "--timeout", "2m")
    assert back.exit_code == 0
    assert back.stdout.splitlines()[-1].endswith(" submitted, without throttles")


@pytest.mark.slow
def test_waves_of_unknown_size_are_submitted_and_no_bytes_are_printed(running: Made) -> None:
    unknown = {"bytes": None, "eta_s": None, "eta_low_s": None, "eta_high_s": None}
    rows = [{**row, **unknown, "unsized": row["partitions"]} for row in running.tables["wave"].to_pylist()]
    tables = {**running.tables, "wave": from_rows(WAVE, [list(row.values()) for row in rows])}
    export(tables, running.folder, cluster="rig", snapshot="1")
    done = run(running, "--no-throttle", "--poll", "0.1s", "--timeout", "2m")
    assert done.exit_code == 0, done.output
    *waves, _ = done.stdout.splitlines()
    assert len(waves) == len(rows)
    assert all("partitions, bytes not known, " in line for line in waves)


@pytest.mark.slow
def test_quiet_leaves_nothing_of_a_plan_that_is_done(running: Made) -> None:
    done = run(running, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert run(running, "--quiet", "--dry-run").stdout.startswith("dry run: 0 waves, ")


def test_closed_window_is_reported_by_a_dry_run(running: Made) -> None:
    begin, end = (f"{datetime.now(UTC) + timedelta(hours=hours):%H:%M}" for hours in (2, 3))
    done = run(running, "--dry-run", "--window", f"{begin}-{end} UTC")
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("kedge: waiting: the next maintenance window opens at ")
    assert line.endswith(f"{begin} UTC")
    assert run(running, "--dry-run", "--window", "00:00-24:00").stderr == ""
    assert refused(run(running, "--window", "soon")).startswith("kedge: expected a window such as")


def test_a_dry_run_says_what_would_be_handed_over(running: Made) -> None:
    done = run(running, "--no-throttle", "--dry-run")
    assert done.exit_code == 0
    first, *_, last = done.stdout.splitlines()
    assert first.endswith(": to be submitted")
    assert last.endswith("8 moves to be submitted, without throttles")
    assert not list(running.folder.parent.glob("*.progress.json"))


@pytest.mark.slow
def test_a_wave_that_takes_too_long_is_exit_code_1_and_says_how_to_go_on(running: Made) -> None:
    with HERE[-1].stepping:
        for broker in (2, 3):
            running.rig.mishaps.pause_broker(broker)
    done = run(running, "--timeout", "2s", "--poll", "0.1s", "--json")
    assert done.exit_code == 1
    assert objects(done)[-1]["end"] == "stopped"
    assert "not complete within 2 s: " in done.stderr
    assert done.stderr.endswith("; the same command continues\n")
    cancelled = run(running, "--cancel")
    assert (cancelled.exit_code, cancelled.stdout.partition(":")[0]) == (0, "cancelled")


def test_what_is_refused_before_anything_was_handed_over_is_exit_code_2(running: Made) -> None:
    with HERE[-1].stepping:
        running.rig.mishaps.kill_broker(4)
    until(lambda: 4 not in live())
    done = run(running, "--json")
    assert done.exit_code == 2
    assert objects(done)[-1]["end"] == "refused"
    assert "targets are down: [4]" in done.stderr


def interrupt(patch: pytest.MonkeyPatch, call: str, *, when: Callable[[], bool] = lambda: True) -> list[str]:
    """Ctrl-C comes inside of the first such call. What is called since."""
    since: list[str] = []

    def wrapped(name: str) -> Callable[..., object]:
        does = getattr(AdminRoute, name)

        def called(way: AdminRoute, *arguments: Any) -> object:
            if since:
                since.append(name)
            elif name == call and when():
                since.append(name)
                signal.raise_signal(signal.SIGINT)
            return does(way, *arguments)

        return called

    for name in ("look", "alive", "moving", "check", "send", "cancel", "set_rates", "is_marked", "give_back"):
        patch.setattr(AdminRoute, name, wrapped(name))
    return since


@pytest.mark.slow
@pytest.mark.parametrize(
    "call, is_begun",
    [
        ("look", False),
        ("moving", False),
        ("alive", False),
        ("check", False),
        ("look", True),
        ("send", True),
        ("set_rates", True),
    ],
)
def test_ctrl_c_in_a_call_ends_the_command_after_it(running: Made, call: str, *, is_begun: bool) -> None:
    """Nothing more is asked of the cluster."""
    progress = progress_file(running.folder)
    with pytest.MonkeyPatch.context() as patch:
        since = interrupt(patch, call, when=lambda: progress.exists() == is_begun)
        done = run(running)
    assert since == [call]
    assert done.exit_code == 1
    assert done.stderr == (
        "kedge: interrupted; what runs continues in the cluster; the same command continues, --rollback undoes\n"
    )
    assert progress.exists() == is_begun
    assert run(running).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--rollback", "--cancel"])
def test_ctrl_c_keeps_a_rollback_and_a_cancellation_from_their_next_request(running: Made, option: str) -> None:
    with HERE[-1].stepping:
        running.rig.mishaps.pause_broker(2)
        running.rig.mishaps.pause_broker(3)
    assert run(running, "--timeout", "1s", "--poll", "0.1s").exit_code == 1
    with pytest.MonkeyPatch.context() as patch:
        since = interrupt(patch, "look")
        assert run(running, option).exit_code == 1
    assert since == ["look"]
    assert run(running, "--cancel").exit_code == 0


def test_ctrl_c_ends_a_dry_run(running: Made) -> None:
    with pytest.MonkeyPatch.context() as patch:
        since = interrupt(patch, "look")
        done = run(running, "--dry-run")
    assert since == ["look"]
    assert (done.exit_code, done.stdout) == (1, "")


@pytest.mark.parametrize("as_json", [False, True])
def test_throttle_is_left_to_the_process_that_submits(running: Made, *, as_json: bool) -> None:
    """The second call submits nothing itself."""
    with locked(running.folder):
        done = run(running, "--throttle", "1MB", *(["--json"] if as_json else []))
    assert (done.exit_code, done.stderr) == (0, "")
    if as_json:
        assert objects(done) == [{"end": "throttled", "bytes_per_s": 1_000_000}]
    else:
        sets = "the process that submits the plan sets the rate at its next look"
        assert done.stdout == f"throttled to 976.6 KiB/s: {sets}\n"
    assert throttle_of(read_export(running.folder)) == 1_000_000
    assert not progress_file(running.folder).exists()


def test_rollback_does_not_leave_itself_to_another_process(running: Made) -> None:
    with locked(running.folder):
        done = run(running, "--throttle", "1MB", "--rollback")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the plan is already being submitted, by process" in done.stderr


def test_bar_shows_bytes_and_the_time_of_the_last_broker() -> None:
    """Moves, while sizes are not known."""
    shown: list[tuple[str, int]] = []
    teller = _Teller(as_json=False, told=lambda title, done, _: shown.append((title, done)))
    copy = Copy(98 * 2**20, 100 * 2**20, 2**20)
    teller(Event("following", 1, 2, 8, 7, 100 * 2**20, 5.0, copy, 90.0, "orders-0"))
    teller(Event("following", 1, 2, 8, 2, 100 * 2**20, 5.0))
    bytes_, moves = "98.0 MiB of 100.0 MiB, 1.0 MiB/s", "wave 1 of 2: 7 of 8 moves"
    assert shown == [
        (f"{moves}, {bytes_}, 1 min 30 s left, slowest orders-0", 98),
        ("wave 1 of 2: 2 of 8 moves", 25),
    ]
