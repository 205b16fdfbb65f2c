"""The admin API: requests of operators and tools, with a future for each answer."""

from controller.admin.api import Admin, AlterPolicy, Authorizer, CreatePolicy
from controller.admin.checks import as_timeout
from controller.admin.configs import AlterConfigPolicy
from controller.admin.results import ALL, Results

__all__ = ["ALL", "Admin", "AlterConfigPolicy", "AlterPolicy", "Authorizer", "CreatePolicy", "Results", "as_timeout"]
