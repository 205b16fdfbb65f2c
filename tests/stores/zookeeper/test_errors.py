from __future__ import annotations

import pytest
from kazoo import exceptions as kazoo_errors
from kazoo.handlers.threading import KazooTimeoutError

from kedge.stores import Invalid, OutcomeUnknown, SessionExpired, StoreError, TooLarge, Unauthorized, Unavailable
from kedge.stores.zookeeper.errors import TABLE, refused, translate


def test_every_error_of_kazoo_stands_in_the_table() -> None:
    """Whatever code a server can send is mapped on purpose, not by the last resort."""
    assert set(kazoo_errors.EXCEPTIONS.values()) - set(TABLE) == set()


@pytest.mark.parametrize("kind", list(TABLE), ids=lambda kind: kind.__name__)
def test_each_is_an_error_of_the_contract(kind: type[BaseException]) -> None:
    """Of a request that was sent, only a refusal is known not to be applied; of another one, everything is."""
    sent, unsent = translate(kind(), sent=True, key="/k"), translate(kind(), sent=False, key="/k")
    assert isinstance(sent, OutcomeUnknown | Unauthorized | Unavailable | Invalid | TooLarge)
    assert unsent.applied == "no"
    assert sent.key == unsent.key == "/k"


@pytest.mark.parametrize(
    "error,sent,kind",
    [
        (KazooTimeoutError(), True, OutcomeUnknown),
        (KazooTimeoutError(), False, Unavailable),
        (kazoo_errors.ConnectionLoss(), True, OutcomeUnknown),
        (kazoo_errors.SessionExpiredError(), True, OutcomeUnknown),
        (kazoo_errors.SessionExpiredError(), False, SessionExpired),
        (kazoo_errors.NoAuthError(), True, Unauthorized),
        (kazoo_errors.ThrottledOpError(), True, Unavailable),
        (ZeroDivisionError(), True, OutcomeUnknown),
        (ZeroDivisionError(), False, Unavailable),
    ],
)
def test_what_is_not_known_is_said_to_be_unknown(error: BaseException, sent: bool, kind: type[StoreError]) -> None:
    assert type(translate(error, sent=sent)) is kind


def test_unlisted_code_is_unknown() -> None:
    assert type(refused(-9999)) is OutcomeUnknown
    assert type(refused(-102, "/k")) is Unauthorized
