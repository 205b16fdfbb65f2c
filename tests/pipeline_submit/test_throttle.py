"""An operator's rate replaces those of a plan, also while a wave of it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedge.controller.model.throttle_configs import RATES
from kedge.controller.rig.outside import configs, is_marked
from kedge.pipeline.errors import BadInput
from kedge.pipeline.submit import Event, set_throttle
from kedge.pipeline.submit.exported import read_export
from kedge.pipeline.submit.kept import locked
from kedge.pipeline.submit.throttle import throttle_of
from tests.pipeline_submit.clusters import LARGE, RATE, Made, RigTime

Making = Callable[..., Made]
HIGH = 2_000_000


def file_of(made: Made) -> Path:
    return made.folder.with_name(f"{made.folder.name}.throttle.json")


def rates_of_target(made: Made) -> set[str]:
    """The rates of the broker that receives the large partition, while it receives it."""
    (target,) = set(made.targets[LARGE]) - set(made.before[LARGE])
    return set(configs(made.rig, "brokers", str(target)).values()) if LARGE in made.moving else set()


@pytest.mark.slow
@pytest.mark.parametrize("planned", [RATE, None], ids=["other rate", "no rate"])
def test_rate_is_raised_while_a_wave_runs(making: Making, planned: int | None) -> None:
    """The submitter reports it; the next waves have the rate as well."""
    made = making(throttle_bps=planned, networks=False, large_records=1_000, copy_rate_bytes_s=300_000)
    seen: list[set[str]] = []

    def raise_rate(event: Event) -> None:
        if event.kind == "sent" and event.wave == 1:
            assert set_throttle(made.folder, HIGH)
        made.events.append(event)

    made.submit(tell=raise_rate, time=RigTime(made.rig, lambda: seen.append(rates_of_target(made))))
    assert [rates for rates in seen if rates][-1] == {str(HIGH)}
    assert [event.text for event in made.events if event.kind == "note"] == [
        "wave 1: the throttle is now 1.9 MiB/s at most for each broker"
    ]
    assert not is_marked(made.rig)
    assert all(configs(made.rig, "brokers", str(broker)) == {} for broker in made.rig.brokers)


@pytest.mark.slow
def test_wave_begins_under_the_operators_rate(made: Made) -> None:
    set_throttle(made.folder, HIGH)
    begun: list[dict[str, str]] = []

    def begins(event: Event) -> None:
        if event.kind == "sent":
            begun.append(configs(made.rig, "brokers", "4"))

    made.submit(tell=begins)
    assert begun == [dict.fromkeys(RATES["replication"], str(HIGH))] * 4


@pytest.mark.slow
def test_plan_without_throttles_ignores_the_operators_rate(made: Made) -> None:
    set_throttle(made.folder, HIGH)
    seen: set[int] = set()
    made.submit(throttles=False, time=RigTime(made.rig, lambda: seen.add(len(configs(made.rig, "brokers", "4")))))
    assert seen == {0}


def test_rate_is_not_inherited_by_another_plan_in_the_folder(made: Made) -> None:
    set_throttle(made.folder, 1)  # the lowest that there is
    plan = read_export(made.folder)
    assert throttle_of(plan) == 1
    assert json.loads(file_of(made).read_bytes()) == {"version": 1, "manifest": plan.sha256, "bytes_per_s": 1}
    manifest = made.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes())))
    assert throttle_of(read_export(made.folder)) is None


def test_caller_learns_whether_a_process_submits(made: Made) -> None:
    assert not set_throttle(made.folder, HIGH)
    with locked(made.folder):
        assert set_throttle(made.folder, HIGH)
    assert not set_throttle(made.folder, HIGH)


@pytest.mark.parametrize("text", ["{", "[]", '{"manifest":"a","bytes_per_s":0}', '{"manifest":"a","bytes_per_s":"9"}'])
def test_unreadable_rate_is_an_error_before_anything_moves(made: Made, text: str) -> None:
    file_of(made).write_text(text)
    with pytest.raises(BadInput, match=r"plan\.throttle\.json: (bytes_per_s|.*\(\w+Error\))"):
        made.submit()
    assert made.sent() == []


@pytest.mark.parametrize("rate", [0, 2e8])
def test_rate_below_one_byte_or_that_is_no_whole_number_is_refused(made: Made, rate: Any) -> None:
    with pytest.raises(BadInput, match=f"whole bytes per second, at least 1, got {rate}"):
        set_throttle(made.folder, rate)
    assert not file_of(made).exists()
