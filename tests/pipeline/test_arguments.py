"""Every function on tables with an argument of a wrong kind: BadInput, and nothing else. Numbers may be numpy's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from inspect import signature
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from kedge.pipeline import generate, local
from kedge.pipeline.errors import BadInput, PipelineError
from kedge.pipeline.functions import planning
from kedge.pipeline.stages.arrays import Limits
from kedge.pipeline.stages.choice import Choice
from kedge.pipeline.stages.requests import KINDS, Drain
from kedge.pipeline.stages.usable import LoadSettings
from kedge.pipeline.stages.waves import WaveSettings

GIVEN = generate(brokers=6, topics=4, partitions=5, seed=7)
VALID: dict[str, Any] = {"brokers": [1001], "factor": 2, "bytes_max": 10**9, "bps_max": 1e6, "request": Drain([1001])}
JUNK: list[Any] = [5, -1, 0, 2**70, "a", b"a", 1.5, float("nan"), ["a"], [None], {"a": 1}, {1001: 5}, object(), True]
OPTIONS = ("name", "limits", "choice")
PLACES = [
    (name, one.name)
    for name in planning.__all__
    for one in signature(getattr(local, name)).parameters.values()
    if one.name != "options"
]


def needed(function: Callable[..., Any]) -> dict[str, Any]:
    parts = signature(function).parameters.values()
    return {one.name: VALID[one.name] for one in parts if one.default is one.empty and one.name in VALID}


@pytest.mark.parametrize("name,argument", [*PLACES, *(("rebalance", one) for one in OPTIONS)])
def test_a_wrong_argument_is_refused_or_used(name: str, argument: str) -> None:
    function = getattr(local, name)
    for wrong in JUNK:
        given = {"tables": GIVEN, **needed(function), argument: wrong}
        try:
            found = function(given.pop("tables"), **given)
        except PipelineError:
            continue
        else:
            assert found.keys() >= GIVEN.keys()


@pytest.mark.parametrize("kind", [*KINDS, Limits, Choice, WaveSettings, LoadSettings])
def test_fields_hold_what_their_annotations_say(kind: type) -> None:
    fields = attrs.fields(kind)
    for field in fields:
        rest = {one.name: VALID[one.name] for one in fields if one.default is attrs.NOTHING and one.name in VALID}
        if "brokers" in rest and kind.__name__ == "Add":
            rest["brokers"] = [(1001, None)]
        for wrong in JUNK:
            try:
                made = kind(**{**rest, field.name: wrong})
            except BadInput:
                continue
            value = getattr(made, field.name)
            assert type(value).__name__ in str(field.type).replace("float", "float, int")
            assert value == value  # noqa: PLR0124 - NaN is not


@pytest.mark.parametrize("name", signature(generate).parameters)
def test_sizes_of_a_generated_fleet_are_whole_numbers_from_0_on(name: str) -> None:
    given: dict[str, Any] = {"brokers": 3, "topics": 1, "partitions": 1}
    for wrong in (-1, 2**63, 1.5, "3", None, True):
        with pytest.raises(BadInput, match=f"^{name}: expected"):
            generate(**{**given, name: wrong})


def test_numbers_of_numpy_are_as_those_of_python() -> None:
    of_both = ((10**9, 2, 0.25), (np.int64(10**9), np.int8(2), np.float32(0.25)))
    for one, other in zip(*(list(plans(*numbers)) for numbers in of_both), strict=True):
        assert one["plan"].equals(other["plan"])


def plans(size: Any, factor: Any, share: Any) -> Any:
    yield local.rebalance(GIVEN, bytes_max=size, tolerance=share, limits=Limits(share, share))
    yield local.set_replication_factor(GIVEN, factor)
    yield local.reduce_partitions(GIVEN, bytes_max=size, bps_max=size * share)
    yield local.rebalance(GIVEN, choice=Choice(to_brokers=[size * 0 + 1001], min_size=factor))


def test_tables_are_all_of_one_kind() -> None:
    with pytest.raises(BadInput, match=r"journal_event: expected Tables .*, got builtins.list"):
        local.audit([])


def test_tables_of_pandas_are_refused_with_what_makes_them_tables() -> None:
    pytest.importorskip("pandas")  # of the extra `spark`, which the environments of other Pythons leave out
    of_pandas = {**GIVEN, "broker": GIVEN["broker"].to_pandas()}
    with pytest.raises(
        BadInput, match=r"broker: expected Tables .*, got pandas\..*DataFrame; pyarrow.Table.from_pandas"
    ):
        local.validate(of_pandas)


def test_paths_and_sources_are_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong: Any = None
    for call, why in (
        (lambda: local.write(GIVEN, wrong, cluster="c", snapshot="1"), "root: expected a path, got None"),
        (lambda: local.read(wrong), "root: expected a path, got None"),
        (lambda: local.read_journal("journals"), "paths: expected a list of paths, got 'journals'"),
        (lambda: local.collect(bootstrap_servers=["one:9092"]), r"bootstrap_servers: expected a text, got \["),  # type: ignore[arg-type]
        (lambda: LoadSettings(taken_at=5), "taken at: expected a datetime, got 5"),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadInput, match=why):
            call()
    assert list(tmp_path.iterdir()) == []
    assert LoadSettings(taken_at=datetime(2026, 11, 28)).taken_at is not None  # noqa: DTZ001 - as the user gave it
