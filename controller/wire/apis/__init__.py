"""One handler per API, and the table of them.

A handler is `async def name(call: Call, request) -> Answer`: a mapping of the response's fields by their names. Errors
of the request are error codes in the answer. An ApiError that is raised closes the connection: the request cannot be
answered here and now, and clients repeat it.

A new API needs a handler in a file of this package, and a row in the `TABLE` of that file, which is named here.
"""

from __future__ import annotations

from typing import Final

from ..calls import Api
from . import acls, cluster, configs, elections, logdirs, reassignments, reduction, sasl, throttling, topics, versions
from .quotas import TABLE as QUOTAS

_FAMILIES: Final = (acls, cluster, configs, elections, logdirs, reassignments, reduction, sasl, throttling, topics)

APIS: Final[dict[int, Api]] = versions.with_apis({}, [*QUOTAS, *(api for family in _FAMILIES for api in family.TABLE)])
"""By API key."""
