"""ControlledShutdown: a broker shuts down in order. It repeats the request until it leads nothing any more."""

from __future__ import annotations

import asyncio
from typing import Final

from ...model.errors import ApiError
from ...model.view import ClusterView
from ..calls import OF_BROKER, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request


async def controlled_shutdown(call: Call, request: Request) -> Answer:
    """The partitions that the broker still leads because no other can. Version 1 has no epoch: the present one is
    assumed. Errors: 41, 77, 7."""
    try:
        epoch = request.broker_epoch
        if call.version < 2:
            epoch = await call.query(epoch_of, request.broker_id)
        remaining = await asyncio.wrap_future(call.controller.controlled_shutdown(request.broker_id, epoch))
    except ApiError as error:
        return {"error_code": error.code, "remaining_partitions": []}
    return {
        "error_code": 0,
        "remaining_partitions": [{"topic_name": tp.topic, "partition_index": tp.partition} for tp in remaining],
    }


def epoch_of(broker_id: int, view: ClusterView) -> int:
    broker = view.brokers.get(broker_id)
    return -1 if broker is None else broker.epoch


LEAVING: Final = Api(messages_of("ControlledShutdown"), controlled_shutdown, OF_BROKER)
