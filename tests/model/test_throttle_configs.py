"""Values of the settings of throttles: what may be asked for is what brokers read."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS
from kedge.controller.model.throttle_configs import LISTS, RATES, is_rate, parse_rate, parse_throttled_replicas

SPELLED = st.text(alphabet="01239:,* \t+-\u0663\u00a0", max_size=12)
NAMES = [name for names in RATES.values() for name in names]


@given(SPELLED)
@example("0: 1")
@example("0:12345678901")
@example("\u00a00:1")
def test_a_list_that_may_be_asked_for_is_one_that_brokers_read(value: str) -> None:
    """Else it would be kept, sent to every broker, and ignored by each."""
    for name in LISTS:
        if TOPIC_CONFIGS[name].check(value) is None:
            assert parse_throttled_replicas(value) is not None


@given(SPELLED)
@example("9223372036854775807")
@example("+1")
def test_a_rate_that_may_be_asked_for_is_one_that_brokers_read(value: str) -> None:
    """Of each family, on either side."""
    for name in NAMES:
        if BROKER_CONFIGS[name].check(value) is None:
            assert is_rate(parse_rate(value))


def test_a_list_with_a_blank_within_a_pair_is_refused() -> None:
    """Brokers would pass it over; blanks around an element are none of it."""
    check = TOPIC_CONFIGS[LISTS[0]].check
    assert [
        value for value in ("0: 1", "0 :1", "* *", "0:1,,0:2", "0:1,", "0:12345678901") if check(value) is None
    ] == []
    assert [value for value in (" * ", " 0:1 , 0:2 ", " ") if check(value) is not None] == []
