"""Reads: single keys, many keys, ranges.

Rules
* A plain read is answered by the connected member alone (`serializable`). It may lag. But an answer that is older than
  what this client has seen (in a commit, a read or a hint) is discarded, and the read repeated as linearizable. So
  reads never go backwards, also after a change of endpoints.
* Many keys are read by ranges if most keys of a range are wanted, and otherwise one by one, 128 per request.
* All pages of a snapshot are read at the revision of the first, so it is of one instant. If etcd compacts that revision
  meanwhile, the snapshot starts again, until its deadline.
* A read that was sent and not answered is OutcomeUnknown, as the contract says; it may simply be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

from ..base import Closed, Entry, InvalidKey, Snapshot, StoreError, Unavailable, Version
from ..checks import check_key
from .connection import Connection
from .errors import COMPACTED, FUTURE, says, translate
from .keys import Keys, is_segment
from .rpc import etcdrpc
from .session import EtcdSession
from .txn import ETCD_OPS_MAX
from .wait import Deadline

_CHUNK_KEYS: Final = 2_000  # keys of one range of a bulk read
_PAGE_KEYS: Final = 50_000  # each page of a range counts the rest of it, so pages are large
_NAMES_PAGE_KEYS: Final = 50_000

_T = TypeVar("_T")


class _Read(Protocol):
    """A read: returns an answer with a header, and raises gRPC's errors."""

    def __call__(self, link: Connection, *, serializable: bool) -> Any: ...


class Reader:
    def __init__(self, session: EtcdSession, keys: Keys, hinted: Callable[[], int]) -> None:
        self._session: Final = session
        self._keys: Final = keys
        self._hinted: Final = hinted  # returns the highest revision of a hint
        self._lock: Final = threading.Lock()
        self._seen = 0

    def saw(self, revision: int) -> None:
        """No later read may be older than `revision`."""
        with self._lock:
            self._seen = max(self._seen, revision)

    def get(self, key: str, deadline: Deadline, *, sync: bool) -> Entry | None:
        """The entry of one key, None if it does not exist."""
        raw = self._keys.of(key)

        def read(link: Connection, *, serializable: bool) -> Any:
            request = etcdrpc.RangeRequest(key=raw, serializable=serializable)
            return link.call(link.kv.Range, request, deadline)

        answer = self._fresh(read, deadline, f"get {key}", sync=sync)
        return next((_entry(key, kv) for kv in answer.kvs), None)

    def many(self, keys: Sequence[str], deadline: Deadline) -> list[Any]:
        """The KeyValue of each key, None for those that do not exist. Only these are checked to be keys."""
        raws = _raws(self._keys, keys)
        wanted = sorted(dict.fromkeys(raws))  # not a set: callers mostly pass sorted keys
        found: dict[bytes, Any] = {}

        def read(link: Connection, *, serializable: bool) -> Any:
            found.clear()
            return _Bulk(link, found, deadline, serializable=serializable).read(wanted)

        if wanted:
            self._fresh(read, deadline, f"read {len(keys)} keys")
        kvs = [found.get(raw) for raw in raws]
        for key, kv in zip(keys, kvs, strict=True):
            if kv is None:
                check_key(key)
        return kvs

    def names(self, prefix: str, deadline: Deadline) -> list[str]:
        """The names directly below `prefix`. If a page ends deep below a name, the next one begins after that name."""
        start, end = self._keys.below(prefix)
        cut = len(self._keys.of("" if prefix == "/" else prefix)) + 1
        names: set[bytes] = set()
        more = True
        while more:
            page = self._page(start, end, deadline, f"children of {prefix}", limit=_NAMES_PAGE_KEYS, keys_only=True)
            raws = [kv.key for kv in page.kvs]
            names.update([raw[cut:].partition(b"/")[0] for raw in raws])
            more = page.more
            if more:
                name, slash, _ = raws[-1][cut:].partition(b"/")
                start = raws[-1][:cut] + name + b"0" if slash else raws[-1] + b"\0"
        return sorted(name.decode() for name in names if is_segment(name))

    def snapshot(self, prefix: str, deadline: Deadline) -> Snapshot:
        """All keys below `prefix`, of one instant."""
        while True:
            try:
                return self._snapshot(prefix, deadline)
            except StoreError as error:
                cause = error.__cause__
                if not isinstance(cause, Exception) or not says(cause, COMPACTED, FUTURE) or deadline.over:
                    raise

    def _snapshot(self, prefix: str, deadline: Deadline) -> Snapshot:
        start, end = self._keys.below(prefix)
        entries: list[Entry] = []
        revision, more = 0, True
        while more:
            page = self._page(start, end, deadline, f"snapshot of {prefix}", limit=_PAGE_KEYS, revision=revision)
            revision = revision or page.header.revision
            key_of = self._keys.key
            entries.extend(_entry(key, kv) for kv in page.kvs if (key := key_of(kv.key)) is not None)
            more = page.more
            if more:
                start = page.kvs[-1].key + b"\0"
        return Snapshot(tuple(entries), revision, consistent=True)

    def _page(self, start: bytes, end: bytes, deadline: Deadline, doing: str, **fields: Any) -> Any:
        def read(link: Connection, *, serializable: bool) -> Any:
            request = etcdrpc.RangeRequest(key=start, range_end=end, serializable=serializable, **fields)
            return link.call(link.kv.Range, request, deadline)

        return self._fresh(read, deadline, doing)

    def _fresh(self, read: _Read, deadline: Deadline, doing: str, *, sync: bool = False) -> Any:
        """The answer of `read`: linearizable if `sync`, or if the plain answer is older than what was seen."""
        floor = max(self._seen, self._hinted())
        answer = sent(self._session, lambda link: read(link, serializable=not sync), deadline, doing)
        if not sync and answer.header.revision < floor:
            answer = sent(self._session, lambda link: read(link, serializable=False), deadline, doing)
        self.saw(answer.header.revision)
        return answer


