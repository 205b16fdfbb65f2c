"""Hooks of a host in the admin API: an authorizer, and a policy that can refuse changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any

import attrs

from ..model.config_requests import ConfigResource
from ..model.requests import NewTopic
from ..model.values import Replicas, TopicPartition

Authorizer = Callable[[str, str, str], bool]
"""Whether a principal may do an operation (ALTER, DESCRIBE, CREATE, DELETE, ALTER_CONFIGS, DESCRIBE_CONFIGS)
on a resource (always `CLUSTER`)."""
AlterPolicy = Callable[[TopicPartition, Replicas], str | None]
"""Why a partition may not get these replicas; None if it may."""
CreatePolicy = Callable[[str, NewTopic], str | None]
"""Why a topic may not be created; None if it may."""
AlterConfigPolicy = Callable[[ConfigResource, Mapping[str, str | None]], str | None]
"""Why configs may not be altered like this (name -> value, or None to delete it); None if they may."""


def _require_function(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (not callable(value) or iscoroutinefunction(value)):
        raise TypeError(f"{attribute.name} must be a plain function or None, not {value!r:.200}")


@attrs.frozen(eq=False)
class Hooks:
    """Functions of the host that decide about requests. They run in the caller's thread before a request is submitted.
    Without an authorizer, every principal may do everything; without a policy, nothing is refused.

    If `authorizer` returns False, the request fails with ClusterAuthorizationFailed; it is not called for the host's
    own `Controller.admin`. The text that a policy returns is the message of PolicyViolation. An exception of a hook is
    raised by the request. TypeError if a hook is not a plain function.
    """

    authorizer: Authorizer | None = attrs.field(default=None, validator=_require_function)
    alter_policy: AlterPolicy | None = attrs.field(default=None, validator=_require_function)
    create_policy: CreatePolicy | None = attrs.field(default=None, validator=_require_function)
    alter_config_policy: AlterConfigPolicy | None = attrs.field(default=None, validator=_require_function)
