"""What a host may decide about requests of the admin API: who may ask for what, and which changes are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any

import attrs

from controller.model.config_requests import ConfigResource
from controller.model.requests import NewTopic
from controller.model.values import Replicas, TopicPartition

Authorizer = Callable[[str, str, str], bool]
"""Whether a principal may do an operation (ALTER, DESCRIBE, CREATE, DELETE, ALTER_CONFIGS, DESCRIBE_CONFIGS)
on a resource (`CLUSTER`)."""
AlterPolicy = Callable[[TopicPartition, Replicas], str | None]
"""Says why a partition may not get these replicas; None where it may."""
CreatePolicy = Callable[[str, NewTopic], str | None]
"""Says why a topic may not be created; None where it may."""
AlterConfigPolicy = Callable[[ConfigResource, Mapping[str, str | None]], str | None]
"""Says why configs may not be altered like this (name -> the value, None where it is deleted); None where they may."""


def _require_function(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (not callable(value) or iscoroutinefunction(value)):
        raise TypeError(f"{attribute.name} must be a plain function or None, not {value!r:.200}")


@attrs.frozen(eq=False)
class Hooks:
    """Functions of the host that are called with requests, in the caller's thread, before a request is submitted. None:
    every principal may do everything, and nothing is refused.

    A request that `authorizer` refuses is answered with ClusterAuthorizationFailed; it is not called for the host's own
    `Controller.admin`. What a policy says is the message of PolicyViolation. What a hook raises, the call raises.
    TypeError where a hook is no plain function.
    """

    authorizer: Authorizer | None = attrs.field(default=None, validator=_require_function)
    alter_policy: AlterPolicy | None = attrs.field(default=None, validator=_require_function)
    create_policy: CreatePolicy | None = attrs.field(default=None, validator=_require_function)
    alter_config_policy: AlterConfigPolicy | None = attrs.field(default=None, validator=_require_function)
