"""The token of the fence as bytes: what is written reads back, what is broken says so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.stores import Corrupt
from kedge.stores.recipes import TOKEN_KEY, Token


def test_a_token_is_compact_json() -> None:
    """The token has the JSON that the format prescribes, and reads back; members that are not known do no harm."""
    token = Token(7, 42, "n-1")
    assert token.encode() == b'{"controller_epoch":7,"seq":42,"nonce":"n-1"}'
    assert Token.decode(token.encode()) == token
    assert Token.decode(b'{"controller_epoch":7,"seq":42,"nonce":"n-1","later":1}') == token


@given(st.integers(0, 2**31), st.integers(0, 2**62), st.text())
def test_every_token_reads_back(epoch: int, seq: int, nonce: str) -> None:
    """Any nonce survives."""
    assert Token.decode(Token(epoch, seq, nonce).encode()) == Token(epoch, seq, nonce)


_GOOD: dict[str, object] = {"controller_epoch": 1, "seq": 1, "nonce": "n"}
_WRONG: tuple[object, ...] = (None, -1, 1.5, True, [])
_BROKEN = [json.dumps({**_GOOD, name: bad}).encode() for name in _GOOD for bad in _WRONG]


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"\xff", b"[]", b"7", b"null", b"{}", b"[" * 100_000, b'{"controller_epoch":1,"seq":"1"}', *_BROKEN],
)
def test_a_broken_token_is_corrupt(value: bytes) -> None:
    """Whatever else stands there is Corrupt, under the token's key."""
    with pytest.raises(Corrupt, match=TOKEN_KEY) as caught:
        Token.decode(value)
    assert caught.value.key == TOKEN_KEY


@given(st.binary(max_size=40))
def test_any_bytes_are_a_token_or_corrupt(value: bytes) -> None:
    """No other error comes out."""
    with pytest.raises(Corrupt):
        Token.decode(value)
