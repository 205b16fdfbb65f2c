"""Producer ids: blocks for brokers (AllocateProducerIds, Kafka 3.0 and later), single ids for producers
(InitProducerId). A producer asks any node for its id, and clients see the controller as a node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Final

from ....stores.base import StoreError
from ...codec.producer_ids import ProducerIdBlock
from ...host import Controller
from ...model.errors import ApiError, RequestTimedOut, StaleBrokerEpoch
from ..calls import OF_BROKER, OF_PRODUCER, Api, Call
from ..messages import messages_of
from ..protocol import Answer, Request
from ..remote.leaving import epoch_of

NOT_COORDINATOR: Final = 16
log = logging.getLogger(__name__)


class ProducerIds:
    """The handlers of one gateway, on its loop. Ids that are left of a block are lost when the gateway ends."""

    def __init__(self) -> None:
        self._left: Iterator[int] = iter(())
        self._turn = asyncio.Lock()

    def table(self) -> tuple[Api, ...]:
        """The two APIs."""
        of_producers = messages_of("InitProducerId", range(5))
        return (
            Api(messages_of("AllocateProducerIds"), self.allocate, OF_BROKER),
            Api(of_producers, self.init_producer_id, OF_PRODUCER),
        )

    async def allocate(self, call: Call, request: Request) -> Answer:
        """A block of 1,000 ids for a broker. Errors: 41, 77, 7 where the store is not reached, -1 where no ids are
        left."""
        try:
            epoch = await call.query(epoch_of, request.broker_id)
            if epoch != request.broker_epoch:
                raise StaleBrokerEpoch(f"broker {request.broker_id} is not registered under {request.broker_epoch}")
            block = await _block(call.controller, request.broker_id)
        except ApiError as error:
            return {"error_code": error.code, "producer_id_start": 0, "producer_id_len": 0}
        return {"error_code": 0, "producer_id_start": block.start, "producer_id_len": block.size}

    async def init_producer_id(self, call: Call, request: Request) -> Answer:
        """An id that no other producer gets. Errors: 41, 7, -1 as above; 16 for a transactional id, since its
        coordinator is a broker."""
        try:
            if request.transactional_id is not None:
                return _no_id(NOT_COORDINATOR)
            return {"error_code": 0, "producer_id": await self._next_id(call.controller), "producer_epoch": 0}
        except ApiError as error:
            return _no_id(error.code)

    async def _next_id(self, controller: Controller) -> int:
        async with self._turn:
            found = next(self._left, None)
            if found is None:
                block = await _block(controller, controller.describe().controller_id)
                self._left = iter(range(block.start, block.end + 1))
                found = next(self._left)
            return found


async def _block(controller: Controller, broker_id: int) -> ProducerIdBlock:
    """Raises ApiError."""
    try:
        return await asyncio.to_thread(controller.allocate_producer_ids, broker_id)
    except StoreError as error:
        log.warning("no producer ids for node %d: %r", broker_id, error)
        raise (RequestTimedOut if error.retryable else ApiError)(str(error)) from error


def _no_id(error_code: int) -> Answer:
    return {"error_code": error_code, "producer_id": -1, "producer_epoch": -1}
