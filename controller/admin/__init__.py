"""The admin API: requests of operators and tools, each answered by a future."""

from controller.admin.api import Admin
from controller.admin.checks import as_timeout
from controller.admin.hooks import AlterConfigPolicy, AlterPolicy, Authorizer, CreatePolicy, Hooks
from controller.admin.results import ALL, Results

__all__ = [
    "ALL",
    "Admin",
    "AlterConfigPolicy",
    "AlterPolicy",
    "Authorizer",
    "CreatePolicy",
    "Hooks",
    "Results",
    "as_timeout",
]
