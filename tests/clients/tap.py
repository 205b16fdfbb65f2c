"""What clients send, decoded by the codec and encoded again: the same bytes, or a request was misread."""

from __future__ import annotations

from typing import Any, Final

import attrs

from kedge.controller.wire.apis import APIS
from kedge.controller.wire.calls import Api

# librdkafka ends some of its Metadata requests with three bytes too many.
_TRAILING: Final = {"MetadataRequest": 3}


class Tap:
    """`apis`: those of a gateway, each with a request class that keeps what was `misread`. `seen`: the requests, by
    client, API and version."""

    def __init__(self) -> None:
        self.misread: list[str] = []
        self.seen: set[tuple[str | None, str, int]] = set()
        self.apis: Final = {key: self._tapped(api) for key, api in APIS.items()}

    def _tapped(self, api: Api) -> Api:
        return attrs.evolve(api, messages=attrs.evolve(api.messages, request=_Tapped(self, api.messages.request)))

    def take(self, kind: Any, version: int, frame: bytes, request: Any) -> None:
        again = bytes(request.encode(header=True))
        rest = frame[len(again) :]
        if not frame.startswith(again) or len(rest) not in {0, _TRAILING.get(kind.__name__, 0)}:
            self.misread.append(f"{kind.__name__} v{version}: {frame.hex()} came, {again.hex()} was understood")
        self.seen.add((request.header.client_id, kind.__name__, version))


class _Tapped:
    """A request class of the codec whose `decode` tells the tap."""

    def __init__(self, tap: Tap, kind: Any) -> None:
        self._tap = tap
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def decode(self, frame: bytes, *, version: int, header: bool) -> Any:
        request = self._kind.decode(frame, version=version, header=header)
        self._tap.take(self._kind, version, frame, request)
        return request
