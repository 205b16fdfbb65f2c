"""Errors say whether to ask again."""

from __future__ import annotations

import pytest
from kafka.errors import for_code

from kedge import NotController, ReassignmentInProgress
from kedge.controller.model.errors import ApiError, ErrorCode
from kedge.controller.runtime.submit import Overloaded

PRIVATE = {ErrorCode.INVALID_THROTTLE}


@pytest.mark.parametrize("code", [code for code in ErrorCode if code not in PRIVATE], ids=lambda code: code.name)
def test_an_error_is_retriable_where_a_stock_client_asks_again(code: ErrorCode) -> None:
    kind = type("Error", (ApiError,), {"code": code})
    assert kind("why").retriable == for_code(code.value).retriable


def test_refused_sender_may_try_again_later() -> None:
    """Of an error without a number of its own the class says it."""
    assert Overloaded("full").code is ApiError("a defect").code
    assert [error.retriable for error in (Overloaded("full"), NotController("no"))] == [True, True]
    assert [error.retriable for error in (ApiError("a defect"), ReassignmentInProgress("no"))] == [False, False]
