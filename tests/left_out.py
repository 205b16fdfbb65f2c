"""Tests that scripts/test leaves out because what they need cannot be installed here; the run's table gives the reason.

A family is that of a `Need` in scripts/checks.py. What hands out its programs to tests calls `skip_if_left_out`, so
no test names what it needs. Without scripts/test nothing is left out, and a test fails with what is missing.
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "KEDGE_LEFT_OUT"
ALL_ONLY = "KEDGE_ALL_ONLY"


def skip_if_left_out(family: str) -> None:
    """The test that asks is skipped, where scripts/test found that the family cannot be had. Without --all, which alone
    installs some families, a test that asks for one of them fails, also on machines that have it."""
    if family in os.environ.get(VARIABLE, "").split(","):
        pytest.skip(f"{family} is missing on this machine")
    if family in os.environ.get(ALL_ONLY, "").split(","):
        pytest.fail(f"only scripts/test --all installs {family}: mark the test `full`")
