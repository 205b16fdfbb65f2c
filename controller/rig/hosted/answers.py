"""The answers of a host that a controller accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ...model.host import HostResponse
from ...model.values import TopicPartition
from ...simulated.network import Request


def legal(request: Request, response: HostResponse) -> HostResponse:
    """The answer, if a controller accepts it; others count as not delivered."""
    assert isinstance(response, HostResponse), (
        f"the answer to {request}: expected a HostResponse, got {response!r:.200}"
    )
    assert isinstance(response.error, int), f"the error for {request}: expected an int, got {response.error!r:.80}"
    asked = {TopicPartition(p.topic, p.partition) for p in request.partitions}
    for tp, code in cast(Mapping[object, object], response.errors).items():
        assert isinstance(tp, TopicPartition), f"a key of errors: expected a TopicPartition, got {tp!r:.80}"
        assert tp in asked, f"errors: expected some of {sorted(asked)}, got {tp}, which the request does not name"
        assert isinstance(code, int) and not isinstance(code, bool), (
            f"the error of {tp}: expected an int, got {code!r:.80}"
        )
    return response
