"""Settings of coordinators are whole numbers within their range."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kedge.gateway import GroupSettings, TransactionSettings

FIELDS = [(kind, field.name) for kind in (GroupSettings, TransactionSettings) for field in attrs.fields(kind)]


@pytest.mark.parametrize("kind,name", FIELDS)
@pytest.mark.parametrize("wrong", [-1, 1.5, float("nan"), True, "1", None])
def test_a_setting_that_is_no_whole_number_in_its_range_is_refused(kind: Any, name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=name):
        kind(**{name: wrong})
