"""The comparison with kfake."""

from __future__ import annotations

import json

import pytest

from benchmarks.peers import fakes

pytestmark = pytest.mark.full  # processes, and Go

NAMES = ("kedge", "kfake")


def test_each_figure_of_both_has_a_ratio(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fakes, "RECORDS", 100)
    monkeypatch.setattr(fakes, "SINGLE", 5)
    assert fakes.main(["--rounds", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    measured = {name: {each["what"]: each["value"] for each in lines if each.get("cluster") == name} for name in NAMES}
    assert measured["kedge"].keys() == measured["kfake"].keys()
    ratios = {each["what"]: each["kedge_by_kfake"] for each in lines if "cluster" not in each}
    expected = {what: value / measured["kfake"][what] for what, value in measured["kedge"].items()}
    assert ratios == pytest.approx(expected, rel=0.02)
