"""Reads of many nodes: by multiRead with several requests in flight, or, on older servers, by pipelined gets.

Rules
* Whether the server has multiRead is tested once, when the client is opened and has no watches: a server without it
  answers "unimplemented" and drops the connection with its watches.
* The size of requests (keys, bytes) and of expected replies is limited, judging by earlier replies: a reply of a
  thousand values of 900 kB would be in the server's memory at once.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from kazoo.exceptions import ConnectionLoss, NoAuthError, NoNodeError, UnimplementedError
from kazoo.protocol.serialization import GetChildren, GetData

from ..base import Columns, Unavailable
from ..checks import check_key
from .errors import refused
from .link import Link
from .wire import (
    GET_CHILDREN,
    GET_DATA,
    Node,
    Read,
    ReadFailed,
    parse_children,
    parse_nodes,
)

_KEYS_FIRST: Final = 250  # in the first request, when the size of values is not known
_KEYS_MAX: Final = 1000
_REQUEST_BYTES_MAX: Final = 500_000
_REPLY_BYTES: Final = 4_000_000  # the intended size of a reply
_IN_FLIGHT: Final = 4
_GETS_IN_FLIGHT: Final = 100
_PATH_OVERHEAD: Final = 14
_LOSSES_MAX: Final = 2

_KEY_CHARACTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._<>-/\n"
_KEY_CHARACTERS_MAX: Final = 1024
_T = TypeVar("_T")


def check_keys(keys: Sequence[str]) -> None:
    """`check_key` for each; if all are valid, at 30 ns per key instead of 600."""
    if not _surely_good(keys):
        for key in keys:
            check_key(key)


def _surely_good(keys: Sequence[str]) -> bool:
    try:
        text = "\n" + "\n".join(keys) + "\n"
        if text.encode("ascii").translate(None, _KEY_CHARACTERS):
            return False
    except (TypeError, UnicodeEncodeError):
        return False
    if text.count("\n/") != len(keys) or text.count("\n") != len(keys) + 1:
        return False
    if any(bad in text for bad in ("//", "/\n", "/./", "/../", "/.\n", "/..\n")):
        return False
    return max(map(len, keys), default=0) <= _KEY_CHARACTERS_MAX


class Bulk:
    """Reads of many nodes over one link. Thread-safe: its only state is whether the server has multiRead."""

    def __init__(self, link: Link, deadline_s: float) -> None:
        self._link = link
        self.multi_read = self._probe(deadline_s)

    def columns(self, keys: Sequence[str], prefix: str, deadline_s: float) -> Columns:
        """The nodes of `prefix` + key, as the contract's columns."""
        values: list[bytes | None] = []
        versions, generations = array("q"), array("q")
        for node in self._each([prefix + key for key in keys] if prefix else keys, deadline_s):
            key_node = node if node is not None and node.is_key else None
            values.append(None if key_node is None else key_node.data or b"")
            versions.append(0 if key_node is None else key_node.version + 1)
            generations.append(0 if key_node is None else key_node.version)
        return Columns(values, versions, generations)

    def nodes(self, paths: Sequence[str], deadline_s: float) -> list[Node | None]:
        """The node of each path, None if it does not exist."""
        return list(self._each(paths, deadline_s))

    def _each(self, paths: Sequence[str], deadline_s: float) -> Iterator[Node | None]:
        """The nodes as their replies come, so that those of a bulk read are not in memory at once."""
        if not self.multi_read:
            yield from self._one_by_one([GetData(path, None) for path in paths], node_of, None, deadline_s)
            return
        for reply in self._replies(GET_DATA, paths, deadline_s):
            yield from self._parsed(parse_nodes, reply)

    def children(self, paths: Sequence[str], deadline_s: float) -> list[list[str]]:
        """The names below each path, empty if there is no node."""
        if not self.multi_read:
            return self._one_by_one([GetChildren(path, None) for path in paths], list, [], deadline_s)
        replies = self._replies(GET_CHILDREN, paths, deadline_s)
        return [names for reply in replies for names in self._parsed(parse_children, reply)]

    # multiRead

    def _probe(self, deadline_s: float) -> bool:
        """Whether the server has multiRead. Returns after the server has answered something else, since it may drop the
        connection; two lost connections count as no."""
        unknown, losses = False, 0
        while True:
            self._await_contact(deadline_s)
            ask = not unknown and losses < _LOSSES_MAX
            try:
                self._link.wait(self._link.send(Read(GET_DATA, ["/"]) if ask else GetData("/", None)), deadline_s)
            except UnimplementedError:
                unknown = True
            except ConnectionLoss:
                losses += 1
            except NoAuthError:
                return False  # the answer to the single get: no read rights for the root, which do not matter here
            except Exception as error:
                raise self._link.failed(error, sent=False) from error
            else:
                return ask

    def _await_contact(self, deadline_s: float) -> None:
        if not self._link.await_contact(deadline_s):
            self._link.demand_contact()  # raises the reason

    def _replies(self, kind: int, paths: Sequence[str], deadline_s: float) -> Iterator[Any]:
        """The replies to all `paths`, in order."""
        flying: deque[tuple[Any, int]] = deque()
        start, count = 0, _KEYS_FIRST
        while start < len(paths) or flying:
            while start < len(paths) and len(flying) < _IN_FLIGHT:
                part = _fitting(paths, start, count)
                flying.append((self._link.send(Read(kind, part)), len(part)))
                start += len(part)
            answer, asked = flying.popleft()
            try:
                reply = self._link.wait(answer, deadline_s)
            except UnimplementedError as error:
                self.multi_read = False  # the client is now connected to an older server; the next call uses gets
                raise Unavailable("the server has no multiRead and dropped the connection; try again") from error
            except Exception as error:
                raise self._link.failed(error, sent=True) from error
            count = max(1, min(_KEYS_MAX, _REPLY_BYTES * asked // len(reply[0])))
            yield reply

    def _parsed(self, parse: Callable[[Any], _T], reply: Any) -> _T:
        try:
            return parse(reply)
        except ReadFailed as failure:
            raise refused(failure.code) from failure

    # Single gets

    def _one_by_one(
        self, requests: Sequence[Any], parse: Callable[[Any], _T], missing: _T, deadline_s: float
    ) -> list[_T]:
        found: list[_T] = []
        flying: deque[Any] = deque()
        for request in requests:
            flying.append(self._link.send(request))
            if len(flying) >= _GETS_IN_FLIGHT:
                found.append(self._answer(flying.popleft(), parse, missing, deadline_s))
        found += [self._answer(answer, parse, missing, deadline_s) for answer in flying]
        return found

    def _answer(self, answer: Any, parse: Callable[[Any], _T], missing: _T, deadline_s: float) -> _T:
        try:
            return parse(self._link.wait(answer, deadline_s))
        except NoNodeError:
            return missing
        except Exception as error:
            raise self._link.failed(error, sent=True) from error


def _fitting(paths: Sequence[str], start: int, count: int) -> Sequence[str]:
    part = paths[start : start + count]
    if len(part) * (_PATH_OVERHEAD + _KEY_CHARACTERS_MAX) <= _REQUEST_BYTES_MAX:
        return part
    size = 0
    for index, path in enumerate(part):
        size += _PATH_OVERHEAD + len(path)
        if size > _REQUEST_BYTES_MAX:
            return part[:index]
    return part


def node_of(answer: Any) -> Node:
    """The node in kazoo's answer to a get."""
    data, stat = answer
    return Node(data, stat.version, stat.cversion, stat.czxid, stat.ephemeralOwner, stat.numChildren)