def sent(session: EtcdSession, send: Callable[[Connection], _T], deadline: Deadline, doing: str) -> _T:
    """The result of `send` over a connection, with errors translated. Raises Closed if the store is closed
    meanwhile."""
    while True:
        link = session.connection(deadline, doing)
        try:
            return send(link)
        except StoreError:
            raise
        except (KeyboardInterrupt, SystemExit):
            link.give_up()
            raise
        except Exception as error:
            if isinstance(error, RuntimeError) and isinstance(error.__context__, KeyboardInterrupt | SystemExit):
                link.give_up()
                raise error.__context__ from None  # Ctrl-C while a Condition of gRPC had no lock
            unsent = isinstance(error, ValueError) and "closed" in str(error).lower()  # from gRPC, for a closed channel
            if session.closed:
                raise Closed("the store was closed during the call") from error
            if not unsent:
                raise translate(error, doing) from error
        if deadline.over:
            raise Unavailable(f"etcd: {doing}: no connection lasted long enough")


class _Bulk:
    """One bulk read into `found`. Its header has the oldest revision of the answers."""

    def __init__(self, link: Connection, found: dict[bytes, Any], deadline: Deadline, *, serializable: bool) -> None:
        self._link = link
        self._found = found
        self._serializable = serializable
        self._deadline = deadline
        self.header = etcdrpc.ResponseHeader()

    def read(self, wanted: list[bytes]) -> _Bulk:
        chunks = [wanted[start : start + _CHUNK_KEYS] for start in range(0, len(wanted), _CHUNK_KEYS)]
        sparse: list[bytes] = []
        if len(wanted) <= ETCD_OPS_MAX or self._ranges(chunks[:1]):
            sparse = wanted  # the other chunks are expected to be as sparse as the first one
        else:
            for chunk in self._ranges(chunks[1:]):
                sparse.extend(chunk)
        self._points(sparse)
        return self

    def _ranges(self, chunks: list[list[bytes]]) -> list[list[bytes]]:
        """Read each chunk as the range from its first to its last key; return the chunks with too many other keys."""
        requests = [
            etcdrpc.RangeRequest(
                key=chunk[0], range_end=chunk[-1] + b"\0", limit=2 * len(chunk), serializable=self._serializable
            )
            for chunk in chunks
        ]
        left = []
        for chunk, answer in zip(chunks, self._ask(self._link.kv.Range, requests), strict=True):
            if answer.more:
                left.append(chunk)
            else:
                self._found.update({kv.key: kv for kv in answer.kvs})
        return left

    def _points(self, raws: list[bytes]) -> None:
        groups = [raws[start : start + ETCD_OPS_MAX] for start in range(0, len(raws), ETCD_OPS_MAX)]
        requests = [etcdrpc.TxnRequest(success=[self._point(raw) for raw in group]) for group in groups]
        for answer in self._ask(self._link.kv.Txn, requests):
            for response in answer.responses:
                self._found.update({kv.key: kv for kv in response.response_range.kvs})

    def _point(self, raw: bytes) -> Any:
        return etcdrpc.RequestOp(request_range=etcdrpc.RangeRequest(key=raw, serializable=self._serializable))

    def _ask(self, method: Any, requests: list[Any]) -> Iterator[Any]:
        for answer in self._link.call_all(method, requests, self._deadline):
            revision = answer.header.revision
            if not self.header.revision or revision < self.header.revision:
                self.header.revision = revision
            yield answer


def _raws(keys: Keys, wanted: Sequence[str]) -> list[bytes]:
    """The keys in etcd. Raises InvalidKey for those that etcd could not look up."""
    root = keys.root
    try:
        raws = [root + key.encode() for key in wanted]
    except (AttributeError, UnicodeEncodeError):
        raws = []
    if len(raws) != len(wanted) or b"!" in b"".join(raws):
        for key in wanted:
            check_key(key)
        raise InvalidKey("not a sequence of keys")
    return raws


def entries_of(keys: Sequence[str], kvs: Sequence[Any]) -> list[Entry | None]:
    """The entries for the result of `Reader.many`."""
    return [None if kv is None else _entry(key, kv) for key, kv in zip(keys, kvs, strict=True)]


def _entry(key: str, kv: Any) -> Entry:
    return Entry(key, kv.value, Version(kv.mod_revision), kv.version - 1, kv.create_revision, kv.lease or None)
