"""The admin API: requests of operators and tools, each answered by a future."""

from .api import Admin
from .checks import as_timeout
from .hooks import AlterConfigPolicy, AlterPolicy, Authorizer, CreatePolicy, Hooks
from .results import ALL, Results

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
