"""What an etcd server keeps of its past: every change of every key, as commits in order, by its JSON gateway.

Etcd forgets nothing until it is compacted, so a watch from an old revision gives all writes since, each version
of each key. Neither gRPC nor anything of `kedge.stores.etcd` is used.

Of a cluster that past is one: a member tells only what was committed, under the same revisions as every other, and
what it holds of its own it never tells. So any member is read that answers, once it has asked the others how far they
are, and another one goes on where it was.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.request
from http.client import HTTPException
from itertools import groupby
from typing import Any, Final

from servers.etcd import LocalEtcd, ask
from tests.real.writes import Deleted, Transaction, Write, Written

_ALL: Final = base64.b64encode(b"\0").decode()
_READ_S: Final = 20.0
_ASK_S: Final = 2.0
_SILENT_S: Final = 20.0
"""A cluster of three elects in a few seconds."""
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class EtcdLog:
    """The past of the cluster of `servers`, of what stands below `root`."""

    def __init__(self, root: str, *servers: LocalEtcd) -> None:
        self._urls = [f"http://{server.address}" for server in servers]
        self._root = root
        self._seen = 0
        self._answered_s = time.monotonic()

    def new(self) -> list[Transaction]:
        """What was written since the last call, as the first says that answers; that one is asked first from then
        on. Nothing if none does, as while they elect: a later call has it. Raises what the last one raises if none has
        answered for long."""
        failures: list[Exception] = []
        for url in list(self._urls):
            try:
                found = self._deleted_replicas(url)
            except (OSError, HTTPException, ValueError) as failure:  # of a node that is down, cut off, or dies now
                failures.append(failure)
                self._urls.append(self._urls.pop(0))
            else:
                self._answered_s = time.monotonic()
                return found
        if time.monotonic() - self._answered_s > _SILENT_S:
            raise failures[-1]
        return []

    def _deleted_replicas(self, url: str) -> list[Transaction]:
        """Every revision wrote some key, so the watch ends at the present one."""
        asked = {"key": _ALL, "range_end": _ALL, "keys_only": True, "limit": 1}
        header: Any = ask(url, "kv/range", asked, _ASK_S)["header"]
        until = int(header["revision"])
        events = self._events(url, self._seen + 1, until) if until > self._seen else []
        self._seen = max(self._seen, until)
        found = []
        for revision, group in groupby(events, lambda event: int(event["kv"]["mod_revision"])):
            writes = tuple(write for event in group if (write := self._write(event)) is not None)
            if writes and revision <= until:
                found.append(Transaction(revision, None, writes))
        return found

    def _events(self, url: str, first: int, until: int) -> list[Any]:
        asked = {"create_request": {"key": _ALL, "range_end": _ALL, "start_revision": max(first, 2)}}
        events: list[Any] = []
        if until < 2:
            return events
        with _OPENER.open(f"{url}/v3/watch", json.dumps(asked).encode(), _READ_S) as answer:
            while not events or int(events[-1]["kv"]["mod_revision"]) < until:
                result = json.loads(answer.readline())["result"]
                assert not result.get("canceled"), result
                events += result.get("events", ())
        return events

    def _write(self, event: Any) -> Write | None:
        kv = event["kv"]
        key = base64.b64decode(kv["key"]).decode(errors="replace")
        if not key.startswith(f"{self._root}/") or key.startswith(f"{self._root}/!"):
            return None
        key = key[len(self._root) :]
        if event.get("type") == "DELETE":
            return Deleted(key)
        owner = int(kv.get("lease", 0)) or None
        return Written(key, base64.b64decode(kv.get("value", "")), owner)
